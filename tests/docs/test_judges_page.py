"""What docs/judges.md shows works, and what it lists is what there is."""

from __future__ import annotations

import pytest
import yaml

from replay.core.settings.choice import Choice
from replay.core.settings.plugins import available
from replay.scenario.judge_section import build_panel
from replay.scenario.part_builder import PartBuilder
from replay.scorers.judges.prompt import VARIABLES
from tests.docs.shown_output import blocks, page
from tests.scorers.judges.samples import panel

TEXT = page("judges")


def shown_judges() -> list[dict]:
    found = [yaml.safe_load(block) for block in blocks(TEXT, "yaml")]
    entries = [entry for one in found for entry in (one["judges"] if isinstance(one, dict) else one)]
    return [entry for entry in entries if len(entry) == 1]


@pytest.mark.parametrize("entry", shown_judges())
def test_a_shown_judge_can_be_built(entry, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    ((name, settings),) = entry.items()
    builder = PartBuilder(tmp_path)
    assert build_panel(builder, Choice(name=name, settings=settings), "judges[0]"), builder.faults


def test_the_shown_criteria_can_be_used(tmp_path):
    (criteria,) = (block for block in blocks(TEXT, "yaml") if "definition:" in block)
    (tmp_path / "own.yaml").write_text(criteria)
    built = panel("geval", tmp_path, adapter="scripted", mode="single", criteria_file="own.yaml")

    assert list(built.columns) == ["geval.brevity"]


def test_every_judge_and_variable_is_listed():
    for name in (*available("judges"), *VARIABLES):
        assert f"`{name}`" in TEXT, name
