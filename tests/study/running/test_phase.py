"""A study that is paused, closed, or a pilot at first."""

from __future__ import annotations

from contextlib import asynccontextmanager

from tests.study.pages.test_platform import PLATFORM, coming
from tests.study.running.test_practice import rate
from tests.study.serving import begun, served


def study(run, folder, more="raters: [ann, ben]\n", answers=3):
    return begun(f"name: check\npreset: {{rating: {{answers: {answers}}}}}\nruns: ['{run}']\n{more}", folder)


@asynccontextmanager
async def both(served_study):
    """The owner's browser, and that of Ann, who has begun to work."""
    async with (
        served_study.browser(served_study.owner_link) as owner,
        served_study.at_work(1) as ann,
    ):
        yield owner, ann


async def test_a_pause_keeps_what_is_saved_and_shows_nothing_more(quick_run, tmp_path):
    async with served(study(quick_run, tmp_path)) as one, both(one) as (owner, ann):
        await owner.post("/owner/phase", {**form_of(owner), "phase": "paused"})
        assert "The study is paused" in owner.html
        await rate(ann, 1)
        assert ann.heading == "This study is paused"
        assert len(one.store.judgements()) == 1
        async with one.browser(one.rater_link(2)) as ben:
            assert ben.heading == "This study is paused"
        await owner.post("/owner/phase", {**form_of(owner), "phase": "open"})
        await ann.open("/rate")
        assert ann.heading == "Answer"


async def test_a_closed_study_lets_people_finish_and_gives_nothing_more(quick_run, tmp_path):
    async with served(study(quick_run, tmp_path)) as one, both(one) as (owner, ann):
        await owner.post("/owner/phase", {**form_of(owner), "phase": "closed"})
        await ann.open("/rate")
        assert ann.heading == "Answer"
        await rate(ann, 1)
        assert ann.heading == "Done"
        async with one.browser(one.rater_link(2)) as ben:
            assert ben.heading == "This study is over"


async def test_nobody_comes_into_a_study_that_is_paused_or_closed(quick_run, tmp_path):
    async with served(study(quick_run, tmp_path, PLATFORM)) as one, one.browser(one.owner_link) as owner:
        for phase, said in (("paused", "This study is paused"), ("closed", "This study is over")):
            await owner.post("/owner/phase", {**form_of(owner), "phase": phase})
            async with coming(one, "a") as browser:
                assert said in browser.html
        assert one.store.raters() == []


async def test_what_no_study_can_be_is_refused(quick_run, tmp_path):
    async with served(study(quick_run, tmp_path)) as one, one.browser(one.owner_link) as owner:
        await owner.post("/owner/phase", {**form_of(owner), "phase": "ended"})
        assert owner.status == 422
        assert "The study is open" in owner.html


async def test_a_pilot_gives_the_first_tasks_until_the_owner_ends_it(quick_run, tmp_path):
    text = "raters: [ann, ben]\npilot: 2\n"
    async with served(study(quick_run, tmp_path, text)) as one, both(one) as (owner, ann):
        assert "0 done, 2 left" in " ".join(ann.html.split())
        await rate(ann, 1, 1)
        assert ann.heading == "Nothing to do just now"
        assert {given.task for given in one.store.assignments()} == {1, 2}
        await owner.send("/owner/main")
        assert "It is a pilot" not in owner.html
        await ann.open("/rate")
        assert ann.heading == "Answer"


def form_of(owner):
    """The hidden fields that all forms of the owner's page have."""
    return {key: value for key, value in owner.form("/owner/add").items() if key in ("form_token", "click")}
