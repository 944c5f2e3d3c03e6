"""
Columns of scores that no scorer made: judges' verdicts, read again for checks too, and what people said of
the turns of a run that comes out of a study.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from replay.core.decoding import convert_to
from replay.core.errors import RunError
from replay.core.record import TurnRecord
from replay.results.scoring import stored_score
from replay.scorers.checks.check import CheckInput, CheckOutcome
from replay.scorers.judges.judge import Case, HistoryShown, Level, Value
from replay.scorers.judges.judging import ONCE_PER_DIALOGUE, cases
from replay.scorers.judges.panel import count_votes
from replay.scorers.judges.tally import JudgeSummary
from replay.scorers.judges.yes_no import RUBRIC_EVIDENCE, RUBRIC_SIGNATURE
from replay.scorers.scorer import COSTS, Unscored
from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.people import HumanScores, read_people
from replay.statistics.score_column import ScoreColumn
from replay.store.store import RunStore

JUDGED = "judged"
"""The fact of a run that holds a ``JudgeSummary`` for each judge."""


def judged_of(store: RunStore) -> list[JudgeSummary]:
    """
    Return the summaries of the judges that *store* keeps, in order.

    Raises:
        RunError: they can't be read.
    """
    try:
        return convert_to(store.fact(JUDGED) or [], list[JudgeSummary])
    except msgspec.ValidationError as error:
        raise RunError(f'what "{store.path}" says of its judges can\'t be read: {error}') from error


def verdict_scores(store: RunStore) -> dict[str, StoredScorer]:
    """Return a scorer for each of the judges' columns, by the column's name."""
    return {
        column: StoredScorer(
            signature=one.signature,
            unit=unit,
            lower_is_better=unit in COSTS or column in one.lower_is_better,
        )
        for one in judged_of(store)
        for column, unit in one.units.items()
    }


def turn_cases(store: RunStore, level: Level = "turn") -> list[Case]:
    """Return the run's turns (or whole conversations), each with what its system was shown before it."""
    histories: dict[str, dict[str, HistoryShown]] = store.fact("histories") or {}
    conversations = {one.id: one for one in store.conversations()}
    return cases(level, store.records(), conversations, histories, store.endings())


_Play = tuple[str, str, str]


class StoredVerdicts:
    """The verdicts of one run, each judge's read when the first check asks for it."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        judged = judged_of(store)
        self._columns = [column for one in judged for column in one.units]
        self._of_rubrics = [one.name for one in judged if one.signature.startswith(RUBRIC_SIGNATURE)]
        self._scores = cache(self._read_scores)
        self._rubrics = cache(self._read_rubrics)

    def scores(self, column: str, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        """Return the values in a judge's *column* for *records*; see ``Verdicts.scores``."""
        if column not in self._columns:
            return [Unscored(reason=f'not judged by "{column}"')]
        found = self._scores(column)
        unjudged = Unscored(reason="not judged yet")
        values = [found.get((_play(record), record.depth), unjudged) for record in records]
        once = [value for value in values if value != ONCE_PER_DIALOGUE]
        return once or values

    def rubric(self, judge: str | None, seen: CheckInput) -> CheckOutcome:
        """Return the stored verdict on the rubric at ``seen.position``; see ``Verdicts.rubric``."""
        names = self._of_rubrics if judge is None else [one for one in self._of_rubrics if one == judge]
        if len(names) != 1:
            several = f"judged by {' and '.join(names)}; the rubric has to say by which"
            return CheckOutcome(
                passed=None, reason=several if names else f"not judged by {judge or 'a rubric judge'}"
            )
        last = seen.records[-1]
        place = (_play(last), 0 if seen.at_end else last.depth, seen.at_end, seen.position)
        return self._rubrics(names[0]).get(place, CheckOutcome(passed=None, reason="not judged yet"))

    def _read_scores(self, column: str) -> dict[tuple[_Play, int], float | Unscored]:
        return {
            ((one.conversation, one.system, one.policy), one.depth): one.value
            if one.unscored is None
            else Unscored(reason=one.unscored)
            for one in self._store.scores(column)
        }

    def _read_rubrics(self, judge: str) -> dict[tuple[_Play, int, bool, int], CheckOutcome]:
        found = {}
        for one in self._store.verdicts(judge):
            play = (one.conversation, one.system, one.policy)
            repeats = [repeat["votes"] for repeat in one.data["repeats"]]
            for number, rubric in enumerate(_rubrics_of(repeats)):
                depth = 0 if rubric["at_end"] else one.depth
                found[play, depth, rubric["at_end"], rubric["position"]] = _rubric_outcome(repeats, number)
        return found


def _play(record: TurnRecord) -> _Play:
    return record.conversation, record.system, record.policy


def _rubrics_of(repeats: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the rubrics of one verdict: each vote that could be had has all of them, in one order."""
    votes = [vote["evidence"].get(RUBRIC_EVIDENCE) for votes in repeats for vote in votes]
    return next(filter(None, votes), [])


def _rubric_outcome(repeats: Sequence[Sequence[Any]], number: int) -> CheckOutcome:
    """
    Return the outcome of rubric *number*: the majority of the votes in each repeat, then the repeats' mean.
    """
    replies: list[tuple[Value, str]] = []
    values = []
    for votes in repeats:
        cast = [_vote(vote, number) for vote in votes]
        replies += cast
        values.append(count_votes("majority", [met for met, _ in cast]))
    value = count_votes("mean", values)
    if isinstance(value, Unscored):
        return CheckOutcome(passed=None, reason=value.reason)
    if value == 0.5:
        return CheckOutcome(passed=None, reason="the repeats are evenly split")
    passed = value > 0.5
    agreeing = [text for met, text in replies if met == float(passed)]
    counts = Counter(met == float(passed) for met, _ in replies)
    share = "" if counts[False] == 0 else f" ({counts[True]} of {counts.total()} votes)"
    evidence = f'judged{share}: "{" ".join(agreeing[0].split()):.500}"'
    return CheckOutcome(passed=passed, evidence=evidence, lacking=not passed)


def _vote(vote: Any, number: int) -> tuple[Value, str]:
    rubrics = vote["evidence"].get(RUBRIC_EVIDENCE)
    if not rubrics:
        return _value(vote["values"][""]), ""
    return _value(rubrics[number]["met"]), rubrics[number]["reply"]


def _value(stored: Any) -> Value:
    return convert_to(stored, Unscored) if isinstance(stored, dict) else float(stored)


PEOPLE = "people"
"""The fact of a run that holds its study's ``HumanScores``."""

BY_PEOPLE = "people"
"""The fact ``ask`` of a run in which people asked what they liked, each conversation one system."""


def people_of(store: RunStore) -> HumanScores | None:
    """
    Return the numbers of the study that the run in *store* was exported from; None if it was from none.

    Raises:
        RunError: they can't be read.
    """
    fact = store.fact(PEOPLE)
    try:
        return None if fact is None else read_people(fact)
    except msgspec.ValidationError as error:
        raise RunError(f'what "{store.path}" says of people can\'t be read: {error}') from error


def people_scores(store: RunStore) -> dict[str, StoredScorer]:
    """Return a scorer for each score by people, by name; scoring a run again does not change these."""
    people = people_of(store)
    return {
        name: StoredScorer(signature=one.signature, unit=one.unit, lower_is_better=False)
        for name, one in (people.scores.items() if people else ())
        if one.by_people
    }


def keep_people(
    store: RunStore, people: HumanScores, records: Sequence[TurnRecord], columns: Mapping[str, ScoreColumn]
) -> None:
    """Keep *people* in the run, with people's *columns* over *records*, in the place of earlier ones."""
    store.begin_staging()
    for name, column in columns.items():
        store.add_scores(
            name, [stored_score(*one) for one in zip(records, column.observed, strict=True)], anew=True
        )
    signatures = {name: column.scorer.signature for name, column in columns.items()}
    store.publish_staged(columns, facts={PEOPLE: people.to_json()}, event=("scored", signatures))
