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
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from replay.core.conversation import Conversation
from replay.core.errors import InputError
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
