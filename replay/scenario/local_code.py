"""
Which code a scenario runs here beside installed plug-ins: ``file.py:attribute`` and ``module:attribute``.

Adapters that run programs or functions say so themselves, in an attribute ``local_code``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_CODE = re.compile(r"[\w./\\-]*\w(?:\.py)?:[A-Za-z_][\w.]*")
_PLUGIN_KEYS = ("adapter", "format", "resolver", "rewriter", "policies", "scorers", "judges")
"""Under which plug-ins are named; a name with a colon is never one that is installed under that name."""


def plugins_of_ones_own(scenario: Mapping[str, Any]) -> list[str]:
    """Those that *scenario*, as a mapping, names, each once and in its order."""
    return list(dict.fromkeys(_named(scenario, "")))


def _named(value: Any, key: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            if len(value) == 1 and _CODE.fullmatch(str(name)):  # {file.py:Rewriter: {setting: value}}
                yield str(name)
            # {own_name: file.py:Scorer, settings: {setting: value}}
            names_one = key in _PLUGIN_KEYS and isinstance(item, str)
            yield from _named(item, key if names_one else str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _named(item, key)
    elif isinstance(value, str) and key in _PLUGIN_KEYS and _CODE.fullmatch(value):
        yield value
