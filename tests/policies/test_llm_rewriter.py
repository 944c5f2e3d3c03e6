"""Rewriting by a chat system: what it is asked, what is accepted, and what happens when it fails."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from replay.core.adapter import ChatReply
from replay.core.asking.retries import RetryPolicy
from replay.core.asking.templating import TextTemplate
from replay.core.conversation import Conversation, Turn
from replay.core.drift_evidence import Mention, Reading
from replay.core.errors import (
    AdapterConnectionError,
    AdapterRefusedError,
    RewriteError,
    RunStoppedError,
    ScenarioError,
)
from replay.core.settings.plugins import build, load
from replay.policies.llm_rewriter import LlmRewriter, llm_rewriter, prompt_variables, question_in_reply
from replay.policies.rewrite import RewritePolicy, RewriteRequest, open_policies
from replay.runs.launch import resume_async, run_async
from tests.data_tables import from_table
from tests.samples import ALICE, SINGER, Fake, detector, play
from tests.scorers.judges.servers import broken, judge_server

ASTRAY = ("It is a song.", "I don't know.", "No idea.", "Nothing.")
HER = Reading(
    mention=Mention(start=10, end=13, text="she", kind="she"), antecedent="Alice Okafor", source="name"
)


class Model:
    """A chat system that gives the same replies to all sessions, one after another; the last for ever."""

    history = "client"

    def __init__(self, *replies):
        self.replies = list(replies)
        self.requests = []
        self.conversations = []
        self.open = False

    async def __aenter__(self):
        self.open = True
        return self

    async def __aexit__(self, *_):
        self.open = False

    @asynccontextmanager
    async def session(self, conversation):
        self.conversations.append(conversation)
        yield self

    async def ask(self, request):
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        await asyncio.sleep(0)
        if reply is None:
            await asyncio.get_running_loop().create_future()
        if isinstance(reply, Exception):
            raise reply
        return ChatReply(text=reply)


def rewriter(*replies, prompt="{{question}} {{mentions}}", **patience) -> LlmRewriter:
    return LlmRewriter(
        adapter=Model(*replies),
        prompt=TextTemplate(prompt),
        name="model",
        patience=RetryPolicy(**{"backoff_s": 0.0, **patience}),
    )


def request(depth=2) -> RewriteRequest:
    return RewriteRequest(conversation=SINGER, depth=depth, readings=(HER,))


async def test_the_shipped_prompt_shows_history_readings_and_no_later_answer():
    made = llm_rewriter(
        adapter="scripted", settings={"answers": ["Where was Alice Okafor born?"] * 4}, folder=Path()
    )
    made.adapter = Model("Where was Alice Okafor born?")
    assert await made.rewrite(request()) == "Where was Alice Okafor born?"
    (asked,) = made.adapter.requests
    assert "about Stone Garden (album), one after another" in asked.question
    assert "Question: Who sang Stone Garden?\nAnswer: Alice Okafor sang it.\n" in asked.question
    assert "The question: Where was she born?" in asked.question
    assert '- "she": Alice Okafor' in asked.question
    assert "Port Ellis" not in asked.question
    assert asked.parameters == {"temperature": 0}
    (shown,) = made.adapter.conversations
    assert shown == Conversation(id="singer", turns=())


async def test_the_shipped_prompt_says_what_a_question_leaves_out():
    left_out = Mention(start=18, end=18, text="", kind="ellipsis")
    asked = replace(request(), readings=(HER, Reading(mention=left_out, antecedent="in Port Ellis")))
    prompt = llm_rewriter(adapter="scripted", folder=Path()).prompt.render(prompt_variables(asked))

    assert '- "she": Alice Okafor\n- what it leaves out: in Port Ellis\n' in prompt


async def test_its_question_is_asked_and_stays_in_the_history():
    system = Fake(*ASTRAY)
    made = rewriter("Where was the singer born?")
    async with detector(resolver=ALICE) as drift:
        policy = RewritePolicy(detector=drift, rewriter=made)
        async with open_policies([policy]):
            assert made.adapter.open
            records = await play(system, policy, SINGER)
        assert not made.adapter.open
    assert (records[1].edit, records[1].asked) == ("rewritten", "Where was the singer born?")
    assert system.requests[2].history[1].question == "Where was the singer born?"
    assert "rewriter:llm(model,prompt:" in policy.signature


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        ("", "the reply holds no question"),
        ("...", "the reply holds no question"),
        ("Sure!\nWhere was she born?", "several lines"),
        ("word " * 61, "longer than 60 words"),
        (AdapterRefusedError("HTTP 401"), "refused: HTTP 401"),
        (None, "timed-out: no complete reply within 0.01 s; raise timeout_s if it may take longer"),
    ],
)
async def test_a_failed_rewriting_is_recorded_as_such(reply, note):
    system = Fake(*ASTRAY)
    async with detector(resolver=ALICE) as drift:
        made = rewriter(reply, timeout_s=0.01)
        records = await play(system, RewritePolicy(detector=drift, rewriter=made), SINGER)
    assert (records[1].edit, records[1].asked) == ("rewrite-failed", "Where was she born?")
    assert note in records[1].edit_note
    assert records[0].edit_note is None
    assert records[1].outcome == "answered"


async def test_a_refused_key_stops_the_run_which_goes_on_when_that_is_mended(tmp_path):
    """Or else every question would be asked as recorded, for want of a key."""
    turns = [{"question": t.question, "gold_answer": t.gold_answer} for t in SINGER.turns]
    talks = [{"id": f"talk{n}", "title": SINGER.title, "turns": turns} for n in range(5)]
    (tmp_path / "talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    async with judge_server(lambda prompt, number: broken(401)) as server:
        content = {
            "name": "try",
            "data": {"path": str(tmp_path / "talks.jsonl")},
            "systems": [{"name": "astray", "adapter": "scripted", "settings": {"answers": list(ASTRAY)}}],
            "policies": [{"rewrite": {"rewriter": {"llm": server.settings()}}}],
            "drift": {"resolver": ALICE, "nlp_workers": 0},
            "play": {"concurrency": 2},
        }
        with pytest.raises(RunStoppedError) as caught:
            await run_async(content, runs=tmp_path / "runs")
        (folder,) = (tmp_path / "runs").iterdir()
        assert len(server.bodies) <= 2
        assert 'rewriter "openai@' in str(caught.value)
        assert "answered 401" in str(caught.value)
        assert str(caught.value).endswith(f"go on with: replay resume {folder}")
        server.reply = lambda prompt, number: "Where was the singer born?"
        run = await resume_async(folder)
    edits = {(record.depth, record.edit) for record in run.records()}
    assert len(run.records()) == 5 * 4
    assert (2, "rewritten") in edits
    assert not any(edit == "rewrite-failed" for _, edit in edits)


async def test_valid_questions_are_not_sent_to_it():
    async with detector(resolver=ALICE) as drift:
        made = rewriter("x?")
        right = [t.gold_answers[0] for t in SINGER.turns]
        await play(Fake(*right), RewritePolicy(detector=drift, rewriter=made), SINGER)
    assert made.adapter.requests == []


async def test_a_failure_that_may_pass_is_tried_again():
    made = rewriter(AdapterConnectionError("gone", retryable=True), "Who?")
    assert await made.rewrite(request()) == "Who?"
    assert len(made.adapter.requests) == 2


async def test_the_same_question_is_asked_once_for_all_systems():
    made = rewriter("Who?")
    assert await asyncio.gather(*(made.rewrite(request()) for _ in range(5))) == ["Who?"] * 5
    assert len(made.adapter.requests) == 1


async def test_who_waits_for_a_question_takes_over_when_its_asker_is_cancelled():
    made = rewriter(None, "Who?", timeout_s=60.0)
    first = asyncio.create_task(made.rewrite(request()))
    second = asyncio.create_task(made.rewrite(request()))
    while not made.adapter.requests:
        await asyncio.sleep(0)
    first.cancel()
    assert await second == "Who?"
    await asyncio.wait([first])
    assert first.cancelled()


async def test_a_failure_is_not_remembered():
    made = rewriter("", "Who?")
    with pytest.raises(RewriteError):
        await made.rewrite(request())
    assert await made.rewrite(request()) == "Who?"


async def test_a_prompt_that_does_not_fit_a_conversation_fails_that_question_alone():
    made = rewriter("Who?", prompt="{{ history[0].question }}")
    assert await made.rewrite(request()) == "Who?"
    with pytest.raises(RewriteError, match="can't be filled in"):
        await made.rewrite(request(depth=1))


@from_table
def test_marks_around_the_whole_question_are_taken_off(reply, question):
    assert question_in_reply(reply, 60) == question


def faults(setting, tmp_path=Path()):
    with pytest.raises(ScenarioError) as caught:
        build(
            load("policies", "rewrite", Path()),
            {"rewriter": setting},
            provided={"detector": None},
            folder=tmp_path,
            key_path="policies[0].rewrite",
        )
    return [(f.path.removeprefix("policies[0].rewrite."), f.message) for f in caught.value.faults]


def test_faults_are_located_in_the_scenario(tmp_path):
    ((path, message),) = faults("lm")
    assert (path, message[:31]) == ("rewriter", '"lm" is not a known rewriter; d')
    ((path, message),) = faults({"llm": {}})
    assert (path, message) == ("rewriter.llm.adapter", "is required but missing")
    ((path, message),) = faults({"llm": {"adapter": "opnai"}})
    assert path == "rewriter.llm.adapter"
    assert 'did you mean "openai"?' in message
    openai = {"base_url": "http://localhost:1/v1", "modell": "m"}
    assert {path for path, _ in faults({"llm": {"adapter": "openai", "settings": openai}})} == {
        "rewriter.llm.settings.model",
        "rewriter.llm.settings.modell",
    }
    prompted = {"llm": {"adapter": "extractive", "prompt": "my.txt"}}
    ((path, message),) = faults(prompted, tmp_path)
    assert path == "rewriter.llm.prompt"
    assert "can't be read" in message
    (tmp_path / "my.txt").write_text("{{ questoin }}", "utf-8")
    ((path, message),) = faults(prompted, tmp_path)
    assert path == "rewriter.llm.prompt"
    assert 'there is no variable "questoin"; did you mean "question"?' in message
    assert "variables: question" in message
    ((path, message),) = faults({"llm": {"adapter": "extractive", "timeout_s": 0}})
    assert path == "rewriter.llm"
    assert "timeout_s must be above 0" in message
    ((path, message),) = faults({"substitution": {"min_probability": 2}})
    assert path == "rewriter.substitution"
    ((path, message),) = faults({"llm": None, "substitution": None})
    assert "a name, or {name: {setting: value}}" in message


def test_prompts_and_settings_show_in_the_signature(tmp_path):
    (tmp_path / "my.txt").write_text("{{ question }}", "utf-8")
    made = [
        llm_rewriter(adapter="extractive", folder=tmp_path),
        llm_rewriter(adapter="extractive", folder=tmp_path, settings={"threshold": 0.5}),
        llm_rewriter(adapter="extractive", folder=tmp_path, prompt=tmp_path / "my.txt"),
        llm_rewriter(adapter="extractive", folder=tmp_path, parameters={}),
    ]
    assert len({one.signature for one in made}) == 4


def test_a_conversation_without_a_title_makes_a_prompt_too():
    bare = Conversation(id="c", turns=(Turn(id="1", question="Who?"),))
    made = llm_rewriter(adapter="extractive", folder=Path())
    made.adapter = Model("Who?")
    question = asyncio.run(made.rewrite(RewriteRequest(conversation=bare, depth=1, readings=())))
    (asked,) = made.adapter.requests
    assert question == "Who?"
    assert "What was said before" not in asked.question
    assert "\n\n\n" not in asked.question
