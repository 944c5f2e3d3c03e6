"""Files that are one JSON list, on its own or under a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.core.errors import DatasetError
from replay.datasets.data_file import open_data
from replay.datasets.quac_coqa import CoqaReader
from tests.data_tables import from_table
from tests.datasets.files import json_file


@from_table
def test_a_file_that_is_not_the_expected_json_fails_as_a_whole(tmp_path, content, message):
    path = tmp_path / "a.json"
    path.write_text(content)

    with pytest.raises(DatasetError) as caught:
        list(CoqaReader().read(path))

    assert message in str(caught.value)


def test_an_item_is_named_by_the_line_it_begins_on(tmp_path):
    """Also when items are equal, so that the first of them would be found again."""
    row = {"id": 5}
    path = json_file(tmp_path / "a.json", {"version": [row], "data": [row, row]})

    first, second = CoqaReader().read(path)

    assert (first.line, second.line) == (8, 11)
    assert path.read_text().splitlines()[7] == path.read_text().splitlines()[10] == "  {"


def test_a_file_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    def refuse(self, mode):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)

    with pytest.raises(DatasetError, match=r"can't be opened \(Permission denied\)"):
        open_data(tmp_path / "a.jsonl")
