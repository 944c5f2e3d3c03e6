"""
Think time: how long a user waits after an answer before the next question.

The kinds are those of load tests: none, fixed, exponential (a user without memory, as in closed
queueing networks), log-normal (as times between people's actions are often found to be distributed) and
as recorded in the data.

A conversation's think times come from a generator of its own, so that they don't depend on which
conversations are played beside it.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any, Protocol

from replay.core.conversation import Conversation
from replay.core.errors import InputError
from replay.datasets.timestamps import ANSWERED, ASKED, seconds_of


class ThinkTime(Protocol):
    """How long users think."""

    def gap_s(self, conversation: Conversation, depth: int, rng: random.Random) -> float:
        """
        Seconds between the answer to turn *depth* - 1 and the question of turn *depth*, at least 2.

        Called once for each depth, in order, with the conversation's own *rng*.

        Raises:
            InputError: it is to be read from *conversation*, which doesn't say.
        """
        ...


def think_rng(seed: int, play_number: int) -> random.Random:
    """The generator of the think times of the *play_number*-th play of a run."""
    return random.Random(f"{seed}|think|{play_number}")


def gaps_s(think: ThinkTime, conversation: Conversation, rng: random.Random) -> tuple[float, ...]:
    """
    All think times of *conversation*: before turn 2, before turn 3, ...

    Drawn at once, nothing but the times has to be kept while the conversation is played (a generator
    has 2.5 kB, which counts where ten thousand are open). Also the check before a run that recorded
    times are there.

    Raises:
        InputError: as ``gap_s``.
    """
    return tuple(think.gap_s(conversation, depth, rng) for depth in range(2, len(conversation.turns) + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoThinkTime:
    """The next question follows at once."""

    def gap_s(self, conversation: Conversation, depth: int, rng: random.Random) -> float:
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedThinkTime:
    """Always the same."""

    seconds: float

    def __post_init__(self) -> None:
        _check(self.seconds, "seconds", at_least_0=True)

    def gap_s(self, conversation: Conversation, depth: int, rng: random.Random) -> float:
        return self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialThinkTime:
    """Exponentially distributed."""

    mean_s: float

    def __post_init__(self) -> None:
        _check(self.mean_s, "mean_s")

    def gap_s(self, conversation: Conversation, depth: int, rng: random.Random) -> float:
        return rng.expovariate(1 / self.mean_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogNormalThinkTime:
    """Log-normally distributed: mostly short, sometimes very long. Give the median or the mean."""

    sigma: float
    """Standard deviation of the natural logarithm; 68 % of the times lie within a factor of exp(sigma)
    of the median."""
    median_s: float | None = None
    mean_s: float | None = None

    def __post_init__(self) -> None:
        _check(self.sigma, "sigma")
        if (self.median_s is None) == (self.mean_s is None):
            raise ValueError("a log-normal think time needs either median_s or mean_s")
        name = "median_s" if self.mean_s is None else "mean_s"
        _check(getattr(self, name), name)

    @property
    def mu(self) -> float:
        """Mean of the natural logarithm. The median is exp(mu), the mean exp(mu + sigma^2 / 2)."""
        if self.mean_s is not None:
            return math.log(self.mean_s) - self.sigma**2 / 2
        assert self.median_s is not None
        return math.log(self.median_s)

    def gap_s(self, conversation: Conversation, depth: int, rng: random.Random) -> float:
        return rng.lognormvariate(self.mu, self.sigma)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedThinkTime:
    """
    As in the data: from the recorded answer to the next question.

    Where the data doesn't say when an answer came, from question to question; such a gap holds the
    time that the recorded system took as well.
    """

    scale: float = 1.0
    """Every time is multiplied by it: 0.5 for users who are twice as quick."""
    max_s: float | None = None
    """Longer times are cut to this, after scaling: people leave and come back the next day."""

    def __post_init__(self) -> None:
        _check(self.scale, "scale")
        if self.max_s is not None:
            _check(self.max_s, "max_s", at_least_0=True)

    def gap_s(self, conversation: Conversation, depth: int, rng: random.Random) -> float:
        asked = _time(conversation, ASKED, depth)
        if asked is None:
            raise _unknown(conversation, depth)
        before = _time(conversation, ANSWERED, depth - 1)
        if before is None:
            before = _time(conversation, ASKED, depth - 1)
        if before is None:
            raise _unknown(conversation, depth - 1)
        if asked < before:
            raise InputError(
                f'conversation "{conversation.id}": turn {depth} was asked {before - asked:g} s before turn '
                f"{depth - 1} was over, so its recorded think time is unknown; correct the timestamps or "
                "choose another kind of think time"
            )
        gap = (asked - before) * self.scale
        return gap if self.max_s is None else min(gap, self.max_s)


def _time(conversation: Conversation, name: str, depth: int) -> float | None:
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


def _check(value: float, name: str, *, at_least_0: bool = False) -> None:
    if not math.isfinite(value) or value < 0 or (value == 0 and not at_least_0):
        raise ValueError(
            f"{name} is {value:g}, expected {'0 or more' if at_least_0 else 'a positive number'}"
        )
