"""
Checks of what is known of an answer beside its words: ``drifts``, the verdict on its question;
``latency_below_s`` and ``ttft_below_s``, what it took, as the scorers ``latency`` and ``ttft``; ``rubric``
and ``judge``, what judges found; ``calls``, which tools the system called, with which arguments, in which
order; or ``none``. Asking judges is not a check's business: they are a scenario's, are asked after scoring,
and what they found is read here.

Calls are those in the steps before an answer; at a conversation's end, of all its turns. Arguments are those
that are named, unless ``exact`` is true; one is a JSON value that has to be the same (a mapping again: at
least), ``{regex: PATTERN}`` for a text that the pattern is found in, or ``{any: true}``. Several calls are
looked for in their order; others may stand between.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from replay.core.expectation import NO_TIMES
from replay.core.message import ToolCall
from replay.core.settings.choice import PositiveSeconds
from replay.scorers.answer_text import compile_pattern
from replay.scorers.checks.check import CheckInput, CheckOutcome
from replay.scorers.checks.texts import matches_pattern
from replay.scorers.operational import Operational
from replay.scorers.scorer import Unscored


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """A judge says that the answer, or the conversation, does what the rubric says."""

    text: str
    judge: str | None = None
    """Its name in the scenario; the only judge of rubrics where this is left out."""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("is empty; say what the answer has to do")

    def look(self, seen: CheckInput) -> CheckOutcome:
        return seen.verdicts.rubric(self.judge, seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedValue:
    """A judge's number is within bounds; of a judge of turns, at a conversation's end, every turn's."""

    name: str
    column: str | None = None
    """One of its numbers, where it gives several: ``coherence`` of ``geval.coherence``."""
    at_least: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        if self.at_least is None and self.at_most is None:
            raise ValueError("asks for nothing; give at_least, at_most or both")

    @property
    def full_name(self) -> str:
        """The number's column in tables."""
        return f"{self.name}.{self.column}" if self.column else self.name

    def look(self, seen: CheckInput) -> CheckOutcome:
        values = seen.verdicts.scores(self.full_name, seen.records)
        for value in values:
            if isinstance(value, Unscored):
                return CheckOutcome(passed=None, reason=value.reason)
        numbers = [value for value in values if not isinstance(value, Unscored)]
        outside = [n for n in numbers if not self._within(n)]
        bounds = (("at least", self.at_least), ("at most", self.at_most))
        wanted = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
        shown = ", ".join(f"{n:.4g}" for n in outside or numbers)
        evidence = f"{self.full_name} {shown}; expected {wanted}" if outside else f"{self.full_name} {shown}"
        of_all = len(values) < len(seen.records)  # a skipped turn may have cost the conversation its number
        return CheckOutcome(passed=not outside, evidence=evidence, lacking=bool(outside) and of_all)

    def _within(self, number: float) -> bool:
        low = self.at_least is None or number >= self.at_least
        return low and (self.at_most is None or number <= self.at_most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifts:
    """Some question was found to have lost its meaning, or none was."""

    wanted: bool

    def look(self, seen: CheckInput) -> CheckOutcome:
        verdicts = [record.drift.valid if record.drift is not None else None for record in seen.records]
        if None in verdicts:
            return CheckOutcome(passed=None, reason="drift was not judged")
        drifted = False in verdicts
        found = "no longer means" if drifted else "still means"
        return CheckOutcome(passed=drifted is self.wanted, evidence=f"the question {found} the same")


@dataclass(frozen=True, slots=True, kw_only=True)
class Below:
    """Every answer took less than so many seconds."""

    measure: Literal["latency", "ttft"]
    limit_s: float

    def look(self, seen: CheckInput) -> CheckOutcome:
        if any(record.cached for record in seen.records):
            return CheckOutcome(passed=None, reason=NO_TIMES)
        values = Operational(measure=self.measure).observe(seen.records)
        taken: list[tuple[float, int]] = []
        for record, value in zip(seen.records, values, strict=True):
            if isinstance(value, Unscored):
                return CheckOutcome(passed=None, reason=value.reason)
            taken.append((value, record.depth))
        slowest, depth = max(taken)
        place = f" at depth {depth}, the slowest" if seen.at_end else ""
        return CheckOutcome(passed=slowest < self.limit_s, evidence=f"{self.measure} {slowest:.3f} s{place}")


def latency_below_s(limit_s: PositiveSeconds) -> Below:
    """``latency_below_s``: seconds from sending the question to the answer's end."""
    return Below(measure="latency", limit_s=limit_s)


def ttft_below_s(limit_s: PositiveSeconds) -> Below:
    """``ttft_below_s``: seconds from sending the question to the first token."""
    return Below(measure="ttft", limit_s=limit_s)


NO_CALLS = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCall:
    """One call to be found."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: str
    arguments: dict[str, Any] | None = None
    exact: bool = False
    """Whether other arguments may not be there."""

    def __post_init__(self) -> None:
        if self.exact and self.arguments is None:
            raise ValueError("exact is about arguments; say which, {} for none")
        _check_patterns(self.arguments)

    def __str__(self) -> str:
        return self.name if self.arguments is None else f"{self.name} with {_value_text(self.arguments)}"

    def fits(self, call: ToolCall) -> bool:
        """Return whether *call* is one that is wanted."""
        if call.name != self.name:
            return False
        return self.arguments is None or _fits(self.arguments, call.parsed_arguments, self.exact)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """All of some calls in their order; no call at all where there are none."""

    wanted: tuple[WantedCall, ...]

    def look(self, seen: CheckInput) -> CheckOutcome:
        made = [call for record in seen.records for step in record.steps for call in step.tool_calls]
        listing = ", ".join(_call_text(call) for call in made)
        evidence = f"called {listing}" if made else "called no tool"
        if not self.wanted:
            return CheckOutcome(passed=not made, evidence=evidence)
        rest = iter(made)
        # The earliest call that fits leaves most for the next; `any` goes on where it stopped.
        missing = next((one for one in self.wanted if not any(map(one.fits, rest))), None)
        if missing is None:
            return CheckOutcome(passed=True, evidence=evidence)
        late = " after the one before it" if any(map(missing.fits, made)) else ""
        return CheckOutcome(passed=False, evidence=f"{evidence}; expected {missing}{late}", lacking=True)


def calls(calls: str | WantedCall | tuple[str | WantedCall, ...]) -> Calls:
    """``calls``: a tool's name, a mapping with ``name``, or a list of those; or ``none``."""
    if calls == NO_CALLS:
        return Calls(wanted=())
    listed = calls if isinstance(calls, tuple) else (calls,)
    if not listed:
        raise ValueError(f"names no call; write {NO_CALLS} where no tool may be called")
    return Calls(wanted=tuple(WantedCall(name=one) if isinstance(one, str) else one for one in listed))


def _fits(wanted: Any, found: Any, exact: bool) -> bool:
    """Return whether *found* is what is *wanted*."""
    match wanted:
        case {"any": True, **rest} if not rest:
            return True
        case {"regex": str(pattern), **rest} if not rest:
            return isinstance(found, str) and matches_pattern(pattern, found)
        case Mapping():
            if not isinstance(found, Mapping) or (exact and wanted.keys() != found.keys()):
                return False
            return all(key in found and _fits(value, found[key], exact) for key, value in wanted.items())
        case list():
            if not isinstance(found, list) or len(wanted) != len(found):
                return False
            return all(_fits(one, other, exact) for one, other in zip(wanted, found, strict=True))
        case _:  # to Python, true is 1
            return isinstance(wanted, bool) == isinstance(found, bool) and bool(wanted == found)


def _check_patterns(wanted: Any) -> None:
    match wanted:
        case {"regex": pattern, **rest} if not rest:
            compile_pattern(pattern if isinstance(pattern, str) else json.dumps(pattern))
        case Mapping():
            for value in wanted.values():
                _check_patterns(value)
        case list():
            for value in wanted:
                _check_patterns(value)


def _call_text(call: ToolCall) -> str:
    arguments = call.parsed_arguments
    return f"{call.name} with {_value_text(arguments)}" if arguments not in ({}, "") else call.name


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
