"""A question taken through calls of tools to its answer."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from replay.core.adapter import ChatReply, WireTimes
from replay.core.asking.costs import Prices
from replay.core.asking.limits import RateLimit
from replay.core.asking.retries import RetryPolicy
from replay.core.conversation import Conversation, Turn
from replay.core.errors import AdapterConnectionError, AdapterRefusedError, PluginError
from replay.core.history import Exchange
from replay.core.message import Message, ToolCall
from replay.core.record import ServerTimes, Step, UnfinishedTurn, Usage
from replay.play.play import Play, System
from replay.play.player import Player, PlayOptions
from replay.play.tool_results import (
    ANY,
    ListedResult,
    ListedResults,
    Tools,
)
from replay.policies.recorded import GoldPolicy, PredPolicy
from replay.testing import FakeClock
from tests.samples import ALBUM, Fake, Recorded, conversation, detector, play
from tests.virtual_time import in_virtual_time

TALK = conversation(("Where is my order?", "On its way."), ("And the other one?", "Lost."))


def call(name="find", id="c1", **arguments):
    return ToolCall(id=id, name=name, arguments=json.dumps(arguments))


def calling(*calls, text="", **more):
    return ChatReply(text=text, tool_calls=calls, **more)


def listed(*results):
    return ListedResults(results=tuple(ListedResult(name=n, arguments=a, text=t) for n, a, t in results))


FOUND = listed(("find", {"order": 1}, "sent"), ("find", ANY, "unknown"))
TOOLS = Tools(sources=(FOUND,))


async def played(*answers, tools=TOOLS, talk=TALK, policy=None, history="client", **more):
    system = Fake(*answers, history=history)
    return system, await play(system, policy or GoldPolicy(), talk, tools=tools, **more)


async def test_calls_and_their_results_go_back_to_the_system_until_it_answers():
    system, (first, second) = await played(
        calling(call(order=1), text="Let me look."), calling(call(id="c2", order=2)), "On its way.", "Lost."
    )
    steps = (
        Message(role="assistant", text="Let me look.", tool_calls=(call(order=1),)),
        Message(role="tool", text="sent", tool_call_id="c1", name="find"),
        Message(role="assistant", tool_calls=(call(id="c2", order=2),)),
        Message(role="tool", text="unknown", tool_call_id="c2", name="find"),
    )
    assert [request.steps for request in system.requests] == [(), steps[:2], steps, ()]
    assert [request.question for request in system.requests[:3]] == ["Where is my order?"] * 3
    assert (first.answer, first.steps, first.asks, first.attempts) == ("On its way.", steps, 3, 3)
    assert (second.answer, second.steps, second.asks) == ("Lost.", (), 1)


async def test_several_calls_of_one_reply_get_their_results_in_their_order():
    _, (first, _) = await played(calling(call(id="a", order=2), call(id="b", order=1)), "Both.", "x")
    assert [(m.role, m.tool_call_id, m.text) for m in first.steps[1:]] == [
        ("tool", "a", "unknown"),
        ("tool", "b", "sent"),
    ]


async def test_a_history_of_its_own_answers_holds_what_really_happened_and_a_gold_one_what_was_recorded():
    looked_up = (Message(role="assistant", tool_calls=(call(order=7),)), Message(role="tool", text="gone"))
    turns = [replace_turn(TALK.turns[0], steps=looked_up), *TALK.turns[1:]]
    talk = Conversation(id="c1", turns=tuple(turns))
    gold, _ = await played(calling(call(order=1)), "a", "b", talk=talk)
    assert gold.requests[-1].history == (
        Exchange(question="Where is my order?", answer="On its way.", steps=looked_up),
    )
    async with detector() as drift:
        own, (first, _) = await played(
            calling(call(order=1)), "a", "b", talk=talk, policy=PredPolicy(detector=drift)
        )
    assert own.requests[-1].history == (
        Exchange(question="Where is my order?", answer="a", steps=first.steps),
    )


def replace_turn(turn, **changes):
    return Turn(id=turn.id, question=turn.question, gold_answers=turn.gold_answers, **changes)


async def test_without_tools_a_call_is_a_bad_reply_that_names_it():
    _, records = await played(calling(call(), call("cancel")), tools=None)
    assert [(r.outcome, r.answer, r.steps) for r in records] == [("bad-reply", None, ())]
    assert "a call of find({}), cancel({})" in records[0].error


async def test_a_call_that_nobody_knows_fails_the_turn_and_names_tool_and_arguments():
    tools = Tools(sources=(listed(("find", {"order": 1}, "sent")),))
    _, records = await played(calling(call(order=1), call(id="c2", order=9)), tools=tools)
    assert [r.outcome for r in records] == ["unfinished"]
    assert 'find({"order": 9})' in records[0].error
    assert "tools.results" in records[0].error
    assert [m.role for m in records[0].steps] == ["assistant", "tool"], "what came before it is kept"


async def test_a_call_that_nobody_knows_can_have_a_result_for_all_of_those():
    tools = Tools(sources=(listed(),), missing="no such thing")
    _, (first, _) = await played(calling(call()), "a", "b", tools=tools)
    assert first.steps[-1].text == "no such thing"


async def test_a_system_that_goes_on_calling_is_stopped_at_its_bound():
    system, records = await played(*[calling(call(order=1))] * 9, tools=Tools(sources=(FOUND,), max_steps=3))
    assert len(system.requests) == 3
    assert [(r.outcome, r.asks, len(r.steps)) for r in records] == [("unfinished", 3, 5)]
    assert "tools.max_steps" in records[0].error
    assert "asked 3 times" in records[0].error


@in_virtual_time
async def test_a_turn_that_takes_too_long_ends_with_its_steps_wherever_it_stands():
    class Slow:
        async def result(self, call, place):
            await asyncio.sleep(4)
            return "late"

    for answers, steps in (([calling(call()), None], 2), ([calling(call())] * 2, 3)):
        _, records = await played(
            *answers, tools=Tools(sources=(Slow(),), timeout_s=6.0), patience=RetryPolicy(timeout_s=60.0)
        )
        assert [(r.outcome, r.asks, r.attempts, len(r.steps)) for r in records] == [
            ("timed-out", 2, 2, steps)
        ]
        assert "within 6 s" in records[0].error
        assert "tools.timeout_s" in records[0].error


async def test_each_ask_of_a_turn_has_its_own_retries_and_its_own_place_in_the_limit():
    passed = []

    class Counted(RateLimit):
        async def wait(self):
            passed.append(1)

    lost = AdapterConnectionError("reset", retryable=True)
    system = Fake(lost, calling(call(order=1)), lost, lost, "a")
    sink, clock = Recorded(), FakeClock(step_s=1.0)
    player = Player(
        sink, PlayOptions(patience=RetryPolicy(backoff_s=0.0), clock=clock, start=0.0, sleep=clock.sleep)
    )
    one = Conversation(id="c1", turns=TALK.turns[:1])
    asked = System(name="fake", adapter=system, limit=Counted(1, 1.0), tools=TOOLS)
    await player.play(Play(system=asked, policy_name="gold", policy=GoldPolicy(), conversation=one))
    assert [(r.outcome, r.asks, r.attempts) for r in sink.records] == [("answered", 2, 5)]
    assert len(passed) == 5
    assert [len(request.steps) for request in system.requests] == [0, 0, 2, 2, 2]


async def test_a_failure_after_calls_keeps_them_and_what_they_cost():
    usage = Usage(prompt_tokens=10, completion_tokens=2)
    _, records = await played(calling(call(order=1), usage=usage, cost_usd=0.5), AdapterRefusedError("no"))
    (only,) = records
    assert (only.outcome, only.error, only.asks, len(only.steps)) == ("refused", "fake: no", 2, 2)
    assert (only.usage, only.cost_usd) == (usage, 0.5)


async def test_tokens_and_costs_are_those_of_all_asks():
    usage = Usage(prompt_tokens=10, completion_tokens=2)
    answer = ChatReply(text="a", usage=usage)
    system = Fake(calling(call(), usage=usage), answer, calling(call(), usage=usage), ChatReply(text="b"))
    sink, clock = Recorded(), FakeClock(step_s=1.0)
    player = Player(sink, PlayOptions(clock=clock, start=0.0))
    prices = Prices(prompt_usd=1e6, completion_usd=0)
    asked = System(name="fake", adapter=system, prices=prices, tools=TOOLS)
    await player.play(Play(system=asked, policy_name="gold", policy=GoldPolicy(), conversation=TALK))
    first, second = sink.records
    assert first.usage == Usage(prompt_tokens=20, completion_tokens=4)
    assert first.cost_usd == 20.0
    assert (second.usage, second.cost_usd) == (None, None), "one reply said nothing of them"


async def test_what_the_server_took_is_that_of_all_asks_if_each_reply_says_so():
    def times(sent, **server):
        return WireTimes(sent=sent, done=sent + 1, server=ServerTimes(**server) if server else None)

    first, second = times(1.0, queue_s=0.25, decode_s=0.5), times(3.0, queue_s=0.5, total_s=1.0, dropped=1)
    for last, expected in ((second, ServerTimes(queue_s=0.75, dropped=1)), (times(3.0), None)):
        _, records = await played(calling(call(), times=first), ChatReply(text="a", times=last), "b")
        assert [one.timing.server for one in records] == [expected, None]


async def test_a_turn_lasts_from_its_first_ask_to_its_last_and_each_step_has_its_time():
    clock = FakeClock()
    pass_by = clock.sleep
    system = Fake(calling(call(order=1)), "a", "b", delay_s=2.0, clock=clock)

    class Slow:
        async def result(self, call, place):
            await pass_by(3.0)
            return "found"

    first, _ = await play(system, GoldPolicy(), TALK, tools=Tools(sources=(Slow(),)), clock=clock)
    assert (first.timing.sent_s, first.timing.done_s) == (0.0, 7.0)
    assert first.step_times_s == ((0.0, 2.0), (2.0, 5.0), (5.0, 7.0))


async def test_a_turn_goes_on_after_the_steps_that_an_earlier_session_kept():
    kept = {}

    async def keep(place, number, asked, step):
        kept.setdefault(place, []).append((number, asked, step))

    async def session(system, begun=None):
        sink, clock = Recorded(), FakeClock(step_s=1.0)
        player = Player(sink, PlayOptions(clock=clock, start=0.0, keep_step=keep))
        asked = System(name="fake", adapter=system, tools=TOOLS)
        one = Conversation(id="c1", turns=TALK.turns[:1])
        await player.play(
            Play(system=asked, policy_name="gold", policy=GoldPolicy(), conversation=one, begun=begun)
        )
        return sink.records[0]

    usage = Usage(prompt_tokens=1, completion_tokens=1)
    script = [calling(call(order=n), usage=usage) for n in (1, 2)] + [ChatReply(text="a", usage=usage)]
    whole = await session(Fake(*script))
    ((place, steps),) = kept.items()
    assert place == ("c1", "fake", "gold", 1)
    assert [number for number, _, _ in steps] == [0, 1, 2, 3]
    for count in range(1, 5):  # the second and the fourth step are results
        begun = UnfinishedTurn(asked=steps[0][1], steps=tuple(step for _, _, step in steps[:count]))
        system = Fake(*script[(count + 1) // 2 :])
        record = await session(system, begun)
        assert len(system.requests) == 3 - (count + 1) // 2, "nothing that was answered is asked again"
        times = record.step_times_s, record.timing
        assert record == replace(whole, step_times_s=times[0], timing=times[1])
        assert record.step_times_s[:count] == whole.step_times_s[:count]
        assert record.timing.latency_s == record.step_times_s[-1][1]
        assert record.timing.lateness_s == 0.0
    other = await session(Fake(*script), UnfinishedTurn(asked="Something else?", steps=begun.steps))
    assert other == whole, "steps behind another question are of no use"


async def test_steps_of_an_interrupted_turn_are_of_use_to_no_other_turn_and_to_no_system_with_a_memory():
    step = Step(
        message=Message(role="assistant", tool_calls=(call(order=1),)),
        times_s=(0.0, 1.0),
        is_reply=True,
        attempts=1,
    )
    twice = conversation(("Where is it?", "Here."), ("Where is it?", "Here."))
    for history, steps in (("client", 2), ("server", 0)):
        kept = []

        async def keep(place, number, asked, step, kept=kept):
            kept.append(step)

        sink, system = Recorded(), Fake("a", "b", history=history)
        player = Player(sink, PlayOptions(clock=FakeClock(step_s=1.0), start=0.0, keep_step=keep))
        await player.play(
            Play(
                system=System(name="fake", adapter=system, tools=TOOLS),
                policy_name="gold",
                policy=GoldPolicy(),
                conversation=twice,
                begun=UnfinishedTurn(asked="Where is it?", steps=(step,)),
            )
        )
        assert [len(record.steps) for record in sink.records] == [steps, 0]
        assert len(kept) == steps / 2


async def test_attempts_are_counted_on_through_a_turn_where_replies_are_kept_as_they_came():
    lost = AdapterConnectionError("reset", retryable=True)
    lost.raw = b"half"
    system = Fake(calling(call(), raw=b"calls"), lost, ChatReply(text="a", raw=b"answer"))
    sink, clock, raw = Recorded(), FakeClock(step_s=1.0), []
    player = Player(sink, PlayOptions(clock=clock, start=0.0, sleep=clock.sleep, keep_raw=raw.append))
    asked = System(name="fake", adapter=system, keep_raw=True, tools=TOOLS)
    one = Conversation(id="c1", turns=TALK.turns[:1])
    await player.play(Play(system=asked, policy_name="gold", policy=GoldPolicy(), conversation=one))
    assert [(one.attempt, one.data) for one in raw] == [(1, b"calls"), (2, b"half"), (3, b"answer")]


async def test_a_timeout_that_a_plugin_raises_itself_is_its_own():
    def raises(request, conversation):
        raise TimeoutError("mine")

    with pytest.raises(PluginError, match="TimeoutError: mine"):
        await played(raises)


async def test_what_a_system_says_it_did_itself_stands_with_what_it_called():
    own = (Message(role="assistant", tool_calls=(call("search"),)), Message(role="tool", text="found"))
    _, (first, _) = await played(calling(call(order=1)), ChatReply(text="a", steps=own), "b")
    assert first.steps[2:] == own
    assert [m.role for m in first.steps] == ["assistant", "tool", "assistant", "tool"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["find", "other"]), min_size=1, max_size=3), max_size=5),
    st.integers(1, 4),
    st.booleans(),
)
def test_each_result_answers_a_call_and_only_the_last_calls_may_have_none(replies, max_steps, knows_all):
    answers = [
        calling(*(call(name, id=f"{r}-{n}") for n, name in enumerate(names)))
        for r, names in enumerate(replies)
    ]
    tools = Tools(
        sources=(listed(("find", ANY, "x")),), missing="y" if knows_all else None, max_steps=max_steps
    )
    one = Conversation(id="c1", turns=ALBUM.turns[:1])
    system = Fake(*answers, "done")
    (record,) = asyncio.run(play(system, GoldPolicy(), one, tools=tools))

    waiting: list[str] = []
    for message in record.steps:
        if message.role == "tool":
            assert message.tool_call_id == waiting.pop(0)
        else:
            assert not waiting
            waiting = [one.id for one in message.tool_calls]
            assert waiting
    assert not (waiting and record.outcome == "answered")
    assert record.asks == len(system.requests) <= max_steps
    if knows_all:
        assert (record.outcome == "answered") == (len(replies) < max_steps)
