"""
DeepEval: a run's plays as its test cases, our scores, checks and drift as its metrics, and its metrics as our
scorers.

Of a case made of a run our metrics give what the run has: nothing is scored or compared anew. In any other
case a turn of the assistant says in its metadata what the right answers were, as ``{"gold_answers": [...]}``.

Imports the package ``deepeval`` (extra ``deepeval``), so nothing else of ours imports this.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from deepeval.errors import MissingTestCaseParamsError
from deepeval.metrics import BaseConversationalMetric
from deepeval.test_case import ConversationalTestCase

from replay.core.errors import InputError
from replay.integrations.deepeval.cases import (
    DeepEvalScorer,
    as_conversations,
    as_test_cases,
    import_conversations,
    play_scores,
    turn_facts,
)
from replay.report.printing import shorten
from replay.runs.driver import made_scorers
from replay.runs.logged_drift import drift as drift_between
from replay.statistics.score_column import score_columns

__all__ = [
    "ChecksMetric",
    "DeepEvalScorer",
    "DriftMetric",
    "ScoreMetric",
    "as_conversations",
    "as_test_cases",
]


MOST = 3
"""Turns that a reason shows."""


class MetricResult(NamedTuple):
    """What a metric found."""

    score: float
    said: str
    """In a few words."""
    by_depth: dict[str, float]
    against: Sequence[str] = ()
    """The turns that speak against it, a text for each."""


class PlayMetric(BaseConversationalMetric):  # type: ignore[misc]
    """A metric that asks no model, and whose reason names the turns that speak against a play."""

    async_mode = False
    score: float | None
    score_breakdown: dict[str, float]
    reason: str | None
    success: bool | None

    def __init__(self, threshold: float | None) -> None:
        """With *threshold* or more a conversation succeeds; None: it is only measured."""
        self.threshold = threshold

    def measure(self, test_case: ConversationalTestCase, *args: Any, **kwargs: Any) -> float:
        """
        Return the score; ``reason``, ``success`` and ``score_breakdown``, by depth, are the metric's.

        Raises:
            MissingTestCaseParamsError: the case has nothing to look at.
        """
        found = self.look(test_case)
        shown = [*found.against[:MOST]]
        if more := len(found.against) - len(shown):
            shown.append(f"and {more} more")
        self.score, self.score_breakdown = found.score, found.by_depth
        self.reason = "; ".join([found.said, *shown])
        self.success = self.reaches(found.score, test_case)
        return found.score

    async def a_measure(self, test_case: ConversationalTestCase, *args: Any, **kwargs: Any) -> float:
        """Run ``measure`` in a thread of its own."""
        return await asyncio.to_thread(self.measure, test_case)

    def is_successful(self) -> bool | None:
        return self.success

    @abstractmethod
    def look(self, case: ConversationalTestCase) -> MetricResult:
        """
        Return the metric's result for *case*.

        Raises:
            MissingTestCaseParamsError: the case has nothing to look at.
        """

    def reaches(self, score: float, case: ConversationalTestCase) -> bool | None:
        """Return whether *score* succeeds; None without a threshold."""
        return None if self.threshold is None else score >= self.threshold


def nothing(found: str) -> MissingTestCaseParamsError:
    """Return the error for a case with nothing to look at."""
    # DeepEval's own way to leave a metric out where it doesn't apply.
    return MissingTestCaseParamsError(
        f"{found}; ErrorConfig(skip_on_missing_params=True) leaves such cases out"
    )


WIDTH = 100
"""Characters of each text in a reason."""


class ScoreMetric(PlayMetric):
    """
    A column of the run (``f1``, ``check.contains``, a judge's), over the conversation; in a case of no run
    the scorer of that name.

    Of what costs, as latencies, *threshold* is the most. The turns that don't reach it are named.
    """

    def __init__(self, column: str, threshold: float | None = 0.5) -> None:
        super().__init__(threshold)
        self.column = column

    @property
    def __name__(self) -> str:
        return self.column

    def look(self, case: ConversationalTestCase) -> MetricResult:
        known, facts = _facts(case, self.column)
        if self.column not in known["scores"]:
            has = ", ".join(known["scores"]) or "none"
            raise InputError(f'the run of {case.name} has no scores "{self.column}" (it has: {has})')
        score = known["scores"][self.column]
        unscored = Counter(one["unscored"][self.column] for one in facts if self.column in one["unscored"])
        reasons = ", ".join(f"{count} without: {why}" for why, count in unscored.items())
        if score is None:
            why = reasons or "it is not defined over them"
            raise nothing(f"the turns of {case.name} have no {self.column} ({why})")
        values = [(one, value) for one in facts if (value := one["scores"].get(self.column)) is not None]
        said = f"{score:.3g} over {len(values)} turn{'s' * (len(values) != 1)}"
        return MetricResult(
            score,
            f"{said} ({reasons})" if reasons else said,
            {f"depth {one['depth']}": value for one, value in values},
            [
                f"depth {one['depth']} {_quote_first(one['asked'])}: {value:.3g}, expected "
                f"{_quote_first(*one['gold_answers'])}, got {_quote_first(one['answer'])}"
                for one, value in values
                if self.reaches(value, case) is False
            ],
        )

    def reaches(self, score: float, case: ConversationalTestCase) -> bool | None:
        costs = self.column in (case.metadata or {}).get("lower_is_better", ())
        return (
            score <= self.threshold if costs and self.threshold is not None else super().reaches(score, case)
        )


class DriftMetric(PlayMetric):
    """
    The share of recorded questions that still mean the same in the conversation as it went.

    In a case of no run they are compared as ``replay.drift`` does, with the default settings.
    """

    def __init__(self, threshold: float | None = 1.0) -> None:
        super().__init__(threshold)

    @property
    def __name__(self) -> str:
        return "drift"

    def look(self, case: ConversationalTestCase) -> MetricResult:
        facts = _facts(case)[1] if _is_of_run(case) else _drift_facts(case)
        verdicts = {one["depth"]: one["valid"] for one in facts if one["valid"] is not None}
        if not verdicts:
            raise nothing(
                f"no question of {case.name} was compared: the policy gold compares none, and a case of no "
                'run needs {"gold_answers": [...]} in the metadata of assistant turns'
            )
        bad = [
            f"depth {one['depth']} {_quote_first(one['recorded'])}: {one['drift']}"
            for one in facts
            if one["valid"] is False
        ]
        said = f"{len(verdicts) - len(bad)} of {len(verdicts)} questions mean the same"
        by_depth = {f"depth {depth}": float(valid) for depth, valid in verdicts.items()}
        return MetricResult(sum(verdicts.values()) / len(verdicts), said, by_depth, bad)


class ChecksMetric(PlayMetric):
    """The share of passed ones among the checks that the data makes and that could be looked at."""

    def __init__(self, threshold: float | None = 1.0) -> None:
        super().__init__(threshold)

    @property
    def __name__(self) -> str:
        return "checks"

    def look(self, case: ConversationalTestCase) -> MetricResult:
        checks = (case.metadata or {}).get("checks", ())
        looked = [one for one in checks if one["passed"] is not None]
        if not looked:
            raise nothing(f"none of the {len(checks)} checks of {case.name} was looked at")
        passed: dict[str, list[bool]] = {}
        for one in looked:
            passed.setdefault(one["where"], []).append(one["passed"])
        bad = [
            f"{one['where']} {_quote_first(one['asked'])}: {one['rule']}: {one['evidence']}"
            for one in looked
            if not one["passed"]
        ]
        said = f"{len(looked) - len(bad)} of {len(looked)} checks passed"
        if unlooked := len(checks) - len(looked):
            said += f" ({unlooked} not looked at)"
        by_depth = {where: sum(found) / len(found) for where, found in passed.items()}
        return MetricResult(1 - len(bad) / len(looked), said, by_depth, bad)


def _is_of_run(case: ConversationalTestCase) -> bool:
    return "not_asked" in (case.metadata or {})


def _facts(case: ConversationalTestCase, *scorers: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the results of ``play_scores`` and of ``turn_facts``, the latter by depth."""
    if _is_of_run(case):
        turns = [turn.metadata for turn in case.turns if "depth" in (turn.metadata or {})]
        return case.metadata, sorted(turns + case.metadata["not_asked"], key=lambda one: one["depth"])
    records = import_conversations(case).records
    scores = score_columns(records, made_scorers(scorers))
    return play_scores(scores), turn_facts(records, scores)


def _drift_facts(case: ConversationalTestCase) -> list[dict[str, Any]]:
    talk = import_conversations(case)
    if not any(turn.gold_answers for turn in talk.gold.turns):
        return []
    return turn_facts(drift_between([talk.gold], [talk.own]).records, {})


def _quote_first(*texts: str | None) -> str:
    """Return the first of *texts*, which may be none."""
    text = next(iter(texts), None)
    return "nothing" if text is None else f'"{shorten(text, WIDTH)}"'
