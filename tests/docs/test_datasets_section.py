"""What docs/integrations.md says of Hugging Face datasets, run as it stands there."""

from __future__ import annotations

import re

import pytest

# It may be there by another package's leave, and takes two seconds to import.
pytest.importorskip("lm_eval", reason="runs with the other harnesses: .ci/harnesses")

from replay.integrations.datasets import features
from tests.docs.shown_output import blocks, page, section

PAGE = page("integrations")
SECTION = section(PAGE, "Hugging Face datasets")


def test_the_program_prints_what_is_shown(tmp_path, monkeypatch, capsys):
    (program,) = blocks(SECTION, "python")
    (shown,) = blocks(SECTION, "text")
    monkeypatch.chdir(tmp_path)
    exec(program, {})

    assert capsys.readouterr().out == shown


def test_the_table_has_every_column():
    table = re.findall(r"^\| `.*\|$", SECTION, re.MULTILINE)
    columns = features()

    assert set(re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table))) == set(columns)
    (turns,) = [row for row in table if row.startswith("| `turns`")]
    assert re.findall(r"`(\w+)`", turns)[1:] == list(columns["turns"].feature)
