"""The page on security: what it shows is what is said, and what it says of each verb is tried."""

from __future__ import annotations

import re

import pytest
import typer.main

from replay.cli import app
from tests.cli.command import replay_cli
from tests.docs.shown_output import blocks, page

PAGE = page("security")
SCENARIO = re.findall(r"```yaml\n# sent.yaml\n(.*?)```", PAGE, re.DOTALL)[0]
SHOWN = blocks(PAGE, "text")[0]


@pytest.mark.parametrize("variables_are_set", [True, False])
def test_the_block_that_it_shows_is_what_validate_says(tmp_path, monkeypatch, variables_are_set):
    (tmp_path / "sent.yaml").write_text(SCENARIO)
    (tmp_path / "talks.jsonl").write_text('{"id": "a", "turns": [{"question": "Who?"}]}\n')
    (tmp_path / "words.py").write_text("raise AssertionError('imported')\n")
    (tmp_path / "old-shop").write_text("#!/bin/sh\n")
    (tmp_path / "old-shop").chmod(0o755)
    (tmp_path / "key").write_text("a key")
    if variables_are_set:
        monkeypatch.setenv("SHOP_KEY", "a key")
        monkeypatch.setenv("ANTHROPIC_KEY_FILE", str(tmp_path / "key"))
    done = replay_cli("validate", "sent.yaml", cwd=tmp_path)
    if variables_are_set:
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith(SHOWN)
    else:
        assert done.returncode == 2
        assert SHOWN[SHOWN.index("  runs ") :] in done.stdout


def test_its_table_has_every_verb_once():
    (table,) = re.findall(r"\| verb \|.*?\n\n", PAGE, re.DOTALL)
    named = re.findall(
        r"`([a-z][a-z-]*)`", "".join(row.split("|")[1] for row in table.strip().splitlines()[2:])
    )
    assert sorted(named) == sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
