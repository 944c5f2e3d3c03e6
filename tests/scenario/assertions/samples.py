"""Runs whose numbers can be reckoned in the head, for the tests of assertions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replay.core.record import TurnRecord
from replay.scenario.assertions.evaluation import evaluate
from replay.scenario.assertions.findings import AssertionResult
from replay.scenario.assertions.section import Assertion
from replay.scorers.word_overlap import em
from replay.statistics.estimate import Sampling
from replay.statistics.group import Group, group_of, groups_in_order
from replay.statistics.run_comparison import ScoredRun
from replay.statistics.score_column import score_columns
from tests.scorers.turns import turn

GOLD = "yes"


def scored(records: Sequence[TurnRecord], name: str = "run") -> ScoredRun:
    scores = score_columns(records, {"em": em()})
    return ScoredRun(name=name, records=records, scores=scores, signatures={})


def answers(*by_conversation: str, name: str = "run", **changes: Any) -> ScoredRun:
    """A conversation for each text, a turn for each letter: ``+`` right, ``-`` wrong, ``!`` not answered."""
    records = [
        turn({"+": GOLD, "-": "no", "!": None}[letter], GOLD, depth=depth, conversation=f"c{n}", **changes)
        for n, letters in enumerate(by_conversation)
        for depth, letter in enumerate(letters, 1)
    ]
    return scored(records, name)


def judge(
    run: ScoredRun, *, baseline: ScoredRun | None = None, groups: Sequence[Group] = (), **asserted: Any
) -> AssertionResult:
    """What becomes of one assertion."""

    def opened(name: str) -> ScoredRun:
        assert baseline is not None, name
        return baseline

    (found,) = evaluate(
        run,
        [Assertion.model_validate({"metric": "em", **asserted})],
        groups=groups or groups_in_order(map(group_of, run.records)),
        baseline=opened,
        sampling=Sampling(seed=0, resamples=200),
    )
    return found
