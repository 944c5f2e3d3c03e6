"""Runs as spans and events of OpenTelemetry, in a collector that takes OTLP over HTTP."""

from __future__ import annotations

import asyncio
import time

import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason='needs pip install "convreplay[otel]"')

from aiohttp import web

from replay.core.message import Message
from replay.core.record import Intervention, Timing
from replay.core.trace_ids import RunTraces
from replay.integrations.otel.spans import asks_of
from replay.results.judging import score
from tests.adapters.servers import answering, completion
from tests.integrations.collecting import Collector
from tests.scenario.keys import played, python, talk
from tests.scorers.turns import turn

TALKS = [talk("a", 2), talk("b", 1)]
EVALUATION = "gen_ai.evaluation"


async def test_a_run_is_plays_turns_and_asks(tmp_path):
    began = time.time_ns()
    collector = Collector()
    async with collector.running() as address:
        run = await played(tmp_path, talks=TALKS, telemetry={"endpoint": address})
    traces = RunTraces(run.id, 1.0)
    plays = {span.trace: span for span in collector.named("play")}
    assert len(plays) == 2
    for record in run.records():
        ids = traces.of(record.conversation, record.system, record.policy)
        (turn,) = (s for s in collector.named(f"turn {record.depth}") if s.trace == ids.id)
        (ask,) = (s for s in collector.named("chat") if s.parent == turn.id)
        assert (turn.parent, plays[ids.id].id, plays[ids.id].parent) == (ids.span(), ids.span(), "")
        assert f"00-{ask.trace}-{ask.id}-01" == ids.traceparent(record.depth, 0, record.started_at)
        assert began <= plays[ids.id].begin <= turn.begin <= ask.begin <= ask.end <= turn.end
        assert turn.end <= plays[ids.id].end <= time.time_ns()
        assert ask.kind == 3, "a client's"
        assert ask.attributes["gen_ai.operation.name"] == "chat"
        assert ask.attributes["gen_ai.provider.name"] == "scripted"
        assert turn.attributes["convreplay.conversation.id"] == record.conversation
        assert turn.attributes["convreplay.depth"] == record.depth
        assert turn.attributes["convreplay.edit"] == "kept"
        assert turn.resource["service.name"] == "convreplay"
        assert turn.resource["convreplay.run.id"] == run.id
    assert len(collector.spans) == 2 + 3 + 3
    conversations = {span.attributes["gen_ai.conversation.id"] for span in collector.spans}
    assert conversations == {f"{name}/s/pred(detect=False)/{run.folder.name}" for name in "ab"}


async def test_an_ask_says_which_model_it_was_and_what_it_took(tmp_path):
    async def answer(_: web.Request) -> web.Response:
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}}
        return web.json_response(completion("Yes.", usage=usage))

    collector = Collector()
    async with collector.running() as address, answering(answer) as model:
        settings = {"base_url": f"{model}/v1", "model": "small-1", "extra": {"temperature": 0}}
        await played(
            tmp_path,
            talks=TALKS[1:],
            system={"adapter": "openai", "settings": settings},
            telemetry={"endpoint": address},
        )
    (ask,) = collector.named("chat")
    assert ask.name == "chat small-1"
    expected = {
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "small-1",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.usage.cache_read.input_tokens": 2,
        "server.address": "127.0.0.1",
        "server.port": int(model.rpartition(":")[2]),
    }
    assert {name: ask.attributes[name] for name in expected} == expected


async def test_a_failure_is_an_error_by_its_kind_and_its_words_are_content(tmp_path):
    bot = python(tmp_path, "def answer(question): raise ValueError('secret plans')")
    for content in (False, True):
        collector = Collector()
        async with collector.running() as address:
            telemetry = {"endpoint": address, "content": content}
            await played(tmp_path, talks=TALKS[1:], system=bot, telemetry=telemetry)
        for span in collector.spans:
            assert span.error
            assert span.attributes["error.type"] == "refused"
            assert ("secret plans" in span.message) == content
        assert len(collector.spans) == 3


async def test_calls_of_tools_stand_between_the_asks_of_their_turn(tmp_path):
    code = """
def answer(request):
    if not request.steps:
        return {"tool_calls": [{"name": "find", "arguments": {"id": 1}}]}
    return "Found."
"""
    collector = Collector()
    async with collector.running() as address:
        await played(
            tmp_path,
            talks=[talk("a")],
            system=python(tmp_path, code),
            tools={"results": [{"name": "find", "result": "here"}]},
            telemetry={"endpoint": address, "content": True},
        )
    asks, (tool,) = collector.named("chat"), collector.named("execute_tool find")
    assert len({span.id for span in collector.spans}) == 5
    assert len(asks) == 2
    assert asks[0].end <= tool.begin <= tool.end <= asks[1].begin
    assert tool.attributes["gen_ai.tool.call.result"] == "here"
    assert '"type": "tool_call"' in asks[0].attributes["gen_ai.output.messages"]
    assert "tool_call_response" in asks[1].attributes["gen_ai.input.messages"]


async def test_scores_and_checks_belong_to_the_ask_that_was_answered(tmp_path):
    checked = talk("a", 2, expect={"latency_below_s": 60})
    checked["turns"][0]["expect"] = [{"contains": "said"}, {"contains": "never"}]
    collector = Collector()
    async with collector.running() as address:
        telemetry = {"endpoint": address, "content": True}
        run = await played(tmp_path, talks=[checked], scorers=["em", "f1"], telemetry=telemetry)
        asks = {span.id: span.attributes for span in collector.named("chat")}
        found = [
            (result.attributes[f"{EVALUATION}.name"], result.attributes[f"{EVALUATION}.score.value"])
            for result in collector.results
            if result.span in asks
        ]
        assert sorted(found) == [
            ("contains", 0.0), ("contains", 1.0), ("em", 1.0), ("em", 1.0), ("f1", 1.0), ("f1", 1.0),
        ]  # fmt: skip
        (at_end,) = (result for result in collector.results if result.span not in asks)
        assert at_end.span == collector.named("play")[0].id
        labels = [r.attributes.get(f"{EVALUATION}.score.label") for r in collector.results]
        assert sorted(filter(None, labels)) == ["fail", "pass", "pass"]
        (failed,) = (r for r in collector.results if r.attributes.get(f"{EVALUATION}.score.label") == "fail")
        assert 'contains "never"' in failed.attributes[f"{EVALUATION}.explanation"]
        assert {r.name for r in collector.results} == {"gen_ai.evaluation.result"}

        collector.results.clear()
        spans = len(collector.spans)
        await asyncio.to_thread(score, run.folder)
        again = [r for r in collector.results if r.attributes[f"{EVALUATION}.name"] == "em"]
        assert {(result.trace, result.span) for result in again} == {
            (span.trace, span.id) for span in collector.named("chat")
        }
        assert len(collector.spans) == spans, "a late score joins the spans that are there"


SONG = {
    "id": "song",
    "turns": [
        {"question": "Who sang it?", "gold_answers": ["Ann Lee sang it."]},
        {"question": "When did she sing it?", "gold_answers": ["In 1990."]},
    ],
}


async def test_drift_and_what_became_of_the_question_are_told(tmp_path):
    """Of a turn that is not asked as well, which took no time."""
    bot = python(tmp_path, "def answer(question): return 'The weather was fine.'")
    collector = Collector()
    async with collector.running() as address:
        telemetry = {"endpoint": address, "content": True}
        await played(tmp_path, talks=[SONG], system=bot, policies=["rewrite", "filter"], telemetry=telemetry)
    by_policy = {span.attributes["convreplay.policy"]: span for span in collector.named("turn 2")}
    for policy, edit in (("rewrite", "rewritten"), ("filter", "filtered")):
        span = by_policy[policy]
        assert span.attributes["convreplay.edit"] == edit
        assert span.attributes["convreplay.drift.valid"] is False
        assert span.attributes["convreplay.drift.mentions"] >= 1
        told = [found for name, found in span.events if name == "convreplay.drift"]
        assert ("she", "Ann Lee") in {
            (one["convreplay.mention.text"], one["convreplay.mention.gold"]) for one in told
        }
    assert "Ann Lee" in by_policy["rewrite"].attributes["convreplay.question.asked"]
    (first,) = (one for one in collector.named("turn 1") if one.attributes["convreplay.policy"] == "filter")
    skipped = by_policy["filter"]
    assert skipped.begin == skipped.end == first.end
    assert len([one for one in collector.named("chat") if one.trace == skipped.trace]) == 1


def test_what_a_user_says_to_a_reply_is_no_ask():
    said = Intervention(occasion="asked-back", evidence="which?", move="answer", said="It's 40233.")
    record = turn(
        "Too late.",
        "No.",
        interventions=(said,),
        steps=(Message(role="assistant", text="Which one?"), Message(role="user", text="It's 40233.")),
        step_times_s=((-3.0, -2.0), (-1.0, -1.0), (0.0, 1.0)),
        timing=Timing(scheduled_s=10.0, sent_s=10.0, done_s=11.0),
    )
    found = [(ask.begin_s, ask.end_s, ask.number, ask.reply and ask.reply.text) for ask in asks_of(record)]
    assert found == [(7.0, 8.0, 0, "Which one?"), (10.0, 11.0, 1, None)]
