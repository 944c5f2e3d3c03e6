"""What people said in a study, on the pages of the run that comes out of it."""

from __future__ import annotations

import asyncio
import re

import pytest

from replay.results.run import Run
from replay.statistics.people import HumanScores, PeopleScore
from replay.viewer.pages import render, write_report
from replay.viewer.people_view import people_view
from tests.viewer.conftest import computed, get
from tests.viewer.runs import EVIL, make_run, people_run, record, talk


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return people_run(tmp_path_factory.mktemp("people") / "judged")


@pytest.fixture(scope="module")
def view(folder):
    return people_view(Run(folder).report(resamples=0).people)


def test_people_are_drawn_with_intervals_and_a_score_beside_them(view):
    (variant,) = view.chart.variants.values()
    assert list(view.chart.variants) == ["human_correct, f1"]
    assert [t["name"] for t in variant.traces if t.get("showlegend", True)] == [
        "gold",
        "gold, f1",
        "pred",
        "pred, f1",
    ]
    curve = next(t for t in variant.traces if t.get("name") == "gold")
    assert (curve["x"], curve["y"]) == ([1, 2, 3], [100, 50, 0])
    band = variant.traces[0]
    assert (band["fill"], band["y"][:3]) == ("toself", [50, 25, 0])
    assert [cell.shown for cell in variant.rows[3].cells] == [
        *("made", "gold", "all", "6", "50.0", "25.0", "75.0"),
        *("100.0", "50.0", "100.0"),
    ]


def test_a_missing_number_says_why_and_a_long_table_is_folded(view):
    agreement, long = map(view.rows, view.people.tables)
    assert agreement[0].cells[2].shown == "– (all ratings are equal)"
    assert agreement[1].cells[2].exact == 0.598
    assert long[0].cells[1].shown == "50.0 % [25.0, 75.0]"
    assert render("people.html", people=view).count("<details><summary>21 rows</summary>") == 1


def test_points_are_not_drawn_over_shares():
    scores = {
        "human_rating": PeopleScore(unit="", signature="people", by_people=True),
        "f1": PeopleScore(unit="share", signature="f1", by_people=False),
    }
    view = people_view(HumanScores(study="x", raters=1, scores=scores))
    assert list(view.chart.variants) == ["human_rating"]


def test_the_file_has_the_page_where_there_was_a_study_alone(folder, tmp_path):
    plain = make_run(tmp_path / "plain", [talk("a")], [record("a", 1)], {})
    pages = {}
    for run in (folder, plain):
        write_report(run, tmp_path / "page.html", resamples=10)
        pages[run] = (tmp_path / "page.html").read_text("utf-8")

    assert '<a href="#people">People</a>' in pages[folder]
    assert "2 people in the study <b><bdi>Covers gold?</bdi></b>" in pages[folder]
    assert "#people" not in pages[plain]


def test_a_hostile_study_is_shown_as_it_is(tmp_path):
    name = EVIL.replace("\udc80", "").replace("\x00", "")
    write_report(people_run(tmp_path / "evil", study=name), tmp_path / "evil.html", resamples=10)
    page = (tmp_path / "evil.html").read_text("utf-8")
    assert "<svg onload" not in page
    assert "<img src=x" not in page
    assert "&lt;svg onload=window.hacked=3&gt;" in page


async def test_the_viewer_serves_the_page_once_it_is_computed(http, viewer, served_runs, quickstart):
    await asyncio.to_thread(people_run, served_runs / "judged")
    page = await computed(http, f"{viewer}run/judged/people")
    assert "Agreement among raters" in page
    assert re.search(r'<a href="/run/judged/people" aria-current="page">People</a>', page)
    assert ">People<" not in (await get(http, f"{viewer}run/{quickstart.name}/"))[1]
