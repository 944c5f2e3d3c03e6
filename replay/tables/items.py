"""Rated items: what people or metrics say of one turn, one answer or one dialogue; a run's turns as such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.core.record import TurnRecord
from replay.datasets.data_file import SourceLocation
from replay.scorers.scorer import Unscored
from replay.statistics.score_column import ScoreColumn

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


def run_items(name: str, records: Sequence[TurnRecord], scores: Mapping[str, ScoreColumn]) -> ItemSet:
    """
    Return the turns of a run with their scores; a conversation is what turns share.

    A score that is no number for a single turn is left out and named.
    """
    usable = {label: column for label, column in scores.items() if column.is_mean}
    items = []
    for place, record in enumerate(records):
        observed = {label: column.observed[place] for label, column in usable.items()}
        items.append(
            TableItem(
                keys={
                    "system": record.system,
                    "policy": record.policy,
                    "conversation": record.conversation,
                    "depth": str(record.depth),
                },
                ratings={
                    label: (None if isinstance(value, Unscored) else float(value),)
                    for label, value in observed.items()
                },
                group=record.recorded_conversation,
            )
        )
    left_out = [label for label in scores if label not in usable]
    notes = [f"no numbers turn by turn, so left out: {', '.join(left_out)}."] if left_out else []
    again = max(records, key=lambda record: record.repeat, default=None)
    if again is not None and again.repeat > 1:
        notes.append(
            f"each conversation was played {again.repeat} times, and a rating is of the play that it names: "
            f"{again.conversation} is play {again.repeat} of {again.recorded_conversation}, and "
            f"{again.recorded_conversation} the first."
        )
    return ItemSet(
        source=name,
        format="run",
        items=tuple(items),
        lower_is_better=frozenset(label for label, column in usable.items() if column.lower_is_better),
        notes=tuple(notes),
    )
