"""A rater's talks, click by click, over real sockets; nothing here needs a script in the page."""

from __future__ import annotations

import asyncio
import re

import pytest
from aiohttp import web

from tests.adapters.servers import answering, unused_address
from tests.study.pages.talking import SCRIPTED, begin, in_talk, said, scripted, turns
from tests.study.serving import begun, served
from tests.study.talks import answered, ask, http_system, study_file
from tests.waiting import until_async

pytestmark = pytest.mark.usefixtures("chat")


async def test_a_talk_with_the_embedded_system_ends_by_itself_and_is_then_judged(tmp_path):
    async with in_talk(tmp_path, {"adapter": "extractive"}) as (study, browser):
        assert "You know nothing of these pets." in browser.html
        assert "Question 1. You ask 1 to 2 in all" in browser.html

        await ask(study, browser, "Where does the dog sleep?")
        assert said(browser) == ["Where does the dog sleep?", "The dog sleeps in the kitchen."]
        await ask(study, browser, "When was he born?")

        assert browser.heading == "Was it good?"
        assert turns(study) == [
            ("Where does the dog sleep?", "The dog sleeps in the kitchen."),
            ("When was he born?", "He was born in 1999."),
        ]
        first, second = study.store.talks(1)[1]
        assert [one.id for one in second.passages] == ["p2", "p1"]
        assert (first.outcome, first.attempts) == ("answered", 1)
        assert first.latency_s >= 0
        await browser.send("/rate/answer", {"good": "1"})
        assert len(study.store.state().done) == 1


async def test_the_person_ends_a_talk_when_enough_was_asked(tmp_path):
    async with in_talk(tmp_path, SCRIPTED, preset={"fewest": 2, "most": 3}) as (study, browser):
        await ask(study, browser, "Where?")
        assert "/rate/talk/end" not in browser.html
        form = browser.form("/rate/talk/ask")
        await browser.post("/rate/talk/end", form)  # by hand: the page has no such button yet
        assert browser.heading == "Conversation"
        step = study.pages._flow.file.preset.steps(study.store.task(1), study.store.talks(1)[1], {})[0]
        await browser.post("/rate/answer", {**form, "step": step.id, "good": "1"})  # nor any judging
        assert browser.heading == "Not saved"
        assert study.store.judgements() == {}
        await browser.open("/rate")

        await ask(study, browser, "Since when?")
        await browser.send("/rate/talk/end")
        assert browser.heading == "Was it good?"
        await until_async(lambda: not study.live._due)  # its session is closed


async def test_the_history_goes_along_with_each_question(tmp_path):
    asked = []

    async def answer(request):
        body = await request.json()
        asked.append(body)
        return web.json_response({"answer": f"answer {len(asked)}"})

    async with answering(answer) as address, in_talk(tmp_path, http_system(address)) as (study, browser):
        await ask(study, browser, "Where?")
        await ask(study, browser, "Since when?")
    assert asked == [
        {"question": "Where?", "history": []},
        {"question": "Since when?", "history": [{"question": "Where?", "answer": "answer 1"}]},
    ]


async def test_the_page_comes_back_at_once_and_says_that_an_answer_is_waited_for(tmp_path):
    arrived, go = asyncio.Event(), asyncio.Event()

    async def answer(request):
        arrived.set()
        await go.wait()
        return web.json_response({"answer": "At last."})

    async with answering(answer) as address, in_talk(tmp_path, http_system(address)) as (study, browser):
        await browser.send("/rate/talk/ask", {"question": "Where?"})

        assert "The system is answering" in browser.html
        assert '<noscript><meta http-equiv="refresh"' in browser.html
        assert "/rate/talk/ask" not in browser.html
        await arrived.wait()
        state = "/rate/talk/state?assignment=1"
        await browser.open(state)
        assert browser.html == '{"waiting": true, "slow": false}'
        async with study.browser(study.rater_link(2)) as other:
            await other.open(state)  # somebody else's
            assert other.html == '{"waiting": false, "slow": false}'
        go.set()
        await answered(study, browser)
        assert said(browser) == ["Where?", "At last."]
        await browser.open(state)
        assert browser.html == '{"waiting": false, "slow": false}'


async def test_a_click_sent_twice_a_second_tab_and_a_page_loaded_anew_ask_once(tmp_path):
    asked, go = [], asyncio.Event()

    async def answer(request):
        asked.append((await request.json())["question"])
        await go.wait()
        return web.json_response({"answer": "Yes."})

    async with answering(answer) as address:
        database = begun(study_file(http_system(address), preset={"most": 3}), tmp_path)
        async with (
            served(database) as study,
            study.browser(study.rater_link(1)) as browser,
            study.browser(study.rater_link(1)) as tab,
        ):
            await begin(browser)
            await tab.open("/rate")
            form = {**browser.form("/rate/talk/ask"), "question": "Where?"}
            await asyncio.gather(*(browser.post("/rate/talk/ask", form) for _ in range(5)))
            await until_async(lambda: asked)
            await browser.post("/rate/talk/ask", form)
            assert browser.status == 200
            await browser.open("/rate")
            await tab.send("/rate/talk/ask", {"question": "In another window?"})
            assert tab.status == 422
            assert "the conversation has gone on" in tab.html
            assert "In another window?" in tab.html
            go.set()
            await answered(study, browser)
            await browser.post("/rate/talk/ask", form)  # back, and sent once more
            await answered(study, browser)

            assert asked == ["Where?"]
            assert turns(study) == [("Where?", "Yes.")]


async def test_two_tabs_that_send_the_same_turn_ask_one_of_them(tmp_path):
    async with in_talk(tmp_path, SCRIPTED, preset={"most": 3}) as (study, browser):
        behind = browser.form("/rate/talk/ask")
        await ask(study, browser, "Where?")
        await browser.post("/rate/talk/ask", {**behind, "click": "a" * 32, "question": "And the cat?"})

        assert browser.status == 422
        assert "And the cat?</textarea>" in browser.html  # to be sent once the answer was read
        assert turns(study) == [("Where?", "In the kitchen.")]


async def test_a_question_that_can_t_be_asked_says_why(tmp_path):
    async with in_talk(tmp_path, SCRIPTED, limits={"message_characters": 50}) as (study, browser):
        for question, why in (
            ("  \r\n ", "Write something first."),
            ("x" * 51, "it has 51 characters, and 50 are allowed"),
        ):
            await browser.send("/rate/talk/ask", {"question": question})
            assert (browser.status, why in browser.html) == (422, True)
        assert not study.store.talks()
        # A line break is one character, as the page counts it.
        await ask(study, browser, "x" * 48 + "\r\nb")
        assert turns(study) == [("x" * 48 + "\nb", "In the kitchen.")]


async def test_messages_come_no_faster_than_the_study_allows(tmp_path):
    async with in_talk(tmp_path, SCRIPTED, limits={"between_messages_s": 3600}) as (study, browser):
        await ask(study, browser, "Where?")
        await browser.send("/rate/talk/ask", {"question": "Since when?"})
        assert browser.status == 422
        assert "came very soon after the last one" in browser.html
        assert ">Since when?</textarea>" in browser.html
        assert len(turns(study)) == 1


@pytest.mark.parametrize("fixed", [False, True])
async def test_a_supplied_opening_is_prefilled_and_a_fixed_one_is_asked_as_it_is(tmp_path, fixed):
    preset = {"opening": "Is there a dog?", "opening_fixed": fixed}
    async with in_talk(tmp_path, SCRIPTED, preset=preset) as (study, browser):
        (area,) = re.findall(r"<textarea([^>]*)>Is there a dog\?</textarea>", browser.html)
        assert area.endswith(" readonly") == fixed
        await ask(study, browser, "Is there a cat?")
        assert turns(study)[0][0] == ("Is there a dog?" if fixed else "Is there a cat?")
        assert "></textarea>" in browser.html


async def test_as_many_questions_are_under_way_as_the_study_says(tmp_path):
    under_way, most, go = 0, 0, asyncio.Event()

    async def answer(request):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await go.wait()
        under_way -= 1
        return web.json_response({"answer": "Yes."})

    async with answering(answer) as address:
        text = study_file(http_system(address), preset={"raters": None}, raters=5, ask={"concurrency": 2})
        async with served(begun(text, tmp_path)) as study:
            for rater in range(1, 6):
                async with study.browser(study.rater_link(rater)) as browser:
                    await begin(browser)
                    await browser.send("/rate/talk/ask", {"question": "Where?"})
            await until_async(lambda: under_way == 2)
            go.set()
            await until_async(
                lambda: all(turn.answer for turns in study.store.talks().values() for turn in turns)
            )
            assert len(study.store.talks()) == 5
            assert most == 2


async def test_a_talk_that_was_given_back_under_way_is_gone_on_with_when_its_person_comes_back(tmp_path):
    asked, go = [], asyncio.Event()

    async def answer(request):
        asked.append((await request.json())["question"])
        await go.wait()
        return web.json_response({"answer": "Yes."})

    async with answering(answer) as address:
        async with in_talk(tmp_path, http_system(address)) as (study, browser):
            await browser.send("/rate/talk/ask", {"question": "Where?"})
            await until_async(lambda: asked)
            study.store.end(1, "given-back", "idle")
        go.set()
        async with served(tmp_path / "study.db") as study, study.at_work(1) as browser:
            assert asked == ["Where?"]  # nobody waited for it
            assert browser.heading == "Conversation"
            await answered(study, browser)
            assert said(browser) == ["Where?", "Yes."]
    assert asked == ["Where?", "Where?"]


async def test_of_somebody_who_withdraws_while_a_system_is_asked_nothing_is_kept(tmp_path):
    arrived, go = asyncio.Event(), asyncio.Event()

    async def refuse(request):
        arrived.set()
        await go.wait()
        raise web.HTTPBadRequest(text="my name is ann")

    async with answering(refuse) as address, in_talk(tmp_path, http_system(address)) as (study, browser):
        await browser.send("/rate/talk/ask", {"question": "I am ann"})
        await arrived.wait()
        study.store.erase_rater(1)
        go.set()
        await until_async(lambda: not study.live._tasks)
        assert not study.store.talks()
        assert not study.store.events("ask-failed")


async def test_nothing_that_is_sent_says_which_system_it_is(tmp_path):
    async def refuse(request):
        raise web.HTTPBadRequest(text="zarquon-one is out of order")

    async with answering(refuse) as address:
        systems = (
            {**http_system(f"{address}/zarquon"), "name": "zarquon-one"},
            {**scripted({"kind": "bad-reply", "depth": 2}, history="server"), "name": "zarquon-two"},
            {**http_system(f"{await unused_address()}/zarquon"), "name": "zarquon-three"},
        )
        text = study_file(*systems, raters=["ann"], ask={"attempts": 1})
        async with served(begun(text, tmp_path)) as study, study.browser(study.rater_link(1)) as browser:
            await begin(browser)
            for _ in range(3):
                await ask(study, browser, "Where?")
                if "No answer came" not in browser.html:
                    await ask(study, browser, "Since when?")
                    await browser.send("/rate/talk/noted")
                    continue
                number = browser.form("/rate/talk/again")["assignment"]
                await browser.open(f"/rate/talk/state?assignment={number}")
                await browser.open("/rate")
                await browser.send("/rate/talk/again")
                await answered(study, browser)
                await browser.send("/rate/talk/set-aside")
            states = {study.store.task(one.task).system: one for one in study.store.assignments()[:3]}
            assert {name: one.state for name, one in states.items()} == dict.fromkeys(
                ("zarquon-one", "zarquon-two", "zarquon-three"), "set-aside"
            )
            assert "out of order" in states["zarquon-one"].reason
        pages = "\n".join(browser.received)
        assert "Set-Cookie" in pages
        assert "No answer came" in pages
        assert "This conversation is set aside" in pages
        assert "zarquon" not in pages
        assert "out of order" not in pages
        assert "scripted" not in pages
