"""Every key of a scenario has a test that plays it: those in files ``test_keys_*.py``."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from replay.core.settings.choice import Choice
from replay.scenario.judge_section import JudgeSection
from replay.scenario.sections import Scenario
from tests.scenario import keys

TESTS = Path(__file__).parents[1]
FILES = sorted(TESTS.rglob("test_keys_*.py"))


def keys_of(model: type[BaseModel], before: str = "") -> Iterator[str]:
    """Every key that *model* or one of its sections takes, as in ``play.timeout_s``."""
    for name, field in model.model_fields.items():
        path = f"{before}{field.alias or name}"
        sections = sections_in(field.annotation)
        for section in sections:
            yield from keys_of(section, f"{path}.")
        if not sections:
            yield path


def sections_in(annotation: Any) -> list[type[BaseModel]]:
    """The models in *annotation*; not a plug-in's choice, whose keys are the plug-in's."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [] if issubclass(annotation, Choice) else [annotation]
    return [found for part in get_args(annotation) for found in sections_in(part)]


def test_every_key_of_a_scenario_is_played_by_a_test():
    for file in FILES:
        importlib.import_module(".".join(file.relative_to(TESTS.parent).with_suffix("").parts))
    found = {*keys_of(Scenario), *keys_of(JudgeSection, "judges.")}
    assert sorted(found - keys.NAMED) == [], "no test plays these"
    assert sorted(keys.NAMED - found) == [], "there are no such keys"
