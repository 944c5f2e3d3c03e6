"""Rated items: what people or metrics say of one turn, one answer or one dialogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from replay.datasets.data_file import SourceLocation

Ratings = tuple[float | None, ...]
"""One rating by each rater; None where that rater gave none."""

KEYS = ("id", "system", "policy", "conversation", "depth")
"""What an item may be recognized by in another file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableItem:
    """One item, by the criteria that it was rated by; a metric counts as a single rater."""

    keys: Mapping[str, str]
    """Those of ``KEYS`` that are known."""
    ratings: Mapping[str, Ratings]
    """By criterion."""
    group: str | None = None
    """What several items share and are compared on: a passage, a context, a conversation."""
    level: str = "turn"
    """``turn`` or ``dialogue``."""

    @property
    def system(self) -> str | None:
        """The name of the system that gave the answer, if known."""
        return self.keys.get("system")

    def mean(self, criterion: str) -> float | None:
        """Return the mean rating; None if nobody gave one."""
        known = [rating for rating in self.ratings.get(criterion, ()) if rating is not None]
        return sum(known) / len(known) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSet:
    """A file's items."""

    source: str
    format: str
    items: tuple[TableItem, ...]
    named_raters: bool = False
    """The n-th rating of every item is by the same person."""
    lower_is_better: frozenset[str] = frozenset()
    """Criteria of which less is better, as of a run's latencies."""
    notes: tuple[str, ...] = ()
    """What a reader should know, in words."""

    @property
    def criteria(self) -> tuple[str, ...]:
        """The names of all criteria that items are rated by, in the order of their first use."""
        return tuple(dict.fromkeys(name for item in self.items for name in item.ratings))


def rating(value: Any, place: SourceLocation, field: str) -> float | None:
    """
    Return a rating as a number; None for nothing and for ``N/A``, with or without a reason after it.

    Raises:
        DatasetError: it is something else.
    """
    text = value.strip().lower() if isinstance(value, str) else None
    if value is None or text in ("", "na", "none", "nan") or (text or "").startswith(("n/a", "na (")):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool) or not abs(number) < float("inf"):
        raise place.error(f"is {value!r}, expected a number or N/A", field)
    return number
