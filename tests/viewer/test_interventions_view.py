"""What users did in a run, one row each: on the viewer's page and in the file."""

from __future__ import annotations

import asyncio
import re
from html import unescape

import pytest

from replay.core.message import Message
from replay.core.record import Intervention, RejectedWording
from replay.store.page_queries import RunBrowser
from replay.viewer import viewer
from replay.viewer.conversation_view import address_in_viewer
from replay.viewer.pages import write_report
from replay.viewer.turn_view import interventions_view
from tests.driving import screen, shown, until
from tests.viewer.conftest import get, viewing_here
from tests.viewer.runs import EVIL, make_run, record, talk

SKIPPED = Intervention(
    occasion="drifted",
    evidence="87 % likely to have drifted",
    move="skip",
    note="it has thoughts in it",
    rejected=(RejectedWording(text="(thinking)", reason="it has thoughts in it"),),
)
DRIFTED = Intervention(
    occasion="drifted", evidence="60 %", move="rephrasing", said="Where is order 7?", source="rewriting"
)
ASKED_BACK = Intervention(
    occasion="asked-back", evidence="which order?", move="answer", said="It's 7.", source="facts"
)
REFUSED = Intervention(
    occasion="refused", evidence="i can't", move="rephrasing", said="Please stop it.", source="standalone"
)
SAID = [
    Message(role="assistant", text="Which order?"),
    Message(role="user", text="It's 7."),
    Message(role="assistant", text="I can't."),
    Message(role="user", text="Please stop it."),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    records = [
        record("b", 2, "react", "Stopped.", interventions=(DRIFTED, ASKED_BACK, REFUSED), steps=tuple(SAID)),
        record("a", 1, "react"),
        record("a", 2, "react", None, outcome="skipped", edit="filtered", interventions=(SKIPPED,)),
        record("a", 1, "pred"),
    ]
    return make_run(tmp_path_factory.mktemp("react") / "user", [talk("a"), talk("b")], records, {})


@pytest.fixture
def view(folder):
    browser = RunBrowser(folder)
    yield lambda **chosen: interventions_view(browser, address_in_viewer, **chosen)
    browser.close()


def texts(row):
    return (row.record.conversation, row.said.occasion, row.said.said, row.reply)


def test_each_intervention_has_what_was_said_and_the_reply_to_that(view):
    found = view()
    assert found.counts == [("drifted", 2), ("asked-back", 1), ("refused", 1)]
    assert [texts(row) for row in found.rows] == [
        ("a", "drifted", None, None),
        ("b", "drifted", "Where is order 7?", "Which order?"),
        ("b", "asked-back", "It's 7.", "I can't."),
        ("b", "refused", "Please stop it.", "Stopped."),
    ]
    first = found.rows[0]
    assert (first.said.note, first.said.rejected[0].text) == ("it has thoughts in it", "(thinking)")
    assert (first.record.depth, first.said.source) == (2, "")
    assert found.several is False


def test_one_reason_alone_and_a_part_of_the_turns(view):
    found = view(occasion="refused")
    assert [texts(row)[2] for row in found.rows] == ["Please stop it."]
    assert (found.turns, found.shown) == (1, 1)
    assert len(view(occasion="no such reason").rows) == 4
    later = view(first=1, count=1)
    assert ({row.record.conversation for row in later.rows}, later.turns) == ({"b"}, 2)


def test_the_file_lists_them_and_leads_to_their_turns(folder, tmp_path):
    write_report(folder, tmp_path / "page.html", resamples=10)
    page = unescape((tmp_path / "page.html").read_text("utf-8"))
    assert '<a href="#interventions">Interventions</a>' in page
    assert page.count('<tr data-reason="') == 4
    assert re.search(
        r'<tr data-reason="refused"><th scope="row"><a href="#conversation-\d-turn-2">b, 2</a>', page
    )
    plain = make_run(tmp_path / "plain", [talk("a")], [record("a", 1)], {})
    write_report(plain, tmp_path / "plain.html", resamples=10)
    assert "Interventions" not in (tmp_path / "plain.html").read_text("utf-8")


def test_the_file_shows_one_reason_at_a_time(browser, folder, tmp_path):
    write_report(folder, tmp_path / "page.html", resamples=10)
    browser.get((tmp_path / "page.html").as_uri() + "#interventions")
    rows = "table.interventions tbody tr"
    until(browser, lambda d: len(shown(d, rows)) == 4)
    for reason, count in (("refused", 1), ("drifted", 2), ("", 4)):
        browser.execute_script(
            "const one = document.querySelector('form.interventions select'); one.value = arguments[0];"
            "one.dispatchEvent(new Event('change', {bubbles: true}))",
            reason,
        )
        assert len(shown(browser, rows)) == count
    with screen(browser, 390):
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
        assert (
            browser.execute_script("return document.querySelector('table.interventions').scrollWidth") <= 390
        )


def test_a_hostile_text_is_only_text(tmp_path):
    evil = Intervention(
        occasion="refused",
        evidence=EVIL,
        move="answer",
        said=EVIL,
        source=EVIL,
        rejected=(RejectedWording(text=EVIL, reason=EVIL),),
    )
    records = [record("a", 1, "react", EVIL, recorded=EVIL, interventions=(evil,))]
    write_report(make_run(tmp_path / "evil", [talk("a", 1)], records, {}), tmp_path / "e.html", resamples=10)
    page = (tmp_path / "e.html").read_text("utf-8")
    assert "<svg onload" not in page
    assert "<img src=x" not in page


async def test_the_viewer_filters_and_leafs(http, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(viewer, "PAGE_ROWS", 1)
    plain = await asyncio.to_thread(make_run, tmp_path / "plain", [talk("a")], [record("a", 1)], {})
    async with viewing_here(folder, plain, below=tmp_path) as address:

        async def page(path):
            answer, text = await get(http, f"{address}run/{path}")
            assert answer.status == 200
            return text

        first = await page("user/interventions")
        assert '<a href="conversation?id=a#turn-2">a, 2</a>' in first
        assert "b, 2" not in first
        (following,) = re.findall(r'rel="next" href="(.*?)"', first)
        second = await page(f"user/{unescape(following)}")
        assert "b, 2" in second
        assert 'rel="next"' not in second
        refused = await page("user/interventions?reason=refused")
        assert (refused.count("<tr data-reason"), 'value="refused" selected' in refused) == (1, True)
        assert "Interventions" not in await page("plain/")
        assert "Nobody has intervened" in await page("plain/interventions")
