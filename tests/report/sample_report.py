"""A small run with a bit of everything, for the tests of reports."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from replay.core.record import Timing, TurnRecord
from replay.scorers.bleu import bleu1
from replay.scorers.word_overlap import em, f1, rouge_l
from replay.statistics.depth_table import depth_table
from replay.statistics.paired import hidden_points, policy_gaps
from replay.statistics.recorded import script_survival
from replay.statistics.run_numbers import Report
from replay.statistics.score_column import ScoreColumn, score_columns
from tests.scorers.turns import INVALID, VALID, skipped_turn, turn

GOLD = "the glass harbour of Port Ellis"
ANSWERS = ("the glass harbour of Port Ellis", "Port Ellis", "a harbour", "its old mill", "CANNOTANSWER")
LENGTHS = {f"c{n:02}": 3 + n % 3 for n in range(12)}


def records() -> list[TurnRecord]:
    """Twelve conversations of three to five turns; two of them stop early under every policy but gold."""
    found = []
    for policy in ("gold", "pred", "rewrite", "filter"):
        for n, (conversation, length) in enumerate(LENGTHS.items()):
            for depth in range(1, length + 1):
                if policy != "gold" and n in (4, 9) and depth > 2:
                    break
                found.append(_record(policy, conversation, n, depth))
    return found


def _record(policy: str, conversation: str, n: int, depth: int) -> TurnRecord:
    spot = {"system": "extractive", "policy": policy, "conversation": conversation, "depth": depth}
    invalid = depth > 1 and (n + depth) % 4 == 0
    drift = None if policy == "gold" else INVALID if invalid else VALID
    if policy == "filter" and invalid:
        return skipped_turn(GOLD, **spot)
    if policy != "gold" and n in (4, 9) and depth == 2:
        return turn(None, GOLD, drift=drift, **spot)
    worse = {"gold": 0, "pred": 2, "rewrite": 1, "filter": 1}[policy] * (depth > 1) * (n % 3 == 0)
    done_s = 0.02 + 0.001 * n + 0.002 * depth
    return turn(
        ANSWERS[(n * n + depth + worse) % len(ANSWERS)],
        *(() if depth == 3 and n % 6 == 0 else (GOLD,)),
        drift=drift,
        edit="rewritten" if policy == "rewrite" and invalid else "kept",
        timing=Timing(scheduled_s=0.0, sent_s=0.0, done_s=done_s),
        **spot,
    )


def columns(turns: list[TurnRecord]) -> dict[str, ScoreColumn]:
    return score_columns(turns, {"em": em(), "f1": f1(), "bleu1": bleu1(), "rouge_l": rouge_l()})


def report(**changes: object) -> Report:
    return replace(_report(), **changes)  # type: ignore[arg-type]


@cache
def _report() -> Report:
    turns = records()
    scores = columns(turns)
    gaps = policy_gaps(turns, scores)
    facts: dict[str, Any] = {
        "table": depth_table(turns, scores, LENGTHS),
        "gaps": tuple(gaps),
        "hidden": hidden_points(gaps, turns, scores),
        "survival": script_survival(turns),
        "loop_lag_s": {"extractive": 0.004},
        "signatures": {"rewrite": "policy:rewrite|coref:embedded-1|window:2|convreplay:0.1.0"},
    }
    return Report(**facts)
