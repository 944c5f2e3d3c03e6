"""
What somebody expects of a turn, or of a conversation's end: data, as a data set says it; checked later.

What became of one check that the data makes, with the turn that it was made of.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

from replay.core.drift_evidence import Drift

ALL_CHECKS = "check"
"""The column of all checks; one kind's is ``check.contains``, and one that the data names ``check.NAME``."""
END = "end"
"""What the column of the checks for a conversation's end is called behind ``check.``."""


def check_columns(kind: str, called: str | None, *, at_end: bool) -> list[str]:
    """Return the names of the columns in which a check counts."""
    names = kind, called, END if at_end else None
    return [ALL_CHECKS, *(f"{ALL_CHECKS}.{name}" for name in names if name)]


class Expectation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One check to be made."""

    kind: str
    """``contains``, ``regex``, ``calls``, ..."""
    value: Any
    """What the kind compares with: a JSON value."""
    called: str | None = None
    """The name of the column that it counts in, beside all of its kind."""


Verdict = Literal["passed", "failed", "not looked at"]
NO_CHECK = "no check here"
"""Why a turn without a check has no value in such a column."""


NO_TIMES = "answered from a cache, which has no times"
"""Why a time could not be looked at where the user wanted kept answers (``play.cache``)."""


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """One check of a turn, or of a conversation's end."""

    conversation: str
    system: str
    policy: str
    depth: int
    """The turn's, be it reached or not; the last one's of the data for a conversation's end."""
    at_end: bool
    """Of the whole conversation."""
    position: int
    """Among its turn's checks, or its conversation's, from 0."""
    kind: str
    """``contains``, ``regex``, ``calls``, ..."""
    called: str | None
    """The column that it counts in beside its kind's."""
    value: Any
    """What was expected, a JSON value."""
    passed: bool | None
    """None where it could not be looked at."""
    reason: str | None
    """Why it could not: the turn was skipped, failed or never reached, or looking failed or took too much."""
    evidence: str | None
    """What was found, in words; what an exception said where looking failed."""
    asked: str | None = None
    """
    The turn's question as it was asked; None where the turn was never reached.

    It, the answer and the drift come from the turn's own row when a run is read.
    """
    answer: str | None = None
    drift: Drift | None = None

    @property
    def verdict(self) -> Verdict:
        """In words, as reports have them."""
        return "not looked at" if self.passed is None else "passed" if self.passed else "failed"

    @property
    def columns(self) -> list[str]:
        """The columns that it counts in: of all checks, of its kind, its own, and of conversations' ends."""
        return check_columns(self.kind, self.called, at_end=self.at_end)

    @property
    def rule(self) -> str:
        """Return the expectation on one line: ``contains "refund"`` or ``polite: rubric "Is polite."``."""
        value = "" if self.value is True else f" {self.value_text}"
        return f"{self.called}: {self.kind}{value}" if self.called else f"{self.kind}{value}"

    @property
    def value_text(self) -> str:
        """Return the expected value as JSON."""
        # Not by msgspec: half of a surrogate pair, which a data set may hold, stops it.
        return json.dumps(self.value, ensure_ascii=False)

    @property
    def title(self) -> str:
        """``depth 2 of talk3: contains "refund"``, on a line."""
        return f"{self.where} of {self.conversation}: {self.rule}"

    @property
    def where(self) -> str:
        """``depth 2``, or ``the conversation's end``."""
        return "the conversation's end" if self.at_end else f"depth {self.depth}"
