"""Turn records with only the fields given that a test is about."""

from __future__ import annotations

from typing import Any

from replay.core.drift_evidence import Drift
from replay.core.record import Timing, TurnRecord


def turn(answer: str | None = "yes", *gold_answers: str, depth: int = 1, **fields: Any) -> TurnRecord:
    """
    Return an answered turn of conversation ``c1``; with None for an answer, one that timed out.

    *fields* are of ``TurnRecord`` and override the defaults.
    """
    made_up: dict[str, Any] = {
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
    return TurnRecord(**{**made_up, **fields})


def skipped_turn(*gold_answers: str, depth: int = 1, **fields: Any) -> TurnRecord:
    """Return a turn that the policy ``filter`` did not ask."""
    drift = Drift(valid=False, mentions=(), mode="strict")
    skipped = {"outcome": "skipped", "edit": "filtered", "drift": drift, "attempts": 0, "timing": None}
    return turn(None, *gold_answers, depth=depth, **{**skipped, **fields})
