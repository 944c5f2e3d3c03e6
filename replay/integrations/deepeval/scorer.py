"""DeepEval's metrics of single turns as scorers of a run, so that their numbers are grouped by depth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from deepeval.errors import MissingTestCaseParamsError
from deepeval.metrics import BaseMetric
from deepeval.metrics.utils import copy_metrics
from deepeval.test_case import LLMTestCase

from replay.core.record import TurnRecord
from replay.integrations.deepeval.cases import retrieved, tool_calls, without_pictures
from replay.scorers.reference_score import mean, why_unanswered
from replay.scorers.scorer import Unscored


@dataclass(frozen=True)
class DeepEvalScorer:
    """
    Scores each turn with *metric*: the question as it was asked, the answer, the first gold answer, the
    passages that were retrieved and the tools that were called. No such metric is shown the history.

    Raises:
        TypeError: *metric* judges whole conversations.
    """

    metric: Any
    at_once: int = 8
    """Turns that are measured side by side."""

    def __post_init__(self) -> None:
        if not isinstance(self.metric, BaseMetric):
            name = type(self.metric).__name__
            raise TypeError(
                f"{name} is no metric of single turns (BaseMetric); for one of conversations write "
                f"deepeval.evaluate(as_test_cases(run), [{name}(...)])"
            )

    is_mean = True

    def check_installed(self) -> None:
        """It is; and a scorer with this method isn't tried with made-up turns, which would ask a judge."""

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        """
        Return a score for each record with an answer; none where the metric misses something, as a gold
        answer, or fails: as of our own judges, what was asked of the others is not lost for it.
        """
        with ThreadPoolExecutor(self.at_once) as threads:
            return list(threads.map(self._measured, records))

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)

    @property
    def signature(self) -> str:
        model = self.metric.evaluation_model or "none"
        return f"deepeval:{type(self.metric).__name__}|model:{model}|deepeval:{version('deepeval')}"

    def _measured(self, record: TurnRecord) -> float | Unscored:
        if (why := why_unanswered(record)) is not None:
            return why
        case = LLMTestCase(
            name=f"{record.conversation}, depth {record.depth}",
            input=without_pictures(record.asked),
            actual_output=without_pictures(record.answer or ""),
            expected_output=next(map(without_pictures, record.gold_answers), None),
            retrieval_context=retrieved(record),
            tools_called=tool_calls(record),
        )
        (metric,) = copy_metrics([self.metric])  # or turns that are measured at once would share one's state
        try:
            return float(metric.measure(case, _show_indicator=False))
        except MissingTestCaseParamsError as error:
            return Unscored(reason=str(error))
        except Exception as error:  # noqa: BLE001 - anybody's metric, and any model's library below it
            return Unscored(reason=f"the metric failed: {type(error).__name__}: {error}")
