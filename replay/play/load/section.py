"""
The ``load`` section of a scenario: how users arrive, how long it goes on, what the system has to keep; and
which conversations are played, in which order: the data set again and again, without end.

A draw depends on the order, the seed and its number alone. So every worker process draws the same sequence
and plays its share of it, and a resumed run goes on where it stood.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, cycle
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from replay.core.conversation import Conversation
from replay.core.settings.choice import (
    MOST_TOGETHER,
    Count,
    PerSecond,
    PositiveSeconds,
    Processes,
    Seconds,
    Together,
    at_most,
)
from replay.play.load.think import ThinkTime

Order = Literal["sequential", "shuffle", "sample"]
"""``sequential``: as in the data, again and again. ``shuffle``: each round all of them, in a random order.
``sample``: each draw any of them with the same probability, whatever was drawn before."""


def draw(conversations: Sequence[Conversation], order: Order, seed: int) -> Iterator[Conversation]:
    """
    Yield *conversations* endlessly.

    Args:
        conversations: At least one.
        order: ``sequential``: in their order again and again; ``shuffle``: each round in another order;
            ``sample``: drawn with replacement.
        seed: Of the random orders.
    """
    size = len(conversations)
    match order:
        case "sequential":
            yield from cycle(conversations)
        case "shuffle":
            for round_number in count():
                # A generator of its own for each round, so that no round depends on those before it.
                yield from random.Random(f"{seed}|draw|{round_number}").sample(conversations, size)
        case "sample":
            rng = random.Random(f"{seed}|draw")
            while True:
                yield conversations[rng.randrange(size)]


Profile = Literal["closed", "constant", "poisson", "trace", "recorded"]
TIMED = ("trace", "recorded")
"""Profiles whose arrivals are read, and not made."""


class _Section(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class SweepSection(_Section):
    """
    Several levels one after another: a list, or a search between two bounds for the highest that keeps
    all objectives.
    """

    levels: tuple[PerSecond, ...] = ()
    """Concurrencies of the profile ``closed``, conversations per second of the open ones."""
    go_on: bool = False
    """Play all levels, also those after one that missed an objective."""
    low: PerSecond | None = None
    """Where a search begins."""
    high: PerSecond | None = None
    """The highest level that a search tries."""
    resolution: float = Field(default=0.1, gt=0, lt=1)
    """A search ends when the bounds are this close to each other, relative to the lower one."""
    confirm: int = Field(default=1, ge=1, le=5)
    """How often a level has to miss before it counts as missed."""

    @model_validator(mode="after")
    def _one_or_the_other(self) -> SweepSection:
        if bool(self.levels) == (self.low is not None):
            raise ValueError("either levels, or low and high for a search, are expected")
        if self.low is not None and (self.high is None or self.high <= self.low):
            raise ValueError("a search needs high, above low")
        if self.levels and list(self.levels) != sorted(set(self.levels)):
            raise ValueError("levels rise from one to the next")
        return self


class LoadSection(_Section):
    """Conversations under load."""

    profile: Profile = "closed"
    """``closed``: as many users as ``concurrency`` says, each of whom begins the next conversation when
    the one before is over. ``constant`` and ``poisson``: conversations arrive at ``rate`` whatever the
    system does. ``trace``: they arrive as a file says. ``recorded``: each when it came, as the data says."""
    concurrency: Together = 8
    """Of the profile ``closed``: conversations at a time."""
    rate: PerSecond | None = None
    """Of ``constant`` and ``poisson``: conversations per second."""
    trace: str | None = None
    """Of ``trace``: the file, relative to the scenario's folder."""
    speed: Annotated[float, Field(gt=0), at_most(1_000_000, "all would arrive at once")] = 1.0
    """Of ``trace`` and ``recorded``: how many times as fast conversations arrive. Think times stay."""
    max_open: Together = 10_000
    """Conversations at a time at most in an open profile. Later ones wait, are counted, and their
    response times tell of it."""
    think: ThinkTime = ThinkTime()
    order: Order = "sequential"
    """Which conversation comes next: the data's order again and again, each round shuffled, or any."""
    ramp_s: Seconds = 0.0
    """In which the load rises evenly from nothing."""
    warmup_s: Seconds = 0.0
    """Not measured; the ramp belongs into it."""
    duration_s: PositiveSeconds | None = None
    """Measured seconds, after the warm-up. Turns not yet asked then are not asked any more."""
    conversations: Count | None = None
    """Conversations to begin; each is played to its end."""
    turns: Count | None = None
    """Turns to ask."""
    sweep: SweepSection | None = None
    slo: dict[str, Any] = Field(default_factory=dict)
    """Objectives, as in ``latency_p99_s: 3`` or ``f1_drop: 0.05``: what a level has to keep."""
    workers: Annotated[int, Field(ge=1), Processes] = 1
    """Processes that ask; 1 is this one."""
    keep_turns: int = Field(default=2_000_000, ge=0)
    """Turns kept one by one, with answers and scores; later ones only as counts and histograms."""

    @model_validator(mode="before")
    @classmethod
    def _confirms_nothing(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and "allow_host" in value:
            raise ValueError(
                "allow_host is not for a scenario to say, but for whoever starts it: "
                "replay stress SCENARIO --allow-host HOST"
            )
        return value

    @property
    def open(self) -> bool:
        """Return whether conversations arrive whatever the system does."""
        return self.profile != "closed"

    @property
    def most_generators(self) -> int:
        """So many at most have something to do at every level."""
        return MOST_TOGETHER if self.open else int(self._fewest_users)

    @property
    def _fewest_users(self) -> float:
        """Of the profile ``closed``, at the lowest level."""
        if self.sweep is None:
            return self.concurrency
        return self.sweep.levels[0] if self.sweep.low is None else self.sweep.low

    @model_validator(mode="after")
    def _complete(self) -> LoadSection:
        if self.profile in ("constant", "poisson") and self.rate is None and self.sweep is None:
            raise ValueError(f"profile {self.profile} needs rate, in conversations per second")
        if (self.profile == "trace") != (self.trace is not None):
            raise ValueError("trace, a file, belongs to profile: trace")
        if self.profile in TIMED and (self.sweep is not None or self.ramp_s):
            raise ValueError(
                f"profile {self.profile} has its own arrivals: no sweep and no ramp_s; speed makes it faster"
            )
        if self.profile not in TIMED and self.speed != 1:
            raise ValueError(
                f"speed belongs to the profiles {' and '.join(TIMED)}; {self.profile} has its load by itself"
            )
        if self.sweep is not None and self.duration_s is None:
            raise ValueError("a sweep needs duration_s, the seconds measured at each level")
        if self.sweep is not None and self.sweep.low is not None and not self.slo:
            raise ValueError("a search for the highest level needs objectives (slo)")
        if not self.open and self.sweep and any(level != int(level) for level in self.sweep.levels):
            raise ValueError("levels of profile closed are whole numbers of conversations")
        if not self.open and self.sweep and max(self.sweep.high or 1, *self.sweep.levels, 1) > MOST_TOGETHER:
            raise ValueError(
                f"a level of profile closed is {MOST_TOGETHER:,} users at a time at most: "
                "there are no more ports towards one address"
            )
        if self.warmup_s and self.duration_s is None:
            raise ValueError("warmup_s needs duration_s, the seconds measured after it")
        if not self.open and self.workers > self._fewest_users:
            raise ValueError(
                f"each of {self.workers} workers needs a user of its own, and there are "
                f"{self._fewest_users:g} at a time"
            )
        bounds = (self.duration_s, self.conversations, self.turns)
        if all(bound is None for bound in bounds) and self.profile not in TIMED:
            raise ValueError("how long? set duration_s, conversations or turns")
        return self
