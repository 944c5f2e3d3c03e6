"""Passages as systems name them: bare texts, or objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from replay import Passage


def passages_of(items: Sequence[Any]) -> tuple[Passage, ...] | None:
    """
    Return *items* as passages, or None if they can't all be passages.

    Passages without an id are numbered from 1.
    """
    passages: list[Passage] = []
    for number, item in enumerate(items, 1):
        if isinstance(item, str):
            passages.append(Passage(id=str(number), text=item))
            continue
        if isinstance(item, Passage):
            passages.append(item)
            continue
        if not isinstance(item, Mapping):
            return None
        parts = {key: item.get(key) for key in ("id", "text", "title")}
        if all(part is None for part in parts.values()) or any(
            not isinstance(part, str | int | None) for part in parts.values()
        ):
            return None
        spelt = {key: "" if part is None else str(part) for key, part in parts.items()}
        passages.append(Passage(id=spelt["id"] or str(number), text=spelt["text"], title=spelt["title"]))
    return tuple(passages)
