"""Parquet and Arrow files in the place of JSON Lines."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest

from replay.core.errors import DatasetError, PluginError
from replay.datasets.loading import expand, read_conversations
from replay.datasets.native import NativeReader
from tests.data_tables import from_table
from tests.datasets.files import ids

TALKS = [
    {"id": "a", "messages": [{"role": "user", "content": "Who?", "tool_calls": None}]},
    {
        "id": "b",
        "messages": [{"role": "user", "content": "When?"}, {"role": "assistant", "content": "In 1987."}],
    },
]
LMSYS = [
    {
        "conversation_id": name,
        "model": "m",
        "conversation": [{"role": "user", "content": "Who?"}],
        "turn": 1,
        "language": "English",
        "openai_moderation": [{"flagged": False}],
        "redacted": False,
    }
    for name in "ab"
]
NATIVE = [
    {"id": name, "title": title, "turns": [{"question": "Who?", "gold_passages": passages, "fact": None}]}
    for name, title, passages in [("a", "Album", ["p"]), ("b", None, None)]
]


def parquet(path, rows):
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=1)
    return path


def arrow(path, rows, new=pyarrow.ipc.new_stream):
    table = pyarrow.Table.from_pylist(rows)
    with new(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    return path


def feather(path, rows):
    return arrow(path, rows, pyarrow.ipc.new_file)


def test_a_text_that_is_no_utf_8_spoils_its_row_alone(tmp_path):
    """Arrow calls bytes a text without looking at them."""
    rows = [{"id": str(n), "turns": [{"question": f"Who {n}?"}]} for n in range(5)]
    table = pyarrow.Table.from_pylist(rows)
    names = pyarrow.array([b"0", b"1", b"two \xff\n", b"3", b"4"]).view(pyarrow.string())
    pyarrow.parquet.write_table(table.set_column(0, "id", names), tmp_path / "p")
    bad = []
    found = read_conversations([tmp_path / "p"], reader=NativeReader(), on_bad=bad.append, limit=None)
    assert [one.id for one in found] == ["0", "1", "3", "4"]
    assert [error.line for error in bad] == [3]
    with pytest.raises(DatasetError):
        list(read_conversations([tmp_path / "p"], reader=NativeReader(), on_bad=None, limit=None))


@pytest.mark.parametrize("rows", [TALKS, LMSYS, NATIVE], ids=["chat", "lmsys", "native"])
@pytest.mark.parametrize("write", [parquet, arrow, feather])
def test_a_row_is_a_conversation_in_whatever_format_it_has(tmp_path, write, rows):
    assert ids([write(tmp_path / "rows", rows)]) == ["a", "b"]


def test_what_is_null_is_not_there(tmp_path):
    """A column has a value in each row; chat logs would be refused for calls that nobody made."""
    found = read_conversations([parquet(tmp_path / "p", TALKS)], reader=None, on_bad=None, limit=None)

    assert [turn.gold_answer for talk in found for turn in talk.turns] == [None, "In 1987."]


def test_columns_of_one_type_hold_metadata_and_checks_as_json(tmp_path):
    turn = {"question": "Who?", "expect": '{"contains": "Okafor"}'}
    talk = {"id": "a", "turns": [turn], "metadata": '{"app": null}', "expect": "{}"}
    (found,) = read_conversations([parquet(tmp_path / "p", [talk])], reader=None, on_bad=None, limit=None)

    assert found.metadata == {"app": None}
    assert [(one.kind, one.value) for one in found.turns[0].expect] == [("contains", "Okafor")]


@from_table
def test_a_fault_names_row_and_field(tmp_path, field, value, message):
    rows = [{"id": name, "turns": [{"question": "Who?"}], "metadata": "{}", "expect": "{}"} for name in "ab"]
    rows[1][field] = value
    if field == "turns":
        rows = [rows[1] | {"id": "a"}] * 2
        message = message.replace("2:", "1:")

    with pytest.raises(DatasetError, match=message):
        ids([parquet(tmp_path / "p.parquet", rows)])


def test_what_json_has_no_words_for_does_no_harm(tmp_path):
    more = {"picture": b"\x89PNG", "timestamp": datetime(2024, 5, 1, 12, tzinfo=UTC), "score": float("nan")}

    assert ids([parquet(tmp_path / "p", [talk | more for talk in TALKS])]) == ["a", "b"]


def test_a_file_that_was_cut_off_is_named(tmp_path):
    whole = parquet(tmp_path / "p.parquet", TALKS)
    whole.write_bytes(whole.read_bytes()[:-9])

    with pytest.raises(DatasetError, match=r"p\.parquet: is Parquet or Arrow that .*completely"):
        ids([whole])


def test_without_pyarrow_it_says_what_to_install(tmp_path, monkeypatch):
    path = parquet(tmp_path / "p", TALKS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(PluginError, match=r"convreplay\[parquet\]"):
        ids([path])


class TestSavedDatasets:
    """Folders as Hugging Face's ``save_to_disk`` writes them."""

    def saved(self, folder, *names):
        folder.mkdir()
        files = [arrow(folder / f"data-{9 - n}.arrow", [TALKS[0] | {"id": id}]) for n, id in enumerate(names)]
        listed = {"_data_files": [{"filename": file.name} for file in files]}
        (folder / "state.json").write_text(json.dumps(listed))
        return folder

    def test_a_folder_is_its_files_in_the_order_that_it_says(self, tmp_path):
        folder = self.saved(tmp_path / "talks", "b", "a")
        (folder / "cache-1.arrow").write_bytes(b"left by a computation")

        assert ids(expand(["talks"], tmp_path)) == ["b", "a"]

    def test_of_several_splits_one_has_to_be_named(self, tmp_path):
        (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
        self.saved(tmp_path / "test", "a")

        with pytest.raises(
            DatasetError, match=f"name one of them: {tmp_path.name}/train, {tmp_path.name}/test"
        ):
            expand(["."], tmp_path)
        assert ids(expand(["test"], tmp_path)) == ["a"]
