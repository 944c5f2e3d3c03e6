"""Asks of a talk that fail: what the person reads, and how the talk goes on."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from tests.adapters.servers import answering, http, playing
from tests.study.pages.talking import begin, in_talk, scripted, turns
from tests.study.serving import begun, served
from tests.study.talks import answered, ask, http_system, study_file
from tests.waiting import until_async

pytestmark = pytest.mark.usefixtures("chat")


FAULTS = [
    ({"kind": "hang"}, "The system took too long."),
    ({"kind": "rate-limited", "retryable": False}, "The system has too much to do just now."),
    ({"kind": "bad-reply"}, "The system could not answer."),
]


@pytest.mark.parametrize(("fault", "words"), FAULTS, ids=[fault["kind"] for fault, _ in FAULTS])
async def test_a_failure_is_shown_in_words_and_tried_again_when_the_person_says_so(tmp_path, fault, words):
    system = scripted({**fault, "depth": 2, "attempt": 1})
    async with in_talk(tmp_path, system, ask={"timeout_s": 0.5, "attempts": 1}) as (study, browser):
        await ask(study, browser, "Where?")
        await ask(study, browser, "Since when?")
        assert words in browser.html
        assert "scripted fault" not in browser.html
        failed = study.store.talks(1)[1][1]
        assert failed.attempts == 1
        assert study.store.events("ask-failed")[0]["error"] == failed.error

        form = browser.form("/rate/talk/again")
        await browser.post("/rate/talk/again", form)
        await browser.post("/rate/talk/again", form)
        await until_async(lambda: study.store.talks(1)[1][1].outcome == "answered")
        assert turns(study) == [("Where?", "In the kitchen."), ("Since when?", "Since 1999.")]
        assert study.store.talks(1)[1][1].attempts == 2


BROKEN = {
    "closes": ((b"",), "connection-failed"),
    "stops half-way": ((http(b'{"answer": "zarquon', length=1000),), "connection-failed"),
    "is down": ((http(b"zarquon", status="503 Service Unavailable"),), "refused"),
    "sends a page": ((http(b"<h1>zarquon</h1>"),), "bad-reply"),
    "sends no answer": ((http(b'{"zarquon": 1}'),), "bad-reply"),
}


@pytest.mark.parametrize(("chunks", "outcome"), BROKEN.values(), ids=BROKEN)
async def test_a_server_that_breaks_is_a_failure_in_words(tmp_path, chunks, outcome):
    async with (
        playing(*chunks) as address,
        in_talk(tmp_path, http_system(address), ask={"backoff_s": 0}) as (study, browser),
    ):
        await ask(study, browser, "Where?")
        assert "The system could not answer." in browser.html
        assert "zarquon" not in browser.html
        (failed,) = study.store.talks(1)[1]
        assert (failed.outcome, failed.answer) == (outcome, None)
        assert failed.attempts in (1, 2)  # once more where that may help


ODD = {
    "large": ("x" * 1_000_000, "x" * 1_000_000),
    "lone surrogate": ("a \ud83d b", "a ? b"),
    "overrides": ("\u202edesrever\u202c\x00", "\u202edesrever\u202c\x00"),
    "markup": ("</textarea></script><img src=x onerror=alert(1)>", None),
}


@pytest.mark.parametrize(("text", "kept"), ODD.values(), ids=ODD)
async def test_an_odd_answer_is_kept_and_the_talk_goes_on_with_it(tmp_path, text, kept):
    asked = []

    async def answer(request):
        asked.append(await request.json())
        return web.json_response({"answer": text})

    async with (
        answering(answer) as address,
        in_talk(tmp_path, http_system(address), preset={"most": 3}) as (study, browser),
    ):
        await ask(study, browser, "Where?")
        await ask(study, browser, "Since when?")
        assert "Question 3. You ask" in browser.html
        assert len(browser.html) < 250_000
        assert not set("\x00\u202e\ud83d") & set(browser.html)
        assert "<img" not in browser.html
        kept = text if kept is None else kept
        assert turns(study) == [("Where?", kept), ("Since when?", kept)]
        assert asked[1]["history"] == [{"question": "Where?", "answer": kept}]


async def test_an_empty_answer_shows_as_one(tmp_path):
    system = {"adapter": "scripted", "settings": {"answers": [" ", "Yes."]}}
    async with in_talk(tmp_path, system, preset={"most": 3}) as (study, browser):
        await ask(study, browser, "Where?")
        assert "The answer is empty." in browser.html
        await ask(study, browser, "Where?")
        assert browser.html.count("The answer is empty.") == 1


async def test_a_system_that_refuses_our_key_is_no_end_of_the_study(tmp_path):
    async with in_talk(tmp_path, scripted({"kind": "refused", "status": 401})) as (study, browser):
        await ask(study, browser, "Where?")
        assert "The system could not answer." in browser.html
        assert [one["outcome"] for one in study.store.events("ask-failed")] == ["refused"]


async def test_a_click_that_comes_while_a_failure_is_being_kept_is_not_lost(tmp_path, monkeypatch):
    """The session has failed for good by then, and what is asked next needs another."""
    system = scripted({"kind": "bad-reply", "attempt": 1}, history="server")
    loop = asyncio.get_running_loop()
    async with (
        served(begun(study_file(system), tmp_path)) as study,
        study.browser(study.rater_link(1)) as browser,
    ):
        keep, rater = study.live._keep, study.store.rater(1)

        def keep_and_click(talk, turn, **more):
            keep(talk, turn, **more)
            if turn.attempts == 1:
                study.live.talking.again(rater, 1, 1)
                loop.call_soon_threadsafe(study.live.go_on, 1)

        monkeypatch.setattr(study.live, "_keep", keep_and_click)
        await begin(browser)
        await ask(study, browser, "Where?")
        await until_async(lambda: study.store.talks(1)[1][0].attempts == 2)


ADAPTER = """
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from replay import AdapterConnectionError, ChatReply


@dataclass
class Adapter:
    history: str = "server"
    opened: list = field(default_factory=list)

    @asynccontextmanager
    async def session(self, conversation):
        self.opened.append(conversation.id)
        if len(self.opened) == 1:
            raise AdapterConnectionError("not yet", retryable=True)
        yield self

    async def ask(self, request):
        return ChatReply(text=f"session {len(self.opened)}")
"""


async def test_a_session_that_does_not_open_is_tried_again_as_a_question_is(tmp_path):
    (tmp_path / "mine.py").write_text(ADAPTER)
    text = study_file({"adapter": "mine.py:Adapter"}, ask={"backoff_s": 0})
    async with (
        served(begun(text, tmp_path)) as study,
        study.browser(study.rater_link(1)) as browser,
    ):
        await begin(browser)
        await ask(study, browser, "Where?")
        await ask(study, browser, "Since when?")
        assert turns(study) == [("Where?", "session 2"), ("Since when?", "session 2")]


async def test_a_click_on_again_that_comes_late_doesn_t_ask_once_more(tmp_path):
    async with in_talk(tmp_path, scripted({"kind": "bad-reply"})) as (study, browser):
        await ask(study, browser, "Where?")
        late = browser.form("/rate/talk/again")
        await browser.post("/rate/talk/again", late)
        await answered(study, browser)
        await browser.post("/rate/talk/again", late)
        await answered(study, browser)
        assert study.store.talks(1)[1][0].attempts == 2


async def test_something_else_can_be_asked_in_the_place_of_what_failed(tmp_path):
    async with in_talk(tmp_path, scripted({"kind": "bad-reply", "depth": 2, "attempt": 1})) as (
        study,
        browser,
    ):
        await ask(study, browser, "Where?")
        await ask(study, browser, "What breaks it?")
        await browser.send("/rate/talk/take-back")
        assert "Question 2. You ask 1 to 2 in all" in browser.html
        assert "/rate/talk/end" in browser.html
        assert [one["depth"] for one in study.store.events("ask-failed")] == [2]
        await ask(study, browser, "Since when?")
        assert turns(study) == [("Where?", "In the kitchen."), ("Since when?", "Since 1999.")]


async def test_a_given_opening_that_fails_can_t_be_exchanged(tmp_path):
    preset = {"opening": "Is there a dog?", "opening_fixed": True}
    async with in_talk(tmp_path, scripted({"kind": "bad-reply"}), preset=preset) as (study, browser):
        await ask(study, browser, "")
        assert "/rate/talk/take-back" not in browser.html
        await browser.post("/rate/talk/take-back", browser.form("/rate/talk/again"))
        assert len(turns(study)) == 1


async def test_a_talk_that_is_set_aside_is_counted_and_its_task_comes_up_for_another(tmp_path):
    broken = scripted({"kind": "bad-reply", "depth": 2})
    async with in_talk(tmp_path, broken, broken) as (study, browser):
        await ask(study, browser, "Where?")
        await ask(study, browser, "Since when?")
        await browser.send("/rate/talk/set-aside")

        aside, another = study.store.assignments()
        assert (aside.state, another.state) == ("set-aside", "open")
        system = study.store.task(aside.task).system
        why = f'"{system}" gave no answer at turn 2 (bad-reply: scripted fault "bad-reply")'
        assert aside.reason == f"set aside by the rater: {why}"
        assert turns(study, aside.id)[0] == ("Where?", "In the kitchen.")
        assert aside.task != another.task
        async with study.browser(study.rater_link(2)) as other:
            await begin(other)
            assert [one.task for one in study.store.assignments(2)] == [aside.task]


async def test_a_plug_ins_bug_is_this_questions_failure(tmp_path, caplog):
    (tmp_path / "mine.py").write_text("def answer(question, history):\n    return 1 / (len(question) - 4)\n")
    system = {"adapter": "python", "settings": {"target": "mine.py:answer"}}
    async with in_talk(tmp_path, system) as (study, browser):
        await ask(study, browser, "Who?")
        assert "The system could not answer." in browser.html
        assert "ZeroDivision" not in browser.html
        assert "ZeroDivisionError" in study.store.talks(1)[1][0].error
