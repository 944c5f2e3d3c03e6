"""A server that is killed while people talk with systems, and started again: nothing is lost or doubled."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import asynccontextmanager, closing, suppress

import pytest
from aiohttp import ClientError, ClientSession, CookieJar, web

from tests.adapters.servers import answering
from tests.study.process import study_process
from tests.study.serving import Browser
from tests.study.talks import http_system, study_file
from tests.waiting import until_async

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")


class Pets:
    """A system that knows nothing of pets, counts what it is asked, and can be held up."""

    def __init__(self):
        self.asked = []
        self.go = asyncio.Event()
        self.go.set()

    async def answer(self, request):
        body = await request.json()
        self.asked.append((body["question"], len(body.get("history", ()))))
        await self.go.wait()
        return web.json_response({"answer": f"To {body['question']}", "session": body.get("session") or "s1"})


@asynccontextmanager
async def person(study):
    """A browser at the first rater's link."""
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as client:
        browser = Browser(client, study.address)
        await browser.open(study.links["rater-1"])
        yield browser


def talk(folder):
    """Questions and answers in the database, and the states of the assignments."""
    with closing(sqlite3.connect(folder / "study.db")) as connection:
        turns = connection.execute("SELECT assignment, question, answer FROM talk_turn ORDER BY 1, depth")
        states = connection.execute("SELECT state, reason FROM assignment ORDER BY id")
        return turns.fetchall(), states.fetchall()


async def answered(folder, browser):
    """Wait until nothing is under way, and look."""
    query = "SELECT 1 FROM talk_turn JOIN assignment ON assignment.id = assignment WHERE outcome IS NULL"

    def under_way():
        with closing(sqlite3.connect(folder / "study.db")) as connection:
            return connection.execute(f"{query} AND state = 'open'").fetchall()

    await until_async(lambda: not under_way())
    await browser.open("/rate")


async def kill_in_the_second_answer(tmp_path, study, pets, browser):
    await browser.send("/rate/begin")
    await browser.send("/rate/talk/ask", {"question": "one?"})
    await answered(tmp_path, browser)
    pets.go.clear()
    click = {**browser.form("/rate/talk/ask"), "question": "two?"}
    await browser.post("/rate/talk/ask", click)
    await until_async(lambda: len(pets.asked) == 2)
    await study.kill()
    return click


async def test_a_question_under_way_when_the_server_is_killed_is_asked_again(tmp_path):
    pets = Pets()
    async with (
        answering(pets.answer) as address,
        study_process(study_file(http_system(address)), tmp_path) as study,
    ):
        await study.start()
        async with person(study) as browser:
            click = await kill_in_the_second_answer(tmp_path, study, pets, browser)

            await study.start()
            await until_async(lambda: len(pets.asked) == 3)  # nobody has looked
            await browser.post("/rate/talk/ask", click)  # sent again, and counted once
            pets.go.set()
            await answered(tmp_path, browser)
            assert "That was the last question" in browser.html
            await browser.send("/rate/talk/end")
            assert browser.heading == "Was it good?"
        assert await study.end() == 130
    assert pets.asked == [("one?", 0), ("two?", 1), ("two?", 1)]
    turns, states = talk(tmp_path)
    assert turns == [(1, "one?", "To one?"), (1, "two?", "To two?")]
    assert states == [("open", None)]


async def test_where_the_system_keeps_the_history_the_talk_is_set_aside(tmp_path):
    pets = Pets()
    body = {"question": "{{question}}", "session": "{{session_id}}"}
    async with (
        answering(pets.answer) as address,
        study_process(study_file(http_system(address, body=body, session_id="session")), tmp_path) as study,
    ):
        await study.start()
        async with person(study) as browser:
            await kill_in_the_second_answer(tmp_path, study, pets, browser)

            await study.start()
            await answered(tmp_path, browser)
            assert browser.heading == "This conversation is set aside"
            pets.go.set()
            await browser.send("/rate/talk/noted")
            await browser.send("/rate/talk/ask", {"question": "three?"})
            await answered(tmp_path, browser)
            assert "To three?" in browser.html
    assert [question for question, _ in pets.asked] == ["one?", "two?", "three?"]
    turns, states = talk(tmp_path)
    assert turns == [(1, "one?", "To one?"), (1, "two?", None), (2, "three?", "To three?")]
    (aside, reason), after = states
    assert aside == "set-aside"
    assert "its session ended with the server" in reason
    assert after == ("open", None)


MOMENTS = {
    "before a question is durable": ("replay.study.store:StudyStore.ask", 1),
    "before it is confirmed": ("replay.study.running.live:Talking.say", 1),
    "before its answer is durable": ("replay.study.store:StudyStore.keep_turn", 2),
    "before its answer is shown": ("replay.study.running.live:LiveTalks._keep", 1),
}


@pytest.mark.long  # a question under way is killed above, before its answer is durable
@pytest.mark.parametrize(("method", "asks"), MOMENTS.values(), ids=MOMENTS)
async def test_a_click_in_whose_middle_the_server_is_killed_counts_once(tmp_path, method, asks):
    """The browser sends it again, since no page came."""
    pets = Pets()
    async with (
        answering(pets.answer) as address,
        study_process(study_file(http_system(address)), tmp_path) as study,
    ):
        await study.start(DIE_AFTER=method)
        async with person(study) as browser:
            await browser.send("/rate/begin")
            form = {**browser.form("/rate/talk/ask"), "question": "one?"}
            with suppress(ClientError):
                await browser.post("/rate/talk/ask", form)
            await study.killed()

            await study.start()
            await browser.post("/rate/talk/ask", form)
            await answered(tmp_path, browser)
            assert browser.html.count(">To one?<") == 1
    assert pets.asked == [("one?", 0)] * asks
    assert talk(tmp_path) == ([(1, "one?", "To one?")], [("open", None)])
