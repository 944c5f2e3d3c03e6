"""
What readers keep of each turn in a conversation's metadata: recorded times, and what is not replayed.

Recorded times: seconds, or dates and times as ISO 8601 writes them.

Readers keep them as they were written, in a conversation's metadata:
``timestamps`` says when each turn's question was asked and ``answer_timestamps`` when its answer was
complete; both have one entry a turn, None where it isn't known.

What of a conversation's messages is not replayed: what is no text (pictures, sounds, files), and calls of
tools without their results.

Readers keep it in a conversation's metadata, as ``left_out``: one entry a turn, how many parts of each kind
its question and answer had, None where all was text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from replay.datasets.data_file import SourceLocation

ASKED = "timestamps"
ANSWERED = "answer_timestamps"

Timestamp = float | str


def seconds_of(timestamp: Timestamp) -> float:
    """
    Return *timestamp* in seconds; since 1970 if it is a text. A text without a time zone is in UTC.

    Raises:
        ValueError: it is neither a finite number nor a time in ISO 8601.
    """
    if isinstance(timestamp, bool) or not isinstance(timestamp, int | float | str):
        raise ValueError(f"{timestamp!r} is not a time; expected seconds or a text as 2024-05-01T12:00:00Z")
    if not isinstance(timestamp, str):
        if not abs(timestamp) < math.inf:
            raise ValueError(f"{timestamp!r} is not a time; expected a finite number of seconds")
        try:
            return float(timestamp)
        except OverflowError as error:
            raise ValueError("a number beyond 1e308 is not a time; expected seconds") from error
    try:
        moment = datetime.fromisoformat(timestamp.strip())
    except ValueError as error:
        raise ValueError(
            f'"{timestamp}" is not a time; expected seconds or ISO 8601, as in 2024-05-01T12:00:00Z'
        ) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def with_timestamps(
    metadata: Mapping[str, Any],
    *,
    asked: Sequence[Any],
    answered: Sequence[Any],
    place: SourceLocation,
) -> dict[str, Any]:
    """
    Return *metadata* and the turns' times, as far as any is known.

    Raises:
        DatasetError: the metadata holds such times already.
    """
    found = dict(metadata)
    for name, times in ((ASKED, asked), (ANSWERED, answered)):
        if all(time is None for time in times):
            continue
        if name in found:
            raise place.error(
                "stands beside times of the turns themselves; give one of the two", f"metadata.{name}"
            )
        found[name] = list(times)
    return found


def check(timestamp: Timestamp, place: SourceLocation, field: str) -> None:
    """
    Raises:
        DatasetError: *timestamp*, which stands in *field*, is no time.
    """
    try:
        seconds_of(timestamp)
    except ValueError as error:
        raise place.error(str(error), field) from error


LEFT_OUT = "left_out"


def with_left_out(metadata: Mapping[str, Any], turns: Sequence[Mapping[str, int]]) -> dict[str, Any]:
    """Return *metadata* with what each of the *turns* lost, if any lost anything."""
    if not any(turns):
        return dict(metadata)
    return {**metadata, LEFT_OUT: [dict(turn) or None for turn in turns]}


class OmissionCounts:
    """What conversations lost, added up."""

    def __init__(self) -> None:
        self._turns = 0
        self._parts: Counter[str] = Counter()

    def add(self, turns: Any) -> None:
        """Add the ``left_out`` of a conversation's metadata; whatever else stands there is passed over."""
        for turn in turns if isinstance(turns, list) else ():
            if isinstance(turn, dict):
                self._turns += 1
                self._parts.update({kind: count for kind, count in turn.items() if type(count) is int})

    def remarks(self) -> list[str]:
        """Return a remark on the parts that are not replayed; an empty list if there are none."""
        if not self._turns:
            return []
        kinds = ", ".join(f"{kind} {count}" for kind, count in self._parts.most_common())
        had = "turn had" if self._turns == 1 else "turns had"
        return [f"{self._turns:,} {had} parts that are not replayed ({kinds})."]
