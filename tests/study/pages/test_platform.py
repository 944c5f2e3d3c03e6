"""People of a crowd-working platform: one link for all, consent, and the code that they take back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession, CookieJar

from replay.core.errors import ScenarioError
from tests.study.serving import Browser, Served, begun, served

PLATFORM = """\
platform:
  id: PROLIFIC_PID
  places: 2
  codes: {completed: C1DONE, screened_out: S2OUT, declined: D3NO}
  return_to: https://app.prolific.com/submissions/complete?cc={code}
consent: {text: We keep what you choose.}
contact: Ada, ada@lab.example
"""


def study(run, folder, more=PLATFORM, answers=1):
    preset = f"preset: {{rating: {{answers: {answers}, raters: 2}}}}\n"
    return begun(f"name: check\n{preset}runs: ['{run}']\n{more}", folder)


@asynccontextmanager
async def coming(served_: Served, id: str | None, name: str = "PROLIFIC_PID") -> AsyncIterator[Browser]:
    """Somebody who has opened the common link, with *id* in it."""
    link = f"/join/{served_.pages.access.entry_key}"
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as client:
        browser = Browser(client, served_.address)
        await browser.open(link if id is None else f"{link}?{name}={id}&STUDY_ID=s&SESSION_ID=t")
        yield browser


async def test_one_link_leads_each_to_their_own_work_and_back_to_the_platform(quick_run, tmp_path):
    async with served(study(quick_run, tmp_path)) as study_:
        async with coming(study_, "5f3a9c") as browser:
            assert browser.heading == "Before you begin"
            assert "ada@lab.example" in browser.html
            assert "5f3a9c" not in browser.html
            await browser.send("/rate/consent")
            await browser.send("/rate/begin")
        # Once more by the same link, in another browser: the same person.
        async with coming(study_, "5f3a9c") as browser:
            await browser.send("/rate/answer", {"rating": "1"})
            assert browser.heading == "Done"
            assert ">C1DONE<" in browser.html
            assert 'href="https://app.prolific.com/submissions/complete?cc=C1DONE"' in browser.html
            (rater,) = study_.store.raters()
            assert (rater.name, bool(rater.joined_at), bool(rater.finished_at)) == ("5f3a9c", True, True)
            # Whoever has their code is given nothing more.
            study_.store.add_tasks([study_.store.task(1)])
            await browser.open("/rate")
            assert browser.heading == "Done"


async def test_who_declines_gets_a_code_of_their_own_and_may_change_their_mind(quick_run, tmp_path):
    async with served(study(quick_run, tmp_path)) as study_, coming(study_, "a") as browser:
        await browser.send("/rate/decline")
        assert browser.heading == "You do not take part"
        assert "cc=D3NO" in browser.html
        assert not study_.store.raters()[0].takes_part
        await browser.open("/rate")
        assert browser.heading == "You do not take part"
        await browser.send("/rate/consent")
        assert browser.heading == "What to do"
        assert study_.store.raters()[0].takes_part


async def test_places_are_counted_and_come_free_again(quick_run, tmp_path):
    async with served(study(quick_run, tmp_path)) as study_:
        async with coming(study_, "a"):
            pass
        async with coming(study_, "b") as second:
            async with coming(study_, "c") as third:
                assert "All places in this study are taken" in third.html
            await second.send("/rate/decline")
        async with coming(study_, "c") as third:
            assert third.heading == "Before you begin"


async def test_where_no_work_is_left_the_code_is_that_of_the_screened_out(quick_run, tmp_path):
    text = PLATFORM.replace("places: 2", "places: 9")
    async with served(study(quick_run, tmp_path, text)) as study_:
        for id in ("a", "b", "c"):
            async with coming(study_, id) as browser:
                await browser.send("/rate/consent")
                await browser.send("/rate/begin")
                if id == "c":
                    assert browser.heading == "No work left"
                    assert "cc=S2OUT" in browser.html
                else:
                    await browser.send("/rate/answer", {"rating": "1"})


async def test_the_owner_s_page_has_the_common_link_which_holds_a_key_and_asks_for_an_id(quick_run, tmp_path):
    async with served(study(quick_run, tmp_path)) as study_:
        async with study_.browser(study_.owner_link) as owner:
            link = f"{study_.address}/join/{study_.pages.access.entry_key}?PROLIFIC_PID="
            assert link + "{{%PROLIFIC_PID%}}" in owner.html
            await owner.open("/join/guessed?PROLIFIC_PID=a")
            assert owner.status == 401
        for id in (None, "{{%25PROLIFIC_PID%25}}", "%3Cb%3E", ""):
            async with coming(study_, id) as browser:
                assert browser.heading == "Your id"
                assert 'name="PROLIFIC_PID"' in browser.html
        assert study_.store.raters() == []
    (tmp_path / "none").mkdir()
    async with served(study(quick_run, tmp_path / "none", "")) as study_, coming(study_, "a") as browser:
        assert browser.status == 404, "without a platform there is none"


async def test_nobody_becomes_a_rater_of_the_owner_s_by_their_name(quick_run, tmp_path):
    text = PLATFORM.replace("PROLIFIC_PID", "workerId") + "raters: [ann]\n"
    async with served(study(quick_run, tmp_path, text)) as study_:
        async with coming(study_, "ann", "workerId") as browser:
            assert "This id can&#39;t be used" in browser.html
            await browser.open("/rate")
            assert browser.status == 401
        async with coming(study_, "A2B", "workerId") as browser:
            assert browser.heading == "Before you begin"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("return_to: https://example.org/done", "is not an address with {code} in it"),
        ("codes: {finished: X}", "finished"),
        ("id: 'a b'", "platform.id"),
    ],
)
def test_what_is_wrong_with_a_platform_is_said(quick_run, tmp_path, wrong, said):
    with pytest.raises(ScenarioError) as caught:
        study(quick_run, tmp_path, f"platform: {{places: 3, {wrong}}}\n")
    assert said in str(caught.value)
