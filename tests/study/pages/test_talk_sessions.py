"""Talks with systems that keep the history: whose session is whose, and when it ends."""

from __future__ import annotations

import pytest
from aiohttp import web

from tests.adapters.servers import answering
from tests.study.pages.talking import SCRIPTED, begin, in_talk, scripted, turns
from tests.study.serving import begun, served
from tests.study.talks import answered, ask, http_system, study_file
from tests.waiting import until_async

pytestmark = pytest.mark.usefixtures("chat")


async def test_where_the_system_keeps_the_history_each_talk_has_one_session(tmp_path):
    asked = []

    async def answer(request):
        asked.append((await request.json())["session"])
        return web.json_response({"answer": "Yes.", "session": asked[-1] or f"s{len(asked)}"})

    async with answering(answer) as address:
        body = {"question": "{{question}}", "session": "{{session_id}}"}
        system = http_system(address, body=body, session_id="session")
        database = begun(study_file(system, preset={"raters": 2}), tmp_path)
        async with (
            served(database) as study,
            study.browser(study.rater_link(1)) as ann,
            study.browser(study.rater_link(2)) as ben,
        ):
            for question in ("Where?", "Since when?"):
                for browser in (ann, ben):
                    if question == "Where?":
                        await begin(browser)
                    await ask(study, browser, question)
        assert sorted(one or "" for one in asked) == ["", "", "s1", "s2"]


async def test_a_failure_that_may_stand_in_the_systems_history_sets_the_talk_aside(tmp_path):
    system = scripted({"kind": "bad-reply", "depth": 2}, history="server")
    async with in_talk(tmp_path, system, preset={"most": 3}) as (study, browser):
        await ask(study, browser, "Where?")
        await ask(study, browser, "Since when?")

        assert browser.heading == "This conversation is set aside"
        (aside,) = study.store.assignments()
        assert aside.state == "set-aside"
        assert "no answer at turn 2 (bad-reply: " in aside.reason
        assert "keeps the history of its conversations itself" in aside.reason
        await browser.open("/rate")
        assert browser.heading == "This conversation is set aside"  # until the person has seen it
        await browser.send("/rate/talk/noted")
        assert browser.heading == "Conversation"  # the same task: there is no other
        assert not turns(study, 2)
        await ask(study, browser, "Where?")
        assert turns(study, 2) == [("Where?", "In the kitchen.")]


async def test_a_failure_that_did_not_reach_such_a_system_loses_nothing(tmp_path):
    fault = {"kind": "connection", "retryable": False, "depth": 2, "attempt": 1}
    async with in_talk(tmp_path, scripted(fault, history="server")) as (study, browser):
        await ask(study, browser, "Where?")
        await ask(study, browser, "Since when?")
        await browser.send("/rate/talk/again")
        await answered(study, browser)
        assert turns(study) == [("Where?", "In the kitchen."), ("Since when?", "Since 1999.")]


async def test_a_first_question_that_failed_is_asked_again_in_a_session_of_its_own(tmp_path):
    """Nothing was said yet, so nothing is lost with the session."""
    sessions = []

    async def answer(request):
        sessions.append((await request.json())["session"])
        if len(sessions) == 1:
            raise web.HTTPInternalServerError
        return web.json_response({"answer": "Yes."})

    async with answering(answer) as address:
        body = {"question": "{{question}}", "session": "{{session_id}}"}
        system = http_system(address, body=body, history="server")
        async with in_talk(tmp_path, system) as (study, browser):
            await ask(study, browser, "Where?")
            assert "No answer came" in browser.html
            await browser.send("/rate/talk/again")
            await answered(study, browser)
            assert turns(study) == [("Where?", "Yes.")]
    assert len(set(sessions)) == 2


@pytest.mark.parametrize("history", ["client", "server"])
async def test_a_talk_that_nobody_goes_on_with_has_its_session_closed(tmp_path, history):
    system = {**SCRIPTED, "settings": {**SCRIPTED["settings"], "history": history}}
    async with in_talk(tmp_path, system, ask={"session_idle_s": 0.01}) as (study, browser):
        await ask(study, browser, "Where?")
        await until_async(lambda: not study.live._tasks)
        await browser.open("/rate")
        if history == "server":
            assert browser.heading == "This conversation is set aside"
            assert "nobody went on for 0.01 s" in study.store.assignment(1).reason
        else:
            await ask(study, browser, "Since when?")
            assert turns(study)[1] == ("Since when?", "Since 1999.")


async def test_talks_that_only_a_lost_session_could_go_on_with_are_set_aside_as_the_server_starts(tmp_path):
    """Whoever looks at the study's state sees it, whether or not the person comes back."""
    system = {"adapter": "scripted", "settings": {"answers": ["One.", "Two."], "history": "server"}}
    database = begun(study_file(system), tmp_path)
    async with served(database) as study, study.at_work(1) as browser:
        await browser.send("/rate/talk/ask", {"question": "one?"})
        await until_async(lambda: study.store.talks(1)[1][0].outcome)
        assert study.store.assignment(1).state == "open"
    async with served(database) as study:
        await until_async(lambda: study.store.assignment(1).state == "set-aside")
