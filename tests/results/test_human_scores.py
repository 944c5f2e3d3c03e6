"""A run that keeps what people said of its turns."""

from __future__ import annotations

import io
import shutil

import pytest
from rich.console import Console

from replay.core.errors import RunError
from replay.report.export import report_json
from replay.report.text import print_report
from replay.results.judging import score
from replay.results.run import Run
from replay.results.verdict_columns import keep_people
from replay.scorers.scorer import Unscored
from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.people import HumanNumber, HumanScores, HumanTable, PeopleScore
from replay.statistics.score_column import ScoreColumn
from replay.store.store import RunStore

PEOPLE = HumanScores(
    study="check",
    raters=2,
    scores={"human_correct": PeopleScore(unit="share", signature="people:2|mean", by_people=True)},
    tables=[
        HumanTable(
            title="Kept table", columns=("what", "share"), rows=[("x", HumanNumber(value=0.5, unit="share"))]
        )
    ],
)


@pytest.fixture
def judged(quick_run, tmp_path):
    """A run whose first turn two people called right."""
    folder = tmp_path / "judged"
    shutil.copytree(quick_run, folder)
    records = Run(folder).records()
    observed = [1.0, *[Unscored(reason="nobody judged it")] * (len(records) - 1)]
    scorer = StoredScorer(signature="people:2|mean", unit="share", lower_is_better=False)
    store = RunStore(folder, write=True)
    keep_people(store, PEOPLE, records, {"human_correct": ScoreColumn(scorer=scorer, observed=observed)})
    store.close()
    return folder


def test_peoples_scores_stand_beside_automatic_ones(judged):
    frame = Run(judged).depth_table(resamples=0)

    first = frame[(frame.policy == "gold") & frame.depth.isna()].iloc[0]
    assert (first.human_correct, first.human_correct_scored) == (1.0, 1)
    assert first.f1_scored > 1


def test_scoring_anew_leaves_what_people_said(judged):
    scored = score(judged, [])
    assert list(scored.scorers()) == ["human_correct"]
    assert scored.depth_table(resamples=0).human_correct.notna().any()


def test_a_report_shows_what_people_said_in_every_form(judged):
    report = Run(judged).report(resamples=0)
    stream = io.StringIO()
    print_report(report, Console(file=stream, width=200))

    assert 'People: 2 raters, study "check"' in stream.getvalue()
    assert "Kept table" in stream.getvalue()
    assert report_json(report)["people"] == PEOPLE.to_json()


def test_a_run_without_people_says_nothing_of_them(quick_run):
    report = Run(quick_run).report(resamples=0)
    assert report.people is None
    assert "people" not in report_json(report)


def test_what_is_no_study_is_told(judged):
    store = RunStore(judged, write=True)
    store.set_fact("people", {"raters": "many"})
    store.close()
    with pytest.raises(RunError, match="of people can't be read"):
        Run(judged).scorers()
