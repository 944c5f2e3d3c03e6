"""*Recorded against now*, in a file and in the viewer: both answers side by side, worse turns first."""

from __future__ import annotations

import asyncio
import re

import pytest

from replay.results.run import Run
from replay.runs.launch import run_async
from replay.viewer.conversation_view import address_in_viewer
from replay.viewer.pages import write_report
from replay.viewer.turn_view import recorded_view
from tests.scenario.keys import scenario, talk
from tests.viewer.conftest import computed
from tests.viewer.runs import EVIL as HOSTILE

EVIL = HOSTILE.replace("\udc80", "").replace("\x00", "")
TALK = talk("a", turns=3)
TALK["turns"][0]["gold_answers"] = [f"{EVIL} costs 12 euros."]
ANSWERS = ["Nobody knows what it costs these days.", "a said 2.", "I can't say."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("recorded")
    content = scenario(
        made, talks=[TALK], system={"settings": {"answers": ANSWERS}}, recorded={"same_from": 0.5}
    )
    return asyncio.run(run_async(content, runs=made / "runs")).folder


def test_worse_turns_come_first(folder):
    view = recorded_view(Run(folder).report(resamples=0).recorded, address_in_viewer)
    assert view is not None
    assert [(one.depth, one.verdict) for one in view.turns] == [(3, "worse"), (1, "differs")]
    assert (view.counts, view.of, view.several) == ([("worse", 1), ("differs", 1)], 2, False)


def test_a_file_has_both_answers_and_no_markup_of_theirs(folder, tmp_path):
    write_report(folder, tmp_path / "report.html", resamples=0)
    text = (tmp_path / "report.html").read_text("utf-8")
    page = text.partition('<section class="view" id="recorded">')[2].partition("</section>")[0]
    assert "Nobody knows what it costs these days." in page
    assert " costs 12 euros." in page
    assert EVIL not in page
    assert re.findall(r'<tr data-reason="(\w+)"><th scope="row"><a href="([^"]+)"', page) == [
        ("worse", "#conversation-0-turn-3"),
        ("differs", "#conversation-0-turn-1"),
    ]


async def test_the_viewer_has_a_page_of_its_own(http, viewer, served_runs, folder):
    (served_runs / "against-now").symlink_to(folder)
    page = await computed(http, f"{viewer}run/against-now/recorded")
    assert "Nobody knows what it costs these days." in page
    assert 'aria-current="page">Recorded against now</a>' in page


async def test_a_run_without_the_section_has_no_such_page(tmp_path):
    run = await run_async(scenario(tmp_path), runs=tmp_path / "runs")
    write_report(run.folder, tmp_path / "report.html", resamples=0)
    assert "Recorded against now" not in (tmp_path / "report.html").read_text("utf-8")
