"""
Which code a scenario runs here beside installed plug-ins: ``file.py:attribute`` and ``module:attribute``.

Adapters that run programs or functions say so themselves, in an attribute ``local_code``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_CODE = re.compile(r"[\w./\\-]*\w(?:\.py)?:[A-Za-z_][\w.]*")
_PLUGIN_KEYS = ("adapter", "format", "name", "resolver", "rewriter")
"""Under which a plug-in is named; a name with a colon is never one that is installed under that name."""
_CHOSEN = ("policies", "scorers", "judges")
"""Sections of plug-ins that may have a name of their own."""
_CHOICE = {"name", "settings", "called"}


def plugins_of_ones_own(scenario: Mapping[str, Any]) -> list[str]:
    """Those that *scenario*, as a mapping, names, each once and in its order."""
    return list(dict.fromkeys(_named(scenario, "")))


def _named(value: Any, key: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        if key in _CHOSEN:  # {own_name: file.py:Scorer, settings: {setting: value}}
            yield from (name for name in value.values() if isinstance(name, str) and _CODE.fullmatch(name))
        for name, item in value.items():
            if name == "name" and not {"name", "settings"} <= set(value) <= _CHOICE:
                continue  # a system's name, or a judge's, is no plug-in's
            if len(value) == 1 and _CODE.fullmatch(str(name)):  # {file.py:Rewriter: {setting: value}}
                yield str(name)
            yield from _named(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _named(item, key)
    elif isinstance(value, str) and key in _PLUGIN_KEYS and _CODE.fullmatch(value):
        yield value
