"""A rater's talks, click by click, over real sockets; nothing here needs a script in the page."""

from __future__ import annotations

import asyncio
import re
from html import unescape

import pytest
from aiohttp import web

from replay.study.presets.names import PRESETS
from tests.adapters.servers import answering, http, playing, unused_address
from tests.study.serving import begun, served
from tests.study.talks import Chat, answered, ask, http_system, study_file
from tests.waiting import until_async

SCRIPTED = {"adapter": "scripted", "settings": {"answers": ["In the kitchen.", "Since 1999.", "Yes."]}}


@pytest.fixture(autouse=True)
def chat(monkeypatch):
    monkeypatch.setitem(PRESETS, "chat", Chat)


def scripted(*faults, **settings):
    return {**SCRIPTED, "settings": {**SCRIPTED["settings"], **settings, "faults": list(faults)}}


async def begin(browser):
    await browser.send("/rate/begin")
    assert browser.heading == "Conversation"


def turns(study, assignment=1):
    return [(one.question, one.answer) for one in study.store.talks(assignment).get(assignment, [])]


def said(browser):
    """What the page shows of the talk."""
    return [
        unescape(text)
        for text in re.findall(r'<(?:p|div) class="(?:question|answer)"[^>]*>(.*?)</(?:p|div)>', browser.html)
    ]


async def test_a_talk_with_the_embedded_system_ends_by_itself_and_is_then_judged(tmp_path):
    database = begun(study_file({"adapter": "extractive"}), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
        assert "You know nothing of these pets." in browser.html
        assert "Question 1, of 1 to 2 in all" in browser.html

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
    database = begun(study_file(SCRIPTED, preset={"fewest": 2, "most": 3}), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
        await ask(study, browser, "Where?")
        assert "/rate/talk/end" not in browser.html
        form = browser.form("/rate/talk/ask")
        await browser.post("/rate/talk/end", form)  # by hand: the page has no such button yet
        assert browser.heading == "Conversation"
        step = study.pages._flow.file.preset.steps(study.store.task(1), study.store.talks(1)[1], {})[0]
        await browser.post("/rate/answer", {**form, "step": step.id, "good": "1"})  # nor any judging
        assert study.store.judgements() == {}

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

    async with answering(answer) as address:
        database = begun(study_file(http_system(address)), tmp_path)
        async with served(database) as study, study.browser(study.rater_link(1)) as browser:
            await begin(browser)
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

    async with answering(answer) as address:
        database = begun(study_file(http_system(address)), tmp_path)
        async with served(database) as study, study.browser(study.rater_link(1)) as browser:
            await begin(browser)
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
    database = begun(study_file(SCRIPTED, preset={"most": 3}), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
        behind = browser.form("/rate/talk/ask")
        await ask(study, browser, "Where?")
        await browser.post("/rate/talk/ask", {**behind, "click": "a" * 32, "question": "And the cat?"})

        assert browser.status == 422
        assert "And the cat?</textarea>" in browser.html  # to be sent once the answer was read
        assert turns(study) == [("Where?", "In the kitchen.")]


@pytest.mark.parametrize(
    ("question", "said"),
    [("  \r\n ", "Write something first."), ("x" * 51, "it has 51 characters, and 50 are allowed")],
    ids=["empty", "long"],
)
async def test_a_question_that_can_t_be_asked_says_why(tmp_path, question, said):
    database = begun(study_file(SCRIPTED, limits={"message_characters": 50}), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
        await browser.send("/rate/talk/ask", {"question": question})
        assert browser.status == 422
        assert said in browser.html
        assert not study.store.talks()


async def test_a_line_break_is_one_character_as_the_page_counts_it(tmp_path):
    database = begun(study_file(SCRIPTED, limits={"message_characters": 3}), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
        await ask(study, browser, "a\r\nb")
        assert turns(study) == [("a\nb", "In the kitchen.")]


async def test_messages_come_no_faster_than_the_study_allows(tmp_path):
    database = begun(study_file(SCRIPTED, limits={"between_messages_s": 3600}), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
        await ask(study, browser, "Where?")
        await browser.send("/rate/talk/ask", {"question": "Since when?"})
        assert browser.status == 422
        assert "came very soon after the last one" in browser.html
        assert ">Since when?</textarea>" in browser.html
        assert len(turns(study)) == 1


async def test_a_supplied_opening_is_prefilled(tmp_path):
    database = begun(study_file(SCRIPTED, preset={"opening": "Is there a dog?"}), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
        assert ">Is there a dog?</textarea>" in browser.html
        await ask(study, browser, "Is there a cat?")
        assert turns(study)[0][0] == "Is there a cat?"
        assert "></textarea>" in browser.html


async def test_a_fixed_opening_is_asked_as_it_is(tmp_path):
    preset = {"opening": "Is there a dog?", "opening_fixed": True}
    database = begun(study_file(SCRIPTED, preset=preset), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
        assert re.search(r"<textarea[^>]* readonly>Is there a dog\?</textarea>", browser.html)
        await ask(study, browser, "Is there a cat?")
        assert turns(study)[0][0] == "Is there a dog?"


# What fails ------------------------------------------------------------------------------------------

FAULTS = [
    ({"kind": "hang"}, "The system took too long."),
    ({"kind": "rate-limited", "retryable": False}, "The system has too much to do just now."),
    ({"kind": "refused", "status": 401}, "The system could not answer."),
    ({"kind": "bad-reply"}, "The system could not answer."),
    ({"kind": "connection", "retryable": False}, "The system could not answer."),
]


@pytest.mark.parametrize(("fault", "words"), FAULTS, ids=[fault["kind"] for fault, _ in FAULTS])
async def test_a_failure_is_shown_in_words_and_tried_again_when_the_person_says_so(tmp_path, fault, words):
    system = scripted({**fault, "depth": 2, "attempt": 1})
    database = begun(study_file(system, ask={"timeout_s": 0.5, "attempts": 1}), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
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
        await until_async(lambda: study.store.assignment(1).talk_ended)
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
    async with playing(*chunks) as address:
        database = begun(study_file(http_system(address), ask={"backoff_s": 0}), tmp_path)
        async with served(database) as study, study.browser(study.rater_link(1)) as browser:
            await begin(browser)
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

    async with answering(answer) as address:
        database = begun(study_file(http_system(address), preset={"most": 3}), tmp_path)
        async with served(database) as study, study.browser(study.rater_link(1)) as browser:
            await begin(browser)
            await ask(study, browser, "Where?")
            await ask(study, browser, "Since when?")
            assert "Question 3, of" in browser.html
            assert len(browser.html) < 250_000
            assert not set("\x00\u202e\ud83d") & set(browser.html)
            assert "<img" not in browser.html
            kept = text if kept is None else kept
            assert turns(study) == [("Where?", kept), ("Since when?", kept)]
            assert asked[1]["history"] == [{"question": "Where?", "answer": kept}]


async def test_an_empty_answer_shows_as_one(tmp_path):
    system = {"adapter": "scripted", "settings": {"answers": [" ", "Yes."]}}
    async with (
        served(begun(study_file(system, preset={"most": 3}), tmp_path)) as study,
        study.browser(study.rater_link(1)) as browser,
    ):
        await begin(browser)
        await ask(study, browser, "Where?")
        assert "The answer is empty." in browser.html
        await ask(study, browser, "Where?")
        assert browser.html.count("The answer is empty.") == 1


async def test_a_system_that_refuses_our_key_is_no_end_of_the_study(tmp_path):
    database = begun(study_file(scripted({"kind": "refused", "status": 401})), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
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
        assert study.store.talks(1)[1][0].attempts == 2


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
    database = begun(study_file(scripted({"kind": "bad-reply"})), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
        await ask(study, browser, "Where?")
        late = browser.form("/rate/talk/again")
        await browser.post("/rate/talk/again", late)
        await answered(study, browser)
        await browser.post("/rate/talk/again", late)
        await answered(study, browser)
        assert study.store.talks(1)[1][0].attempts == 2


async def test_something_else_can_be_asked_in_the_place_of_what_failed(tmp_path):
    database = begun(study_file(scripted({"kind": "bad-reply", "depth": 2, "attempt": 1})), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
        await ask(study, browser, "Where?")
        await ask(study, browser, "What breaks it?")
        await browser.send("/rate/talk/take-back")
        assert "Question 2, of 1 to 2 in all" in browser.html
        assert "/rate/talk/end" in browser.html
        assert [one["depth"] for one in study.store.events("ask-failed")] == [2]
        await ask(study, browser, "Since when?")
        assert turns(study) == [("Where?", "In the kitchen."), ("Since when?", "Since 1999.")]


async def test_a_given_opening_that_fails_can_t_be_exchanged(tmp_path):
    preset = {"opening": "Is there a dog?", "opening_fixed": True}
    database = begun(study_file(scripted({"kind": "bad-reply"}), preset=preset), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
        await ask(study, browser, "")
        assert "/rate/talk/take-back" not in browser.html
        await browser.post("/rate/talk/take-back", browser.form("/rate/talk/again"))
        assert len(turns(study)) == 1


async def test_a_talk_that_is_set_aside_is_counted_and_its_task_comes_up_for_another(tmp_path):
    broken = scripted({"kind": "bad-reply", "depth": 2})
    database = begun(study_file(broken, broken), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
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
    database = begun(study_file(system), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
        await ask(study, browser, "Who?")
        assert "The system could not answer." in browser.html
        assert "ZeroDivision" not in browser.html
        assert "ZeroDivisionError" in study.store.talks(1)[1][0].error


# Who keeps the history -------------------------------------------------------------------------------


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
    database = begun(study_file(system, preset={"most": 3}), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
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
    database = begun(study_file(scripted(fault, history="server")), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
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
        database = begun(study_file(system), tmp_path)
        async with served(database) as study, study.browser(study.rater_link(1)) as browser:
            await begin(browser)
            await ask(study, browser, "Where?")
            assert "No answer came" in browser.html
            await browser.send("/rate/talk/again")
            await answered(study, browser)
            assert turns(study) == [("Where?", "Yes.")]
    assert len(set(sessions)) == 2


@pytest.mark.parametrize("history", ["client", "server"])
async def test_a_talk_that_nobody_goes_on_with_has_its_session_closed(tmp_path, history):
    system = {**SCRIPTED, "settings": {**SCRIPTED["settings"], "history": history}}
    database = begun(study_file(system, ask={"session_idle_s": 0.01}), tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await begin(browser)
        await ask(study, browser, "Where?")
        await until_async(lambda: not study.live._tasks)
        await browser.open("/rate")
        if history == "server":
            assert browser.heading == "This conversation is set aside"
            assert "nobody went on for 0.01 s" in study.store.assignment(1).reason
        else:
            await ask(study, browser, "Since when?")
            assert turns(study)[1] == ("Since when?", "Since 1999.")


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
        database = begun(study_file(http_system(address)), tmp_path)
        async with served(database) as study, study.browser(study.rater_link(1)) as browser:
            await begin(browser)
            await browser.send("/rate/talk/ask", {"question": "Where?"})
            await until_async(lambda: asked)
            study.store.end(1, "given-back", "idle")
        go.set()
        async with served(database) as study, study.browser(study.rater_link(1)) as browser:
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

    async with answering(refuse) as address:
        database = begun(study_file(http_system(address)), tmp_path)
        async with served(database) as study, study.browser(study.rater_link(1)) as browser:
            await begin(browser)
            await browser.send("/rate/talk/ask", {"question": "I am ann"})
            await arrived.wait()
            study.store.erase_rater(1)
            go.set()
            await until_async(lambda: not study.live._tasks)
            assert not study.store.talks()
            assert not study.store.events("ask-failed")


# Blind -----------------------------------------------------------------------------------------------


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
