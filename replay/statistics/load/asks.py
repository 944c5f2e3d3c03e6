"""
The asks of a load run as columns: what is known of each in a number or two, so that a million of them take
some 70 MB.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from replay.core.record import Outcome
from replay.statistics.group import Group

Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]

OUTCOMES: tuple[str, ...] = get_args(Outcome)
"""An ask's outcome is its place here."""
ANSWERED = OUTCOMES.index("answered")
SKIPPED = OUTCOMES.index("skipped")
OUTSIDE = -1
"""In place of a level's position: the ask belongs to none."""

GapCounts = Mapping[int, int]
"""How often each gap between two pieces of an answer was seen; gaps in tenths of a millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asks:
    """One entry in every column for each ask that was sent, in any order; NaN for a moment that never was."""

    scheduled_s: Floats
    sent_s: Floats
    first_token_s: Floats
    last_token_s: Floats
    """NaN where the answer came in fewer than two pieces, too."""
    done_s: Floats
    server_s: Floats
    """What the server says that it took; NaN where it says nothing."""
    outcome: Integers
    """Position in ``OUTCOMES``."""
    depth: Integers
    attempts: Integers
    asks: Integers
    """Attempts without retries: more than one where tools were called."""
    tokens: Integers
    """Of the answer; -1 where neither the system nor its pieces say."""
    tokens_are_pieces: Flags
    """The tokens were counted from the pieces of the stream."""
    group: Integers
    """Position in ``groups``."""
    conversation: Integers
    """One number for each conversation as played by one system under one policy."""
    recorded: Integers
    """The conversation's place among those of the data, which are what is resampled."""
    level: Integers
    """The level's position, or ``OUTSIDE``."""
    measured: Flags
    """Due within its level's measured window, not in the warm-up or after its end."""
    groups: tuple[Group, ...]
    recorded_count: int
    gaps: Mapping[tuple[int, int, int], GapCounts] = field(default_factory=dict)
    """Gaps between the pieces of measured answers, by level, group and depth."""

    def __len__(self) -> int:
        return len(self.done_s)

    @property
    def answered(self) -> Flags:
        answered: Flags = self.outcome == ANSWERED
        return answered

    @property
    def latency_s(self) -> Floats:
        """Sent to last byte."""
        return self.done_s - self.sent_s

    @property
    def response_s(self) -> Floats:
        """Due to last byte."""
        return self.done_s - self.scheduled_s

    @property
    def ttft_s(self) -> Floats:
        """Sent to first token; NaN where the answer did not come in pieces."""
        return self.first_token_s - self.sent_s

    @property
    def tpot_s(self) -> Floats:
        """
        Time per token after the first, to the last one; NaN without a stream, or without a second token.

        What comes behind the last token (usage, an end mark, a connection that closes late) is no part of it.
        """
        return (self.last_token_s - self.first_token_s) / self._after_the_first

    @property
    def tpot_done_s(self) -> Floats:
        """The same to the last byte."""
        return (self.done_s - self.first_token_s) / self._after_the_first

    @property
    def _after_the_first(self) -> Floats:
        return np.where(self.tokens > 1, self.tokens - 1, np.nan)


class ConversationOrder:
    """What comes before and after what in the conversations of some asks."""

    def __init__(self, asks: Asks) -> None:
        order = np.lexsort((asks.depth, asks.conversation))
        played = asks.conversation[order]
        goes_on = played[1:] == played[:-1]
        is_last = np.ones(len(order), dtype=np.bool_)
        is_last[:-1] = ~goes_on
        self.last: NDArray[np.intp] = order[is_last]
        """Positions of each conversation's last turn."""
        self.before_done_s: Floats = np.full(len(order), -np.inf)
        """When the turn before each was over; minus infinity for first turns."""
        self.before_done_s[order[1:][goes_on]] = asks.done_s[order[:-1][goes_on]]
