"""
The ``load`` section of a scenario: how users arrive, how long it goes on, what the system has to keep; how
long a user waits after an answer before the next question; and which conversations are played, in which
order: the data set again and again, without end.

A draw depends on the order, the seed and its number alone. So every worker process draws the same sequence
and plays its share of it, and a resumed run goes on where it stood.

The kinds of think time are those of load tests: none, fixed, exponential (a user without memory, as in closed
queueing networks), log-normal (as times between people's actions are often found to be distributed) and as
recorded in the data. A conversation's think times come from a generator of its own, so that they don't depend
on which conversations are played beside it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, cycle
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from replay.core.conversation import Conversation
from replay.core.errors import InputError
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
from replay.datasets.turn_metadata import ANSWERED, ASKED, seconds_of

_SETTINGS = {
    "none": ((), ()),
    "fixed": (("seconds",), ()),
    "exponential": (("mean_s",), ()),
    "lognormal": (("sigma",), ("mean_s", "median_s")),
    "recorded": ((), ("scale", "max_s")),
}
"""What each kind needs, and what else it takes."""
_MAY_BE_0 = ("seconds", "max_s")


class ThinkTime(BaseModel):
    """How long users wait before their next question; a bare number is a fixed time in seconds."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    kind: Literal["none", "fixed", "exponential", "lognormal", "recorded"] = "none"
    """How the time is drawn; ``recorded`` takes it from the data's timestamps."""
    seconds: float | None = None
    """Of ``fixed``."""
    mean_s: float | None = None
    """Of ``exponential``; of ``lognormal`` either this or the median."""
    median_s: float | None = None
    """Of ``lognormal``."""
    sigma: float | None = None
    """Of ``lognormal``: standard deviation of the natural logarithm; 68 % of the times lie within a factor of
    exp(sigma) of the median."""
    scale: float | None = None
    """Of ``recorded``: every time is multiplied by it, 0.5 for users who are twice as quick."""
    max_s: float | None = None
    """Of ``recorded``: longer times are cut to this, after scaling, as people leave and come back the next
    day."""
    after: Literal["answer", "question"] = "answer"
    """What the time is counted from. ``answer``: users read it first. ``question``: turns keep a beat of
    their own, and one whose moment passes before the answer is there is asked late, which shows in the
    response time."""

    @model_validator(mode="before")
    @classmethod
    def _spelt_out(cls, value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return {"kind": "fixed", "seconds": value} if value else {"kind": "none"}
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _sound(self) -> ThinkTime:
        given = self.model_dump(exclude={"kind", "after"}, exclude_none=True)
        needed, more = _SETTINGS[self.kind]
        if missing := sorted(set(needed) - given.keys()):
            raise ValueError(f"kind {self.kind} needs {', '.join(missing)}")
        if surplus := sorted(given.keys() - {*needed, *more}):
            raise ValueError(f"kind {self.kind} has no {', '.join(surplus)}")
        if self.kind == "lognormal" and (self.median_s is None) == (self.mean_s is None):
            raise ValueError("a log-normal think time needs either median_s or mean_s")
        for name, value in given.items():
            if value < 0 or (value == 0 and name not in _MAY_BE_0):
                expected = "0 or more" if name in _MAY_BE_0 else "a positive number"
                raise ValueError(f"{name} is {value:g}, expected {expected}")
        if self.kind == "none" and self.after == "question":
            raise ValueError("after: question needs a think time; without one all turns would be due at once")
        return self

    def gaps_s(self, conversation: Conversation, rng: random.Random) -> tuple[float, ...]:
        """
        Return the think times of *conversation* in seconds: before turn 2, before turn 3, ...

        Drawn at once, nothing but the times has to be kept while the conversation is played (a generator
        has 2.5 kB, which counts where ten thousand are open). Also the check before a run that recorded
        times are there.

        Raises:
            InputError: they are to be read from *conversation*, which doesn't say.
        """
        return tuple(self._gap_s(conversation, depth, rng) for depth in range(2, len(conversation.turns) + 1))

    def _gap_s(self, conversation: Conversation, depth: int, rng: random.Random) -> float:
        if self.kind == "recorded":
            gap = _recorded_gap_s(conversation, depth) * (1.0 if self.scale is None else self.scale)
            return gap if self.max_s is None else min(gap, self.max_s)
        if self.kind == "lognormal":
            assert self.sigma is not None
            # The median is exp(mu), the mean exp(mu + sigma^2 / 2).
            if self.median_s is not None:
                return rng.lognormvariate(math.log(self.median_s), self.sigma)
            assert self.mean_s is not None
            return rng.lognormvariate(math.log(self.mean_s) - self.sigma**2 / 2, self.sigma)
        if self.kind == "exponential":
            assert self.mean_s is not None
            return rng.expovariate(1 / self.mean_s)
        return self.seconds or 0.0


def think_rng(seed: int, play_number: int) -> random.Random:
    """Return the random generator of the think times of the *play_number*-th play of a run."""
    return random.Random(f"{seed}|think|{play_number}")


def _recorded_gap_s(conversation: Conversation, depth: int) -> float:
    """
    Return the seconds from the recorded answer to the question at *depth*.

    Where the data doesn't say when an answer came, from question to question; such a gap holds the
    time that the recorded system took as well.
    """
    asked = recorded_s(conversation, ASKED, depth)
    if asked is None:
        raise _unknown(conversation, depth)
    before = recorded_s(conversation, ANSWERED, depth - 1)
    if before is None:
        before = recorded_s(conversation, ASKED, depth - 1)
    if before is None:
        raise _unknown(conversation, depth - 1)
    if asked < before:
        raise InputError(
            f'conversation "{conversation.id}": turn {depth} was asked {before - asked:g} s before turn '
            f"{depth - 1} was over, so its recorded think time is unknown; correct the timestamps or "
            "choose another kind of think time"
        )
    return asked - before


def recorded_s(conversation: Conversation, name: str, depth: int) -> float | None:
    """
    Return when the turn at *depth* was asked or answered in the recording, in seconds; None if unknown.

    Args:
        conversation: Has the times in its metadata, a list with one entry for each turn.
        name: The key of that list in the metadata.
        depth: The turn, 1 for the first.

    Raises:
        InputError: the list is malformed or has another length than the turns.
    """
    times: Any = conversation.metadata.get(name)
    if times is None:
        return None
    if not isinstance(times, list | tuple) or len(times) != len(conversation.turns):
        raise InputError(
            f'conversation "{conversation.id}": metadata.{name} is not a list with one entry for each of '
            f"its {len(conversation.turns)} turns"
        )
    time = times[depth - 1]
    try:
        return None if time is None else seconds_of(time)
    except ValueError as error:
        raise InputError(
            f'conversation "{conversation.id}": metadata.{name}[{depth - 1}]: {error}'
        ) from error


def _unknown(conversation: Conversation, depth: int) -> InputError:
    return InputError(
        f'conversation "{conversation.id}": there is no timestamp of turn {depth}, so recorded think times '
        "are unknown; give every turn a timestamp or choose another kind of think time"
    )


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
