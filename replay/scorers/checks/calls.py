"""
``calls``: which tools the system called, with which arguments, in which order; or ``none``.

Calls are those in the steps before an answer; at a conversation's end, of all its turns. Arguments are those
that are named, unless ``exact`` is true; one is a JSON value that has to be the same (a mapping again: at
least), ``{regex: PATTERN}`` for a text that the pattern is found in, or ``{any: true}``. Several calls are
looked for in their order; others may stand between.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from replay.core.message import ToolCall
from replay.scorers.answer_text import compile_pattern
from replay.scorers.checks.check import CheckInput, CheckOutcome
from replay.scorers.checks.texts import matches_pattern

NONE = "none"


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
        return self.name if self.arguments is None else f"{self.name} with {_shown(self.arguments)}"

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
        listing = ", ".join(_called(call) for call in made)
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
    if calls == NONE:
        return Calls(wanted=())
    listed = calls if isinstance(calls, tuple) else (calls,)
    if not listed:
        raise ValueError(f"names no call; write {NONE} where no tool may be called")
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


def _called(call: ToolCall) -> str:
    arguments = call.parsed_arguments
    return f"{call.name} with {_shown(arguments)}" if arguments not in ({}, "") else call.name


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
