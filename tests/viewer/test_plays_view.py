"""The plays of a conversation beside each other, and the charts of a run with repeats."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from contextlib import closing
from functools import partial

import pytest

from replay.viewer.depth_view import depth_view
from replay.viewer.live_run import LiveRun
from replay.viewer.pages import write_report
from replay.viewer.run_numbers import numbers_of
from tests.viewer.runs import EVIL, make_run, page_of, record, seen, talk

REPEATS = {"times": 3, "mark": "~", "seeds": []}
ANSWERS = {1: ("Yes.", "Yes.", "No."), 2: ("Yes.", "Perhaps.", None)}
SCORES = {1: (1, 1, 0), 2: (1, 0, "failed")}


def a_run(folder, answers=ANSWERS, **facts):
    play = partial(record, policy="pred")
    ids = ["a", "a~2", "a~3"]
    records = [
        play(id, depth, answer=given[at], source=None if at == 0 else "a", repeat=at + 1)
        for at, id in enumerate(ids)
        for depth, given in answers.items()
    ]
    records.append(play("b", 1))
    values = {("pred", id, depth): SCORES[depth][at] for at, id in enumerate(ids) for depth in ANSWERS}
    scores = {"em": {**values, ("pred", "b", 1): 1}}
    return make_run(folder / "run", [talk("a"), talk("b")], records, scores, **facts)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return a_run(tmp_path_factory.mktemp("plays"), repeats=REPEATS)


def page(run, id="a~2"):
    return page_of(seen(run, id))


def test_a_play_s_page_leads_to_the_others(run):
    (links,) = re.findall(r'<nav class="plays".*?</nav>', page(run), re.DOTALL)
    assert re.findall(r'<a href="([^"]*)">(\d)</a>', links) == [
        ("conversation?id=a", "1"),
        ("conversation?id=a~3", "3"),
    ]
    assert '<b aria-current="page">2</b>' in links
    assert links.endswith("of 3</nav>")


def test_each_turn_says_how_often_it_passed_and_shows_every_answer(run):
    first, second = re.findall(r'<details class="plays">(.*?)</details>', page(run), re.DOTALL)
    assert "<summary>3 plays: em passes in 2 of 3, 2 answers</summary>" in first
    assert "<b>play 2, this one</b>" in first
    assert '<a href="conversation?id=a~3#turn-1">play 3</a>' in first
    assert first.count('<span class="tag">same answer</span>') == 1
    assert '<div class="answer" dir="auto">No.</div>' in first
    assert "em passes in 1 of 2, 2 answers" in second
    assert '<span class="tag bad">timed-out</span>' in second


def test_a_conversation_that_was_played_once_shows_nothing_of_it(tmp_path):
    assert 'class="plays"' not in page(a_run(tmp_path), "a")


def test_a_turn_that_only_one_play_has_come_to_has_nothing_beside_it(run):
    assert '<details class="plays">' not in page(run, "b")


def test_hostile_answers_of_other_plays_are_harmless(tmp_path):
    shown = page(a_run(tmp_path, {1: ("Yes.", "No.", EVIL)}, repeats=REPEATS))
    assert "&lt;script&gt;" in shown
    assert "<script" not in shown
    assert "<img" not in shown


def test_very_many_plays_show_some_and_the_one_looked_at(tmp_path):
    run = a_run(tmp_path, repeats={**REPEATS, "times": 50})
    view, last = seen(run, "a~3"), seen(run, "a")
    assert [link.repeat for link in view.plays.links] == list(range(1, 13))
    assert [link.repeat for link in last.plays.links if link.is_shown] == [1]
    assert view.plays.times == 50


def test_the_charts_of_pass_k_and_of_each_play(run):
    charts = {chart.id: chart for chart in depth_view(numbers_of(run, 50)).charts}
    passing = charts["pass-by-k"].variants["em"]
    rows = {(row.cells[2].shown, row.cells[3].shown): row.cells[5].shown for row in passing.rows}
    assert rows["depth 1", "3"] == "0.0"
    assert rows["depth 1", "1"] == "83.3"
    assert len([trace for trace in passing.traces if trace.get("fill") is None]) == 3
    spread = charts["spread-between-plays"].variants["em"]
    assert [row.cells[2].shown for row in spread.rows] == ["1", "2", "all"]
    assert spread.traces[0]["y"] == [100, 50, 0]


def test_questions_are_counted_once_however_often_they_were_asked(run):
    with closing(LiveRun("run", run)) as watched:
        counted = {fact.name: fact.value for fact in watched.facts().counted}
    assert (counted["conversations"], counted["turns"], counted["asks"]) == ("2", "3", "7")


def test_in_the_file_the_links_lead_to_places_of_the_file(run, tmp_path):
    write_report(run, tmp_path / "page.html", resamples=0)
    text = (tmp_path / "page.html").read_text("utf-8")
    assert 'id="pass-by-k"' in text
    (packed,) = re.findall(r'id="conversations-packed">(.*?)</script>', text)
    pages = [gzip.decompress(b64decode(one)).decode() for one in json.loads(packed)]
    place = {re.search(r"<code>(.*?)</code>", one)[1]: at for at, one in enumerate(pages)}
    assert f'<a href="#conversation-{place["a~3"]}">3</a>' in pages[place["a~2"]]
    assert f'<a href="#conversation-{place["a~3"]}-turn-2">play 3</a>' in pages[place["a~2"]]
