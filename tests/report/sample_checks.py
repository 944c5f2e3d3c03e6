"""Checks of two conversations: one fails early, one ends before its last turn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replay.core.expectation import NO_CHECK, CheckResult
from replay.core.record import TurnRecord
from replay.results.checking import CHECKS
from replay.results.scoring import stored_score
from replay.scorers.scorer import Unscored
from replay.store.store import RunStore
from tests.scorers.turns import VALID
from tests.viewer.runs import drifted, make_run, record, talk


def check(conversation: str, depth: int, verdict: str, **more: Any) -> CheckResult:
    """A check ``contains "refund"``: ``+`` passed, ``-`` failed, anything else is why it is unchecked."""
    known: dict[str, Any] = {
        "system": "made",
        "policy": "pred",
        "at_end": False,
        "position": 0,
        "kind": "contains",
        "called": None,
        "value": "refund",
        "passed": {"+": True, "-": False}.get(verdict),
        "reason": None if verdict in "+-" else verdict,
        "evidence": {"+": 'found "refund"', "-": 'no "refund" in the answer'}.get(verdict),
        "asked": f"Question {depth}?",
        "answer": "No.",
    }
    return CheckResult(conversation=conversation, depth=depth, **{**known, **more})


def polite(conversation: str, depth: int, verdict: str, **more: Any) -> CheckResult:
    """Another of the same turn, with a name of its own."""
    named = {"position": 1, "kind": "rubric", "called": "polite", "value": "Is it polite?"}
    return check(conversation, depth, verdict, **{**named, **more})


SAMPLE = [
    check("a", 1, "+"),
    polite("a", 1, "-", evidence="it is curt"),
    check("a", 2, "-", drift=drifted()),
    check("b", 1, "-"),
    check("b", 2, "never reached", asked=None, answer=None),
    polite("b", 2, "never reached", asked=None, answer=None, at_end=True, position=0),
]


def checked_run(folder: Path, checks: Sequence[CheckResult] = SAMPLE) -> Path:
    """A run with the two conversations and *checks*, and with the columns that such a run has."""
    played = [("a", 1), ("a", 2), ("b", 1)]
    records = [
        record(c, depth, "pred", "No.", drift=VALID if depth == 1 else drifted()) for c, depth in played
    ]
    make_run(folder, [talk("a"), talk("b")], records, {"f1": {("pred", *turn): 0.5 for turn in played}})
    store = RunStore(folder, write=True)
    store.add_checks(checks)
    columns = list(dict.fromkeys(name for one in checks for name in one.columns))
    for name in columns:
        store.add_scores(name, [stored_score(one, value_of(name, one, checks)) for one in records])
    store.set_fact(CHECKS, {name: f"{name}:all-hold" for name in columns})
    store.settle()
    store.close()
    return folder


def value_of(name: str, turn: TurnRecord, checks: Sequence[CheckResult]) -> float | Unscored:
    """Of the column *name*: whether all *checks* of *turn* hold."""
    here = [
        one.passed
        for one in checks
        if name in one.columns
        and (one.conversation, one.policy, one.depth) == (turn.conversation, turn.policy, turn.depth)
    ]
    return Unscored(reason=NO_CHECK) if not here or None in here else float(all(here))
