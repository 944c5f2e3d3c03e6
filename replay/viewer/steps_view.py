"""What happened between a question and its answer, for a reader: calls of tools, and what they came to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from replay.core.message import Message, ToolCall
from replay.viewer.numbers import duration
from replay.viewer.text_limits import TextLimits
from replay.web.pages import ClippedText

_NAMES = 6
_NAME = 80
_CALLS = 20
_LAID_OUT = 4_000
"""Longer arguments stay on their line: laid out, each level of nesting costs what all before it cost."""


class CallView(NamedTuple):
    """A call of a tool."""

    name: str
    arguments: ClippedText


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """One message."""

    who: str
    took: str
    """How long what brought it took; empty where that isn't known."""
    text: ClippedText
    calls: Sequence[CallView]
    more_calls: int
    left_out: str
    """Kinds of content that are no text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsView:
    """The steps of a turn."""

    title: str
    shown: Sequence[StepView]
    more: int
    """Steps that are not shown."""


def steps_view(
    steps: Sequence[Message], times_s: Sequence[tuple[float, float]], room: TextLimits
) -> StepsView | None:
    """*steps*, which took *times_s* where that is known, as far as there is *room*; None without any."""
    if not steps:
        return None
    shown = steps[: room.steps]
    # To look up what was recorded takes no time worth a word.
    lasted = [end - begin for begin, end in times_s[: len(shown)]]
    took = [duration(one) if one >= 0.001 else "" for one in lasted]
    took += [""] * (len(shown) - len(took))
    return StepsView(
        title=_title(steps),
        shown=[_step(*one, room) for one in zip(shown, took, strict=True)],
        more=len(steps) - len(shown),
    )


def _title(steps: Sequence[Message]) -> str:
    names = [call.name[:_NAME] for step in steps for call in step.tool_calls]
    if not names:
        return f"{len(steps)} step{'s' * (len(steps) != 1)} before the answer"
    listed = ", ".join(names[:_NAMES]) + (", …" if len(names) > _NAMES else "")
    return f"{len(names):,} call{'s' * (len(names) != 1)} of tools: {listed}"


def _step(step: Message, took: str, room: TextLimits) -> StepView:
    return StepView(
        who=f"{step.role} {step.name[:_NAME]}" if step.name else step.role,
        took=took,
        text=room.clip_passage(step.text),
        calls=[
            CallView(call.name[:_NAME], room.clip_passage(laid_out(call)))
            for call in step.tool_calls[:_CALLS]
        ],
        more_calls=max(0, len(step.tool_calls) - _CALLS),
        left_out=", ".join(step.left_out[:_NAMES]),
    )


def laid_out(call: ToolCall) -> str:
    """The arguments of *call* with a line for each; as they are where they are no object, or very long."""
    arguments = call.parsed_arguments if len(call.arguments) <= _LAID_OUT else None
    if not isinstance(arguments, dict):
        return call.arguments
    try:
        return json.dumps(arguments, indent=2, ensure_ascii=False)
    except RecursionError:
        return call.arguments
