"""Exports of studies in which people compare answers and judge drift verdicts."""

from __future__ import annotations

import asyncio
import json

import pandas as pd

from replay.results.run import Run
from replay.study.running.export import export_study
from replay.viewer.pages import write_report
from tests.study.presets import test_compare, test_drift
from tests.study.presets.people import study_text, work
from tests.study.serving import begun, served


def exported(text, says, folder):
    """The export of the study *text* after both raters have said what they say."""

    async def play():
        async with served(database) as study:
            for rater in (1, 2):
                await work(study, rater, says)

    database = begun(text, folder)
    asyncio.run(play())
    export_study(database, folder / "out", resamples=20)
    return folder / "out"


def test_preferences_stand_in_numbers_and_reports(heron, tmp_path):
    text = study_text("compare", [heron], "comparisons: 10", "policies: [ferret]")
    out = exported(text, test_compare.longer, tmp_path)

    titles = [one["title"] for one in json.loads((out / "results.json").read_text())["tables"]]
    assert [one.title for one in Run(out).report(resamples=0).people.tables] == titles
    assert any("strength" in title.lower() or "prefer" in title.lower() for title in titles), titles
    write_report(out, tmp_path / "page.html", resamples=10)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert all(f">{title}</h3>" in page for title in titles)
    judged = pd.read_csv(out / "judgements.csv")
    assert len(judged.drop_duplicates(["rater", "task"])) == 20
    assert set(judged.policy) == {"ferret"}
    assert judged.depth.notna().all(), "both answers are to one question"


def test_a_detectors_quality_stands_beside_the_turns_that_it_is_about(heron, tmp_path):
    out = exported(study_text("drift", [heron], "questions: 10"), test_drift.says, tmp_path)

    judged = pd.read_csv(out / "judgements.csv")
    assert judged.depth.ge(1).all()
    run = Run(out)
    assert run.records() == Run(heron).records()
    people = run.report(resamples=0).people
    assert [one for one in people.scores.values() if one.by_people]
    assert run.turns()[next(iter(people.scores))].notna().any()
    assert any("verdict" in one.title.lower() or "detector" in one.title.lower() for one in people.tables)
