"""
What of a conversation's messages is not replayed: what is no text (pictures, sounds, files), and calls of
tools without their results.

Readers keep it in a conversation's metadata, as ``left_out``: one entry a turn, how many parts of each kind
its question and answer had, None where all was text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

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
