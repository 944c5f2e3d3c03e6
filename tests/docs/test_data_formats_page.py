"""The examples in docs/data-formats.md, read by the readers they are examples for."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from replay.core.conversation import Conversation
from replay.core.settings.plugins import available, build, load
from replay.scenario.sections import DataSection
from replay.testing.reader_contract import recognizers
from tests.docs.shown_output import page

PAGE = page("data-formats")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")}
EXAMPLE = re.compile(r"^```(jsonl|json|csv)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


# What documents carry takes pages of them: tests/synthesis/test_synthesize_verb.py runs that example.
@pytest.mark.parametrize("name", [name for name in available("readers") if name != "documents"])
def test_a_documented_example_is_read_and_recognized(name, tmp_path):
    found = EXAMPLE.search(SECTIONS[name])
    assert found, f"no example of {name}"
    suffix, example = found.groups()
    path = tmp_path / f"example.{suffix}"
    path.write_text(example, encoding="utf-8")
    head = path.read_bytes()
    if name == "slack":
        path, head = _slack_export(tmp_path, example), b""

    conversations = list(available("readers")[name].load()().read(path))

    assert conversations
    assert all(isinstance(conversation, Conversation) for conversation in conversations)
    assert recognizers(path, head) == [name]


def _slack_export(folder: Path, day: str) -> Path:
    files = {
        "users.json": '[{"id": "UB", "is_bot": true}]',
        "channels.json": "[]",
        "support/2024-01-01.json": day,
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", available("readers"))
def test_every_setting_is_documented(name):
    for setting in (field.name for field in fields(available("readers")[name].load())):
        assert f"| `{setting}` |" in SECTIONS[name]


@pytest.mark.parametrize("block", re.findall(r"^```yaml\n(data:.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
def test_every_data_section_shown_is_one(block, tmp_path):
    section = DataSection.model_validate(yaml.safe_load(block)["data"])
    assert section.format
    build(load("readers", section.format, tmp_path), section.settings, folder=tmp_path)
