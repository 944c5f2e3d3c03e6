"""Turns that tests of scorers share, and what a scorer makes of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replay.core.drift_evidence import Drift
from replay.scorers.scorer import Scorer
from replay.testing import skipped_turn, turn

__all__ = ["INVALID", "NOT_JUDGED", "VALID", "score_of", "skipped_turn", "turn"]

VALID = Drift(valid=True, mentions=(), mode="strict")
INVALID = Drift(valid=False, mentions=(), mode="strict")
NOT_JUDGED = Drift(valid=None, mentions=(), mode="strict", not_judged="the question is not English (German)")


def score_of(scorer: Scorer[float], answer: str, gold_answers: Sequence[str]) -> Any:
    """What *scorer* observes of a turn with *answer*."""
    [observed] = scorer.observe([turn(answer, *gold_answers)])
    return observed
