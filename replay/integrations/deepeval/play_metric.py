"""A metric of DeepEval that asks no model, and whose reason names the turns that speak against a play."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from deepeval.errors import MissingTestCaseParamsError
from deepeval.metrics import BaseConversationalMetric
from deepeval.test_case import ConversationalTestCase

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
    """What the metrics of a conversation have in common."""

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
