"""The page on real servers: the scenarios it shows are those that are played against them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from replay.scenario.reading import parse_scenario
from tests.docs.shown_output import blocks, page

ROOT = Path(__file__).parents[2]
PAGE = page("interop")
PLAYED = PAGE.partition("\n## Played against stand-ins\n")[0]
SHOWN = blocks(PLAYED, "yaml")


@pytest.fixture
def counterparts(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield __import__("counterparts").COUNTERPARTS
    for name in ("counterparts", "agent_counterparts", "app_counterparts", "counterpart"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("text", SHOWN, ids=lambda text: str(yaml.safe_load(text)["name"]))
def test_each_scenario_shown_is_one_that_is_played(text: str, counterparts: Any) -> None:
    parse_scenario(text, source="interop.md", folder=ROOT / "scenarios" / "conversations")
    shown = yaml.safe_load(text)
    (system,) = shown["systems"]

    settings = re.sub(r"http://127\.0\.0\.1:\d+", "{url}", json.dumps(system["settings"]))
    played = [case for case in counterparts[shown["name"]].cases if case.settings == json.loads(settings)]

    assert {(case.adapter, case.outcome) for case in played} == {("http", "answered")}


def test_every_server_has_its_versions_and_cases_on_the_page(counterparts: Any) -> None:
    for one in counterparts.values():
        section = PAGE.partition(f"\n### {one.name}\n")[2].partition("\n#")[0]
        assert [name for name in one.versions_of if f"{name} " not in section.partition("|")[0]] == []
        rows = re.findall(r"^\| (?!case|-)(.*?) \|.*\| as expected", section, re.MULTILINE)
        assert rows == [case.name for case in one.cases]
