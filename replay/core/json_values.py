"""JSON values compared as such: ``true`` is no 1, as it is in Python, and 1 is 1.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def same_json(one: Any, other: Any) -> bool:
    """Return whether both are the same JSON value; the order of an object's keys doesn't matter."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_json(value, other[key]) for key, value in one.items())
    return _alike(one, other, same_json)


def holds_json(whole: Any, part: Any) -> bool:
    """Return whether *whole* contains *part*: objects may have more keys, all else must be equal."""
    if isinstance(whole, Mapping) and isinstance(part, Mapping):
        return all(key in whole and holds_json(whole[key], value) for key, value in part.items())
    return _alike(whole, part, holds_json)


def _alike(one: Any, other: Any, items_alike: Any) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(items_alike, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)
