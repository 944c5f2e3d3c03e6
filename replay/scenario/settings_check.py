"""Checks the settings of plug-ins in a scenario whose own keys have faults, so that all are told at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from replay.core.errors import Fault
from replay.core.settings.choice import PluginChoice
from replay.scenario.assertions.faults import assertion_faults, score_units
from replay.scenario.assertions.section import Assertion
from replay.scenario.judge_section import build_panels
from replay.scenario.part_builder import PartBuilder
from replay.scenario.sections import DataSection, DriftSection, Scenario, SystemSection


def settings_faults(raw: Mapping[str, Any], folder: Path) -> list[Fault]:
    """
    Return the faults of the plug-ins and their settings in a scenario that has other faults as well.

    Only sections that are valid but for unknown keys are checked; the others are reported already.

    Args:
        raw: The scenario file's content.
        folder: The folder from which relative paths start.
    """
    builder = PartBuilder(folder)
    systems = _valid_entries(SystemSection, raw.get("systems"))
    builder.systems(systems)
    if (data := _valid(DataSection, raw.get("data"))) is not None:
        builder.reader(data)
        builder.paths(data)
    if "drift" in raw and (drift := _valid(DriftSection, raw["drift"])):
        builder.service(drift)
    policies = _valid_entries(PluginChoice, raw.get("policies"))
    builder.policies(policies, detector=None)
    chosen = _valid_entries(PluginChoice, raw.get("scorers", Scenario.model_fields["scorers"].default))
    scorers = builder.scorers(chosen)
    judges = build_panels(builder, _valid_entries(PluginChoice, raw.get("judges")))
    builder.faults += assertion_faults(
        _valid_entries(Assertion, raw.get("assert")),
        systems=[system.name for system in systems] if all(systems) else None,
        policies=[choice.label for choice in policies] if all(policies) else None,
        metrics=score_units(scorers, judges, recorded="recorded" in raw) if all(chosen) else None,
        folder=folder,
    )
    return builder.faults


def _valid_entries(kind: Any, values: Any) -> list[Any]:
    return [_valid(kind, value) for value in values] if isinstance(values, list | tuple) else []


def _valid(kind: Any, value: Any) -> Any:
    """Return *value* as *kind*, unknown keys aside; None where it is not sound in itself."""
    if isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(value, Mapping):
        value = {key: value[key] for key in kind.model_fields if key in value}
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return None
