"""
What a scenario does beyond replaying: which code it runs here, whom it talks to, what it takes from the
environment.

Told without running any of it. Code is what is named as ``file.py:attribute`` or ``module:attribute``, and
what an adapter says of itself (``local_code``). Hosts stand in settings and among an adapter's defaults, or
are its own to say (``hosts``). Variables are what settings name whose names end in ``_env``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from replay.core.adapter import Adapter
from replay.core.errors import CodeNotRunError, PluginError
from replay.core.secret_signs import name_tells
from replay.core.settings.choice import Choice
from replay.core.settings.in_memory import is_in_memory
from replay.core.settings.plugins import load
from replay.play.load.host_consent import addresses_in
from replay.scenario.sections import Scenario

_CODE = re.compile(r"[\w./\\-]*\w(?:\.py)?:[A-Za-z_][\w.]*")
_PLUGIN_KEYS = ("adapter", "format", "resolver", "rewriter", "policies", "scorers", "judges")
"""Under which plug-ins are named; a name with a colon is never one that is installed under that name."""
_VARIABLE = re.compile(r"\$\{(\w+)\}")


class Unread(NamedTuple):
    """A part that is not built where code may not run."""

    at: str
    """Its key path."""
    target: str
    """The code that it needs."""


class Sent(NamedTuple):
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
class WhatItDoes:
    """What a scenario does beyond replaying."""

    runs: Mapping[str, Sequence[str]]
    """Code and programs, each with the parts that run it."""
    talks_to: Mapping[str, Sequence[str]]
    """Hosts, with their ports where they are given, each with the parts that ask it."""
    sends: Sequence[Sent]

    def lines(self) -> Iterator[tuple[str, str]]:
        """Each line's label, empty where it is that of the line before, and its text."""
        sent = [one.text for one in self.sends]
        if self.runs:
            sent.append("the whole environment to what it runs")
        for label, texts, nothing in (
            ("runs", _listed(self.runs), "no code but installed plug-ins"),
            ("talks to", _listed(self.talks_to), "nobody"),
            ("sends", sent, "nothing from the environment"),
        ):
            for number, text in enumerate(texts or [nothing]):
                yield ("" if number else label, text)


def _listed(by_what: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{what} ({', '.join(parts)})" for what, parts in by_what.items()]


class Part(NamedTuple):
    """One entry of a scenario that names a plug-in."""

    label: str
    at: str
    """The key path of its entry."""
    settings_at: str
    name: str
    settings: Mapping[str, Any]


def parts_of(scenario: Scenario) -> Iterator[Part]:
    """All entries of *scenario* that name plug-ins, in the order in which they play their parts."""
    data, drift = scenario.data, scenario.drift
    if data.format is not None:
        yield Part("reader", "data.format", "data.settings", data.format, data.settings)
    for index, system in enumerate(scenario.systems):
        at = f"systems[{index}]"
        # As judges write it: the adapter with its settings among the entry's own.
        settings = {"adapter": system.adapter, "settings": system.settings}
        yield Part(f"system {system.name}", at, at, system.adapter, settings)
    yield Part("resolver", "drift.resolver", "drift.settings", drift.resolver, drift.settings)
    if drift.semantic:
        semantic = drift.semantic.model_dump()
        yield Part("semantic similarity", "drift.semantic", "drift.semantic", "semantic", semantic)
    chosen: tuple[tuple[str, str, Sequence[Choice]], ...] = (
        ("policy", "policies", scenario.policies),
        ("scorer", "scorers", scenario.scorers),
        ("judge", "judges", scenario.judges),
    )
    for label, key, choices in chosen:
        for index, choice in enumerate(choices):
            at = f"{key}[{index}]"
            called = choice.called or choice.settings.get("name") or choice.name
            yield Part(f"{label} {called}", at, f"{at}.{choice.settings_key}", choice.name, choice.settings)


def what_it_does(
    scenario: Scenario, folder: Path, *, adapters: Mapping[str, Adapter], unread: Iterable[Unread] = ()
) -> WhatItDoes:
    """
    What playing and judging *scenario*, whose paths start from *folder*, does beyond replaying.

    *adapters* are those that could be built, by the key path of their settings, or that of the policy or
    resolver that asks them; *unread* is what couldn't, since it is code.
    """
    runs: dict[str, dict[str, None]] = {}
    talks_to: dict[str, dict[str, None]] = {}
    sends: list[Sent] = []
    parts = list(parts_of(scenario))
    for part in parts:
        own = (*_code(part.name, "adapter"), *_code(part.settings, ""), *_models(part.settings, folder))
        for name in own:
            runs.setdefault(name, {})[part.label] = None
        for one in asked_in(part, folder, adapters):
            if local := getattr(one.adapter, "local_code", None):
                runs.setdefault(str(local), {})[part.label] = None
            hosts = _hosts(one)
            for host in hosts:
                talks_to.setdefault(host, {})[part.label] = None
            sends += _sent(one.settings, one.at, hosts or (part.label,))
    for at, target in unread:
        label = next((part.label for part in parts if at.startswith(part.at)), at)
        runs.setdefault(target, {})[label] = None
    return WhatItDoes(
        runs={what: tuple(by) for what, by in runs.items()},
        talks_to={host: tuple(by) for host, by in talks_to.items()},
        sends=tuple(dict.fromkeys(sends)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Settings that may say whom a part asks."""

    at: str
    settings: Mapping[str, Any]
    """Those of an adapter with its defaults, as far as those are texts; else a plug-in's own."""
    adapter: Adapter | None = None

    @property
    def own_hosts(self) -> list[str]:
        """Those that the adapter says itself."""
        return list(getattr(self.adapter, "hosts", ()))


def asked_in(part: Part, folder: Path, adapters: Mapping[str, Adapter]) -> Iterator[Asked]:
    """The settings of *part* apart from those of the adapters that it names, and each of theirs."""
    found = list(_adapters_in(part.settings, part.settings_at))
    yield Asked(at=part.settings_at, settings=_without_adapters(part.settings))
    for at, name, settings in found:
        yield Asked(
            at=at,
            settings={**_defaults(name, folder), **settings},
            adapter=adapters.get(at) or adapters.get(part.at),
        )


def _adapters_in(value: Any, at: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Where the settings of each adapter in *value* stand, its name, and they."""
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
    """The texts among the defaults of the settings of *adapter*, such as an address."""
    try:
        parameters = inspect.signature(load("adapters", adapter, folder)).parameters.values()
    except (PluginError, CodeNotRunError, TypeError, ValueError):
        return {}
    return {one.name: one.default for one in parameters if isinstance(one.default, str)}


def _hosts(asked: Asked) -> tuple[str, ...]:
    """As the adapter says, or else as its settings do."""
    settings = {"url": asked.own_hosts} if hasattr(asked.adapter, "hosts") else asked.settings
    return tuple(dict.fromkeys(addresses_in(settings)))


def _sent(value: Any, at: str, to: tuple[str, ...]) -> Iterator[Sent]:
    """
    The variables that settings in *value* name.

    They go to the addresses that stand with them, beside which others have variables of their own, as the
    one where an access token is to be had; else *to* those of what they stand in.
    """
    if isinstance(value, Mapping):
        own = {key: item for key, item in value.items() if not _names_variables(item)}
        to = tuple(dict.fromkeys(addresses_in(own))) or to
        for key, item in value.items():
            if name_tells(str(key)) == "variable":
                yield from (Sent(name, where, to) for name, where in _variables(item, f"{at}.{key}"))
            else:
                yield from _sent(item, f"{at}.{key}", to)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _sent(item, f"{at}[{index}]", to)


def _names_variables(value: Any) -> bool:
    return isinstance(value, Mapping) and any(name_tells(str(key)) == "variable" for key in value)


def _variables(value: Any, at: str) -> Iterator[tuple[str, str]]:
    """The variables in *value*: a name, or a text with ``${NAME}`` in it, or a mapping to such."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _variables(item, f"{at}.{key}")
    elif isinstance(value, str):
        for name in [value] if re.fullmatch(r"\w+", value) else _VARIABLE.findall(value):
            yield name, at


def _models(settings: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """The folders with language models: their weights may be pickles, and their configuration names code."""
    for key in ("model", "path"):
        model = settings.get(key)
        if isinstance(model, str) and model and (folder / model).is_dir():
            yield f"model {model}"


def _code(value: Any, key: str) -> Iterator[str]:
    """The plug-ins in *value* that are named by where their code is."""
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
