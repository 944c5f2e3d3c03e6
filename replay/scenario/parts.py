"""The entries of a scenario that name plug-ins, and the adapters that stand in their settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from replay.core.adapter import Adapter
from replay.core.errors import CodeNotRunError, PluginError
from replay.core.settings.choice import Choice
from replay.core.settings.plugin_bugs import signature_of
from replay.core.settings.plugins import load
from replay.scenario.sections import Scenario


class ScenarioPart(NamedTuple):
    """One entry of a scenario that names a plug-in."""

    label: str
    at: str
    """The key path of its entry."""
    settings_at: str
    name: str
    settings: Mapping[str, Any]


def parts_of(scenario: Scenario) -> Iterator[ScenarioPart]:
    """Yield all entries of *scenario* that name plug-ins, from the reader to the judges."""
    data, drift = scenario.data, scenario.drift
    if data.format is not None:
        yield ScenarioPart("reader", "data.format", "data.settings", data.format, data.settings)
    for index, system in enumerate(scenario.systems):
        at = f"systems[{index}]"
        # As judges write it: the adapter with its settings among the entry's own.
        settings = {"adapter": system.adapter, "settings": system.settings}
        yield ScenarioPart(f"system {system.name}", at, at, system.adapter, settings)
    yield ScenarioPart("resolver", "drift.resolver", "drift.settings", drift.resolver, drift.settings)
    if drift.semantic:
        semantic = drift.semantic.model_dump()
        yield ScenarioPart("semantic similarity", "drift.semantic", "drift.semantic", "semantic", semantic)
    chosen: tuple[tuple[str, str, Sequence[Choice]], ...] = (
        ("policy", "policies", scenario.policies),
        ("scorer", "scorers", scenario.scorers),
        ("judge", "judges", scenario.judges),
    )
    for label, key, choices in chosen:
        for index, choice in enumerate(choices):
            at = f"{key}[{index}]"
            called = choice.called or choice.settings.get("name") or choice.name
            yield ScenarioPart(
                f"{label} {called}", at, f"{at}.{choice.settings_key}", choice.name, choice.settings
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """Settings that may say whom a part asks."""

    at: str
    settings: Mapping[str, Any]
    """Those of an adapter with its defaults, as far as those are texts; else a plug-in's own."""
    adapter: Adapter | None = None

    @property
    def own_hosts(self) -> list[str]:
        """The hosts that the adapter declares; empty if it declares none."""
        return list(getattr(self.adapter, "hosts", ()))


def endpoint_settings(
    part: ScenarioPart, folder: Path, adapters: Mapping[str, Adapter]
) -> Iterator[EndpointSettings]:
    """Yield the settings of *part* without those of its adapters, and then those of each adapter."""
    yield EndpointSettings(at=part.settings_at, settings=_without_adapters(part.settings))
    for at, name, settings in _adapters_in(part.settings, part.settings_at):
        yield EndpointSettings(
            at=at,
            settings={**_defaults(name, folder), **settings},
            adapter=adapters.get(at) or adapters.get(part.at),
        )


def _adapters_in(value: Any, at: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield for each adapter in *value* the key path of its settings, its name and the settings."""
    if isinstance(value, Mapping):
        name, settings = value.get("adapter"), value.get("settings")
        if isinstance(name, str):
            yield f"{at}.settings", name, settings if isinstance(settings, Mapping) else {}
        for key, item in value.items():
            if key != "settings" or not isinstance(name, str):
                yield from _adapters_in(item, f"{at}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _adapters_in(item, f"{at}[{index}]")


def _without_adapters(value: Any) -> Any:
    if isinstance(value, Mapping):
        is_one = isinstance(value.get("adapter"), str)
        kept = {key: item for key, item in value.items() if not (is_one and key in ("adapter", "settings"))}
        return {key: _without_adapters(item) for key, item in kept.items()}
    if isinstance(value, list | tuple):
        return [_without_adapters(item) for item in value]
    return value


def _defaults(adapter: str, folder: Path) -> dict[str, str]:
    """Return the texts among the defaults of the settings of *adapter*, such as an address."""
    try:
        parameters = signature_of(load("adapters", adapter, folder)).parameters.values()
    except (PluginError, CodeNotRunError, TypeError, ValueError):
        return {}
    return {one.name: one.default for one in parameters if isinstance(one.default, str)}
