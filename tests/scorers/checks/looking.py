"""What a check finds in answers that a test gives it."""

from __future__ import annotations

from typing import Any

from replay.core.expectation import Expectation
from replay.core.message import Message, ToolCall
from replay.core.record import TurnRecord
from replay.scorers.checks.check import CheckInput, CheckOutcome, Verdicts
from replay.scorers.checks.kinds import check_of
from replay.testing.cases import turn


def look(kind: str, value: Any, *answers: str, **more: Any) -> CheckOutcome:
    """What the check finds in *answers*: of a turn if there is one, else of a conversation that is over."""
    return look_at(kind, value, *[turn(answer, depth=n) for n, answer in enumerate(answers, 1)], **more)


def look_at(kind: str, value: Any, *records: TurnRecord, verdicts: Verdicts | None = None) -> CheckOutcome:
    """The same of whole records."""
    more = {} if verdicts is None else {"verdicts": verdicts}
    return check_of(Expectation(kind=kind, value=value)).look(
        CheckInput(records=records, at_end=len(records) > 1, **more)
    )


def calling(*calls: tuple[str, str], depth: int = 1) -> TurnRecord:
    """A turn in which tools were called by name, with arguments as JSON text."""
    made = tuple(ToolCall(id=f"{n}", name=name, arguments=text) for n, (name, text) in enumerate(calls))
    return turn("Done.", depth=depth, steps=(Message(role="assistant", tool_calls=made),) if made else ())
