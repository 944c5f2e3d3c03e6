"""
How far the drift verdicts of runs are those of people, and how many rewordings are right.

The truth is what most of a question's raters say, those who can't say left out; without a majority a
question is undecided. Rare verdicts were drawn as often as common ones, so each question stands for as many
as its stratum has for each that was drawn from it (inverse-probability weights): precision, recall, F1, Brier
score and calibration are those of all questions of the runs whose two histories differ, and not of the drawn
ones. Where both are the same, as before a first question, there is nothing to detect. Turns of several
policies that met a question after the same history were judged once, and count each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from replay.core.history import Exchange
from replay.statistics.detector_quality import DetectorCase, DetectorQuality, detector_quality_of
from replay.statistics.interval import UndefinedNumber, value_or_none
from replay.statistics.people import HumanNumber, HumanTable, number_text
from replay.statistics.rater_agreement import RatedItem, majority
from replay.study.preset import HumanScore, Results, TaskContent
from replay.study.presets.run_turns import AnsweredTask, RunTurn, answered_tasks, results_of_turns
from replay.study.tasks import StudyState

MEANING = "meaning"
"""The first screen."""
UNSURE = "can't say"
WITH_PROBABILITY = "strict"
"""The mode whose probabilities are more than 0 and 1."""


def rewording(number: int) -> str:
    """Return the screen of the rewording with that *number*, from 1."""
    return f"rewording-{number}"


class DriftQuestion(TaskContent, frozen=True, kw_only=True):
    """What a task of this preset holds: a question after two histories."""

    kind: ClassVar[str] = "drift"
    turns: tuple[RunTurn, ...]
    """All that met it so."""
    gold: tuple[Exchange, ...]
    own: tuple[Exchange, ...]
    weight: float = 1.0
    """How many questions of the runs it stands for."""

    @property
    def recorded_question(self) -> str:
        return self.turns[0].record.recorded

    @property
    def depth(self) -> int:
        return self.turns[0].record.depth

    @property
    def is_drifted(self) -> bool:
        """Return whether a verdict says that it has drifted."""
        return any(turn.record.drift is not None and turn.record.drift.invalid for turn in self.turns)

    @property
    def rewordings(self) -> list[str]:
        """The rewritten questions that policies asked instead, without duplicates."""
        return list(
            dict.fromkeys(turn.record.asked for turn in self.turns if turn.record.edit == "rewritten")
        )


Judged = AnsweredTask[DriftQuestion]


def meanings(one: Judged) -> dict[str, str | None]:
    """Return the judgement on the question's meaning by rater; None for those who can't say."""
    said = {rater: str(by_step[MEANING].answer["meaning"]) for rater, by_step in one.judgements.items()}
    return {rater: None if meaning == "unsure" else meaning for rater, meaning in said.items()}


def of_rewording(one: Judged, text: str, name: str) -> dict[str, int]:
    """Return the judgement *name* (``right`` or ``fluent``) on the rewording *text*, 0 or 1, by rater."""
    screen = rewording(one.content.rewordings.index(text) + 1)
    return {rater: int(by_step[screen].answer[name]) for rater, by_step in one.judgements.items()}


def drift_results(state: StudyState) -> Results:
    """Return all that comes out of the study."""
    judged = answered_tasks(state, DriftQuestion)
    return results_of_turns(
        state,
        [turn for one in judged for turn in one.content.turns],
        scores=_scores(judged),
        rated=_rated_items(judged),
        tables=[*_quality_tables(judged), _disputed_table(judged)] if judged else (),
    )


def _scores(judged: Sequence[Judged]) -> list[HumanScore]:
    found = []
    for one in judged:
        for turn in one.content.turns:
            for rater, meaning in meanings(one).items():
                value = None if meaning is None else float(meaning == "same")
                found.append(HumanScore(name="human_same", turn=turn.key, rater=rater, value=value))
            if turn.record.edit == "rewritten":
                for name in ("right", "fluent"):
                    for rater, value in of_rewording(one, turn.record.asked, name).items():
                        score = HumanScore(
                            name=f"human_rewrite_{name}", turn=turn.key, rater=rater, value=float(value)
                        )
                        found.append(score)
    return found


def _rated_items(judged: Sequence[Judged]) -> dict[str, list[RatedItem]]:
    """Return questions and rewordings, each once, however many turns met them."""
    found: dict[str, list[RatedItem]] = defaultdict(list)
    for one in judged:
        conversation, depth = one.content.turns[0].record.recorded_conversation, one.content.depth
        found["human_same"].append(
            RatedItem(
                conversation=conversation,
                depth=depth,
                ratings=meanings(one),
                id=one.content.recorded_question,
            )
        )
        for text in one.content.rewordings:
            for name in ("right", "fluent"):
                found[f"human_rewrite_{name}"].append(
                    RatedItem(
                        conversation=conversation, depth=depth, ratings=of_rewording(one, text, name), id=text
                    )
                )
    return found


def _cases(judged: Sequence[Judged]) -> dict[str, list[DetectorCase]]:
    """Return each turn as a case, by what gave its verdict."""
    runs = {turn.run for one in judged for turn in one.content.turns}
    found: dict[str, list[DetectorCase]] = defaultdict(list)
    for one in judged:
        most = majority(meanings(one).values())
        for turn in one.content.turns:
            record, drift = turn.record, turn.record.drift
            assert drift is not None
            right: object = None
            if record.edit == "rewritten":
                right = majority(of_rewording(one, record.asked, "right").values())
            detector = drift.mode if len(runs) == 1 else f"{drift.mode} ({turn.run})"
            found[detector].append(
                DetectorCase(
                    conversation=record.recorded_conversation,
                    depth=record.depth,
                    truth=None if isinstance(most, UndefinedNumber) else most == "changed",
                    detected=drift.invalid,
                    probability=drift.probability if drift.mode == WITH_PROBABILITY else None,
                    rewrite_right=None
                    if right is None or isinstance(right, UndefinedNumber)
                    else bool(right),
                    weight=one.content.weight,
                )
            )
    return found


def _quality_tables(judged: Sequence[Judged]) -> list[HumanTable]:
    rows: list[tuple[Any, ...]] = []
    bins: list[tuple[Any, ...]] = []
    for detector, cases in sorted(_cases(judged).items()):
        # As published, of questions that had drifted indeed; only found ones are reworded.
        rightly = [one if one.truth else replace(one, rewrite_right=None) for one in cases]
        of_all, of_rightly = detector_quality_of(cases), detector_quality_of(rightly)
        pairs = zip((*of_all.depths, of_all.total), (*of_rightly.depths, of_rightly.total), strict=True)
        for row, other in pairs:
            counts = (row.true_positives, row.false_positives, row.false_negatives, row.true_negatives)
            numbers = (row.precision, row.recall, row.f1, row.accuracy, row.brier)
            rewrites = (row.rewrites_right, other.rewrites_right)
            rows.append(
                (
                    *(detector, row.depth or "all", *counts, row.undecided),
                    *(number_text(one, "share") for one in numbers[:4]),
                    number_text(row.brier),
                    *(number_text(one, "share") for one in rewrites),
                )
            )
        bins += _bins(detector, of_all)
    quality = HumanTable(
        title="Drift verdicts against people",
        columns=(
            *("detector", "depth", "hits", "false alarms", "misses", "rightly valid", "undecided"),
            *("precision", "recall", "F1", "accuracy", "Brier score"),
            *("rewordings right", "of hits reworded right"),
        ),
        rows=rows,
        caption="Counts are of judged turns; shares are weighted, so that they are of all turns of the runs "
        "whose two histories differ. People's majority is taken for the truth. Intervals resample "
        "conversations. Other tables are of the turns that were drawn, without weights. For comparison: "
        "Li et al. (2022) report precision and recall of 72 % for their detector, and 68 % of the "
        "rewordings of its hits as right.",
    )
    calibration = HumanTable(
        title="Calibration of the drift probability",
        columns=("detector", "from", "to", "turns", "mean probability", "drifted, say people"),
        rows=bins,
        caption="Turns with similar probabilities: how often the detector and how often people say that they "
        "have drifted; the last row of a detector is the expected calibration error. Weighted.",
    )
    return [quality, *([calibration] if bins else [])]


def _bins(detector: str, quality: DetectorQuality) -> list[tuple[Any, ...]]:
    if not quality.calibration:
        return []
    rows: list[tuple[Any, ...]] = [
        (
            *(detector, one.lowest, one.highest, one.observed.items),
            HumanNumber(value=one.mean_probability, unit="share"),
            number_text(one.observed, "share"),
        )
        for one in quality.calibration
    ]
    error = HumanNumber(
        value=value_or_none(quality.calibration_error), unit="share", note="expected calibration error"
    )
    items = sum(one.observed.items for one in quality.calibration)
    return [*rows, (detector, "all", "all", items, error, None)]


def _disputed_table(judged: Sequence[Judged]) -> HumanTable:
    """Return a table of the questions on which detector and people differ, or people among themselves."""
    rows = []
    for one in judged:
        said_by, question = meanings(one), one.content
        most = majority(said_by.values())
        if most != ("changed" if question.is_drifted else "same") or len(set(said_by.values())) > 1:
            said = "; ".join(f"{rater}: {meaning or UNSURE}" for rater, meaning in said_by.items())
            verdict = "changed" if question.is_drifted else "same"
            record = question.turns[0].record
            rows.append((record.conversation, question.depth, question.recorded_question, verdict, said))
    return HumanTable(
        title="Questions to look at",
        columns=("conversation", "depth", "question", "detector", "people"),
        rows=rows,
        caption="Where the detector and most people differ, or people among themselves.",
    )
