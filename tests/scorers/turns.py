"""Turn records with only the fields said that a test is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replay.core.drift_evidence import Drift
from replay.core.record import Timing, TurnRecord
from replay.scorers.scorer import Scorer

VALID = Drift(valid=True, mentions=(), mode="strict")
INVALID = Drift(valid=False, mentions=(), mode="strict")


def turn(answer: str | None = "yes", *gold_answers: str, depth: int = 1, **changes: Any) -> TurnRecord:
    """An answered turn; one without an answer has timed out unless told otherwise."""
    facts: dict[str, Any] = {
        "system": "s",
        "policy": "pred",
        "conversation": "c1",
        "depth": depth,
        "turn": f"t{depth}",
        "recorded": "Why?",
        "asked": "Why?",
        "edit": "kept",
        "drift": None,
        "outcome": "timed-out" if answer is None else "answered",
        "answer": answer,
        "gold_answers": gold_answers,
        "timing": Timing(scheduled_s=0.0, sent_s=0.0, done_s=0.5),
    }
    return TurnRecord(**{**facts, **changes})


def score_of(scorer: Scorer[float], answer: str, gold_answers: Sequence[str]) -> Any:
    """What *scorer* observes of a turn with *answer*."""
    [observed] = scorer.observe([turn(answer, *gold_answers)])
    return observed


def skipped_turn(*gold_answers: str, depth: int = 1, **changes: Any) -> TurnRecord:
    """A turn that the ``filter`` policy did not ask."""
    facts = {"outcome": "skipped", "edit": "filtered", "drift": INVALID, "attempts": 0, "timing": None}
    return turn(None, *gold_answers, depth=depth, **{**facts, **changes})
