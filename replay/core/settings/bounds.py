"""How large a setting may be, with the reason: a slip of the keyboard must not eat a machine's memory."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field


def at_most(limit: float, why: str) -> AfterValidator:
    """Return a validator that refuses numbers above *limit*, infinity and NaN, and says *why*."""

    def check(value: float) -> float:
        if not value <= limit:
            shown = f"{value:.10g}" if isinstance(value, float) else f"{value:,}"
            raise ValueError(f"{shown:.40} is more than {limit:,}, the most that is allowed: {why}")
        return value

    return AfterValidator(check)


MOST_TOGETHER = 65_536
Together = Annotated[int, Field(ge=1), at_most(MOST_TOGETHER, "there are no more ports towards one address")]
"""Conversations, or users, at a time."""
Processes: AfterValidator = at_most(64, "each is a process with memory of its own")
Attempts = Annotated[int, Field(ge=1), at_most(1_000, "after so many a system doesn't answer")]
_A_WEEK = at_most(604_800, "that is a week, in seconds")
Seconds = Annotated[float, Field(ge=0), _A_WEEK]
PositiveSeconds = Annotated[float, Field(gt=0), _A_WEEK]
PerSecond = Annotated[float, Field(gt=0), at_most(1_000_000, "one machine sends no more in a second")]
Count = Annotated[int, Field(ge=1), at_most(1_000_000_000, "more would take months")]
