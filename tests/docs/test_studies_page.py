"""What docs/studies.md shows is what studies take, and what starters and pages have."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest
from typer.main import get_command

from replay.cli import app
from replay.study.running.start import FOLDER
from replay.study.running.study_file import PRESETS, parse_study
from tests.docs.shown_output import blocks, page

DOCS = Path(__file__).parents[2] / "docs"
PAGE = page("studies")


def section(name: str) -> str:
    return re.split(r"^##+ ", PAGE.partition(f"\n### {name}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def test_the_study_file_shown_is_one():
    text, *_ = blocks(PAGE, "yaml")
    parse_study(text, source="studies.md", folder=DOCS)


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_has_its_settings_and_a_practice_item_on_the_page(preset):
    shown = {
        name
        for row in re.findall(r"^\| (`.*?) \|", section(preset), re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    settings = {field.name for field in fields(PRESETS[preset])}
    assert shown <= settings
    assert settings - shown <= {"adjudicator", "adjudicate_above", "adjudicator_sees_ratings"}
    items = re.findall(r"^    (\{.*\})$", section(preset), re.MULTILINE)
    practice = FOLDER / f"{preset}.jsonl"
    assert len(items) == practice.exists()
    for item in items:
        like = json.loads(practice.read_text("utf-8").splitlines()[0])
        assert set(json.loads(item)) <= {*like, "history", "why"}


def test_each_command_shown_is_one():
    lines = re.findall(r"^(?:    |\$ )(replay .*)$", PAGE, re.MULTILINE) + re.findall(
        r"`(replay study [^`]*)`", PAGE
    )
    assert len(lines) > 5
    study = get_command(app).get_command(None, "study")
    for line in lines:
        _, group, verb, *words = shlex.split(line)
        if group == "study":
            options = {name for one in study.commands[verb].params for name in one.opts}
            assert {word for word in words if word.startswith("-")} <= options, line


def test_each_picture_is_there():
    for name in re.findall(r"images/[\w-]+\.png", PAGE):
        assert (DOCS / name).stat().st_size < 100_000
