"""Whether a level kept the objectives, found out as soon as it is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from replay.play.load.level import Level
from replay.play.load.objectives import Objective
from replay.scorers.observing import observe
from replay.scorers.scorer import Scorer, Unscored
from replay.statistics.score_column import ScoreColumn, in_parts, survey_scorers
from replay.store.store import RunStore

if TYPE_CHECKING:
    from replay.statistics.load.load_cell import AnswerTimes, LoadCell


class ObjectiveCheck:
    """Checks level after level; the first is what scores are compared with."""

    def __init__(
        self, objectives: Sequence[Objective], scorers: Mapping[str, Scorer[Any]], store: RunStore
    ) -> None:
        self._objectives = objectives
        self._scorers = {
            objective.measure: scorers[objective.measure]
            for objective in objectives
            if objective.kind in ("min", "drop")
        }
        self._store = store
        self._first_scores: Mapping[str, float | None] | None = None

    def check(self, level: Level, result: Mapping[str, Any]) -> dict[str, Any]:
        """
        Return ``met`` and, objective by objective, ``goals`` of a level whose records are durable.

        Empty where there are no objectives.
        """
        if not self._objectives:
            return {}
        from replay.load.numbers import read_window  # numpy: 16 MB that a run without objectives saves

        due_s = result["measured_from_s"], result["measured_to_s"]
        cell, times = read_window(self._store, level.index, due_s)
        scores = self._scores(*due_s)
        if self._first_scores is None:
            self._first_scores = scores
        values = {one.key: self._value(one, cell, times, scores) for one in self._objectives}
        found = [
            {
                "goal": str(objective),
                "key": objective.key,
                "value": values[objective.key],
                "met": objective.met(values),
            }
            for objective in self._objectives
        ]
        return {"met": all(one["met"] for one in found), "goals": found}

    def _value(
        self, objective: Objective, cell: LoadCell, times: AnswerTimes, scores: Mapping[str, float | None]
    ) -> float | None:
        match objective.kind:
            case "errors":
                return cell.error_share
            case "time":
                assert objective.percentile is not None
                found = times.of(objective.measure).quantiles([objective.percentile / 100])
                return found[0] if found else None
            case "min":
                return scores[objective.measure]
            case "drop":
                assert self._first_scores is not None
                first, now = self._first_scores[objective.measure], scores[objective.measure]
                return None if first is None or now is None else first - now

    def _scores(self, from_s: float, to_s: float) -> dict[str, float | None]:
        """Return the scores, by label, of the turns that were due in the window."""
        due = partial(self._store.records_due, from_s, to_s)
        scorers = survey_scorers(self._scorers, due)
        observed: dict[str, list[Any]] = {label: [] for label in scorers}
        for records in in_parts(due()) if scorers else ():
            for label, scorer in scorers.items():
                found = observe(label, scorer, records)
                observed[label] += [one for one in found if not isinstance(one, Unscored)]
        return {
            label: ScoreColumn(scorer=scorers[label], observed=scored).value(range(len(scored)))
            for label, scored in observed.items()
        }
