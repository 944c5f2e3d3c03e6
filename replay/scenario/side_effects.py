"""
What a scenario does beyond replaying: which code it runs here, whom it talks to, what it takes from the
environment and from files elsewhere; with the entries that name plug-ins, and the adapters that stand in
their settings.

Told without running any of it. Code is what is named as ``file.py:attribute`` or ``module:attribute``, and
what an adapter says of itself (``local_code``). Hosts stand in settings and among an adapter's defaults, or
are its own to say (``hosts``). Variables are what settings name whose names end in ``_env``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from replay.core.adapter import Adapter
from replay.core.errors import CodeNotRunError, DatasetError, PluginError
from replay.core.safety.consent import addresses_in
from replay.core.safety.secret_detection import name_suggests_secret
from replay.core.settings.choice import Choice
from replay.core.settings.in_memory import is_in_memory
from replay.core.settings.plugin_bugs import signature_of
from replay.core.settings.plugins import load
from replay.core.terminal import escape_unprintable
from replay.datasets.loading import expand
from replay.scenario.assembly import Assembly
from replay.scenario.sections import Scenario, telemetry_addresses
from replay.scenario.tools_building import tools_of


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


_CODE = re.compile(r"[\w./\\-]*\w(?:\.py)?:[A-Za-z_][\w.]*")
_PLUGIN_KEYS = ("adapter", "format", "resolver", "rewriter", "user", "policies", "scorers", "judges")
"""Under which plug-ins are named; a name with a colon is never one that is installed under that name."""
_VARIABLE = re.compile(r"\$\{(\w+)\}")


class SentVariable(NamedTuple):
    """An environment variable whose value is used."""

    variable: str
    at: str
    """The key path of the setting that names it."""
    to: tuple[str, ...]
    """The hosts that it goes to; where none is known, the part that it is given to."""

    @property
    def text(self) -> str:
        what = f"the file that {self.variable} names" if self.variable.endswith("_FILE") else self.variable
        return f"{what} to {', '.join(self.to)} ({self.at})"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEffects:
    """What a scenario does beyond replaying."""

    runs: Mapping[str, Sequence[str]]
    """Code and programs, each with the parts that run it."""
    talks_to: Mapping[str, Sequence[str]]
    """Hosts, with their ports where they are given, each with the parts that ask it."""
    sends: Sequence[SentVariable]
    reads: Mapping[str, Sequence[str]]
    """Files outside the scenario's folder, each with the parts that read it."""

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield each line's label, empty if it repeats that of the line before, and its text."""
        sent = [one.text for one in self.sends]
        if self.runs:
            sent.append("the whole environment to what it runs")
        for label, texts, nothing in (
            ("runs", _with_users(self.runs), "no code but installed plug-ins"),
            ("talks to", _with_users(self.talks_to), "nobody"),
            ("sends", sent, "nothing from the environment"),
            ("reads", _with_users(self.reads), "no file outside its folder"),
        ):
            for number, text in enumerate(texts or [nothing]):
                yield ("" if number else label, escape_unprintable(text))


def _with_users(by_what: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{what} ({', '.join(parts)})" for what, parts in by_what.items()]


def side_effects(assembly: Assembly) -> SideEffects:
    """
    Return what playing and judging *assembly*'s scenario runs, contacts, sends and reads beyond replaying.

    A part that could not be built, since its code may not run, is listed as code to run.
    """
    scenario, folder, adapters = assembly.file.scenario, assembly.file.folder, assembly.adapters
    runs: dict[str, dict[str, None]] = {}
    talks_to: dict[str, dict[str, None]] = {}
    reads: dict[str, dict[str, None]] = {}
    sends: list[SentVariable] = []
    parts = list(parts_of(scenario))
    for part in parts:
        own = (*_code(part.name, "adapter"), *_code(part.settings, ""), *_models(part.settings, folder))
        for name in own:
            runs.setdefault(name, {})[part.label] = None
        for one in endpoint_settings(part, folder, adapters):
            if local := getattr(one.adapter, "local_code", None):
                runs.setdefault(str(local), {})[part.label] = None
            hosts = _hosts(one)
            for host in hosts:
                talks_to.setdefault(host, {})[part.label] = None
            sends += _sent_variables(one.settings, one.at, hosts or (part.label,))
        for path in _files(part.settings, folder):
            reads.setdefault(path, {})[part.label] = None
    for label, _, tools in tools_of(scenario):
        if tools.function and not is_in_memory(tools.function):
            runs.setdefault(tools.function, {})[label] = None
    for address in telemetry_addresses(scenario):
        for host in addresses_in({"url": address}):
            talks_to.setdefault(host, {})["telemetry"] = None
    if scenario.cluster:
        address = scenario.cluster.address
        named = os.environ.get("RAY_ADDRESS", "localhost") if address == "auto" else address
        talks_to.setdefault(named.removeprefix("ray://"), {})["cluster"] = None
    for label, path in _other_files(scenario, folder):
        reads.setdefault(path, {})[label] = None
    for at, target in assembly.unread:
        label = next((part.label for part in parts if at.startswith(part.at)), at.removesuffix(".function"))
        runs.setdefault(target, {})[label] = None
    return SideEffects(
        runs={what: tuple(by) for what, by in runs.items()},
        talks_to={host: tuple(by) for host, by in talks_to.items()},
        sends=tuple(dict.fromkeys(sends)),
        reads={path: tuple(by) for path, by in reads.items()},
    )


def _hosts(asked: EndpointSettings) -> tuple[str, ...]:
    """Return the hosts that the adapter declares, or else the addresses in its settings."""
    settings = {"url": asked.own_hosts} if hasattr(asked.adapter, "hosts") else asked.settings
    return tuple(dict.fromkeys(addresses_in(settings)))


def _sent_variables(value: Any, at: str, to: tuple[str, ...]) -> Iterator[SentVariable]:
    """
    Yield the variables that settings in *value* name.

    They go to the addresses that stand with them, beside which others have variables of their own, as the one
    where an access token is to be had; else *to* those of what they stand in.
    """
    if isinstance(value, Mapping):
        own = {key: item for key, item in value.items() if not _names_variables(item)}
        to = tuple(dict.fromkeys(addresses_in(own))) or to
        for key, item in value.items():
            if name_suggests_secret(str(key)) == "variable":
                yield from (SentVariable(name, where, to) for name, where in _variables(item, f"{at}.{key}"))
            else:
                yield from _sent_variables(item, f"{at}.{key}", to)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _sent_variables(item, f"{at}[{index}]", to)


def _names_variables(value: Any) -> bool:
    return isinstance(value, Mapping) and any(name_suggests_secret(str(key)) == "variable" for key in value)


def _variables(value: Any, at: str) -> Iterator[tuple[str, str]]:
    """Yield the variables in *value*: a name, or a text with ``${NAME}`` in it, or a mapping to such."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _variables(item, f"{at}.{key}")
    elif isinstance(value, str):
        for name in [value] if re.fullmatch(r"\w+", value) else _VARIABLE.findall(value):
            yield name, at


def _models(settings: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """
    Yield the folders with language models: their weights may be pickles, and their configuration names code.
    """
    for key in ("model", "path"):
        model = settings.get(key)
        if isinstance(model, str) and model and os.path.isdir(folder / model):
            yield f"model {model}"


def _files(value: Any, folder: Path) -> Iterator[str]:
    """Yield the texts in *value* that name files which lie elsewhere than in *folder*."""
    if isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _files(item, folder)
    elif isinstance(value, str) and os.path.isfile(folder / value) and _is_outside(folder / value, folder):
        yield value


def _other_files(scenario: Scenario, folder: Path) -> Iterator[tuple[str, str]]:
    """
    Yield the files elsewhere that no plug-in's settings name, each after who reads it; patterns as written.
    """
    for pattern in scenario.data.paths:
        with suppress(DatasetError):
            if any(_is_outside(path, folder) for path in expand([pattern], folder)):
                yield "data", pattern
    for label, path in (("prices", scenario.prices), ("load", scenario.load and scenario.load.trace)):
        for found in _files(str(path or ""), folder):
            yield label, found
    for label, _, tools in tools_of(scenario):
        for found in _files(tools.results if isinstance(tools.results, str) else "", folder):
            yield label, found


def _is_outside(path: Path, folder: Path) -> bool:
    return folder.resolve() not in path.resolve().parents


def _code(value: Any, key: str) -> Iterator[str]:
    """Yield the plug-ins in *value* that are named by where their code is."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if len(value) == 1 and _CODE.fullmatch(str(name)):  # {file.py:Rewriter: {setting: value}}
                yield str(name)
            # {own_name: file.py:Scorer, settings: {setting: value}}
            names_one = key in _PLUGIN_KEYS and isinstance(item, str)
            yield from _code(item, key if names_one else str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _code(item, key)
    elif (
        isinstance(value, str) and key in _PLUGIN_KEYS and _CODE.fullmatch(value) and not is_in_memory(value)
    ):
        yield value
