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
from replay.scenario.part_builder import PartBuilder
from replay.scenario.sections import DataSection, DriftSection, Scenario, SystemSection


def settings_faults(raw: Mapping[str, Any], folder: Path) -> list[Fault]:
    """
    What is wrong with the plug-ins and their settings in a scenario that has other faults as well.

    Only sections that are sound but for unknown keys are looked at; the others are reported already.
    """
    builder = PartBuilder(folder)
    for index, item in enumerate(_list(raw.get("systems"))):
        if system := _sound(SystemSection, item):
            builder.system(system, f"systems[{index}]")
    if (data := _sound(DataSection, raw.get("data"))) is not None:
        builder.reader(data)
        builder.paths(data)
    if "drift" in raw and (drift := _sound(DriftSection, raw["drift"])):
        builder.service(drift)
    for index, item in enumerate(_list(raw.get("policies"))):
        if choice := _sound(PluginChoice, item):
            builder.choice("policies", choice, object, f"policies[{index}]", detector=None)
    scorers: dict[str, Any] = {}
    for index, item in enumerate(_list(raw.get("scorers", Scenario.model_fields["scorers"].default))):
        if choice := _sound(PluginChoice, item):
            scorers[choice.label] = builder.choice("scorers", choice, object, f"scorers[{index}]")
    judges = []
    for index, item in enumerate(_list(raw.get("judges"))):
        choice = _sound(PluginChoice, item)
        judges.append(builder.judge(choice, f"judges[{index}]") if choice else None)
    systems = [_sound(SystemSection, item) for item in _list(raw.get("systems"))]
    policies = [_sound(PluginChoice, item) for item in _list(raw.get("policies"))]
    builder.faults += assertion_faults(
        [_sound(Assertion, item) for item in _list(raw.get("assert"))],
        systems=[system.name for system in systems] if all(systems) else None,
        policies=[choice.label for choice in policies] if all(policies) else None,
        metrics=score_units(scorers, judges),
        folder=folder,
    )
    return builder.faults


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _sound(kind: Any, value: Any) -> Any:
    """*value* as *kind*, unknown keys aside; None where it is not sound in itself."""
    if isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(value, Mapping):
        value = {key: value[key] for key in kind.model_fields if key in value}
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return None
