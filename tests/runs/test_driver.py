"""A loop of the caller's own asks what a run would ask, and gets a run's records and numbers."""

from __future__ import annotations

import msgspec
import pytest

from replay import (
    AdapterCutOffError,
    AdapterTimeoutError,
    ChatReply,
    Conversation,
    GoldPolicy,
    Message,
    ToolCall,
    Turn,
    Usage,
    drive,
)
from replay.core.errors import DatasetError, ScenarioError
from replay.runs.launch import run_async
from tests.samples import ALBUM, SINGER, conversation

POLICIES = ["gold", "pred", "rewrite", "filter", {"replace": {"always": True}}, "augment"]


def answer(question, history):
    """Astray in the second turn, so that there is something to mend."""
    return "Bob Stone sang it in Port Ellis." if len(history) < 2 else f"{question} {len(history)}"


async def by_own_loop(policy, talks, **settings):
    async with drive(policy, system="s", **settings) as loop:
        for talk in talks:
            play = loop.begin(talk)
            while request := await play.next_turn():
                play.answered(answer(request.question, request.history))
        return loop


def without_times(records):
    return [msgspec.structs.replace(record, timing=None, started_at=None) for record in records]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
async def test_the_records_and_the_depth_table_are_those_of_a_run(tmp_path, policy):
    talks = [ALBUM, SINGER]
    scenario = {
        "name": "same",
        "data": talks,
        "systems": [{"name": "s", "adapter": answer}],
        "policies": [policy],
        "scorers": ["em", "f1"],
        "drift": {"nlp_workers": 0},
    }
    run = await run_async(scenario, runs=tmp_path)
    loop = await by_own_loop(policy, talks)

    assert without_times(loop.records) == without_times(run.records())
    numbers = [column for column in run.depth_table() if not column.startswith("latency")]
    assert loop.depth_table()[numbers].equals(run.depth_table()[numbers])
    scores = ["conversation", "depth", "em", "f1", "valid"]
    assert loop.turns()[scores].equals(run.turns()[scores])


async def test_a_failed_turn_ends_the_conversation_or_gives_way_to_the_gold_answer():
    for on_failure, asked in (("stop", 1), ("gold", 3)):
        async with drive("pred", on_failure=on_failure) as loop:
            play = loop.begin(ALBUM)
            while request := await play.next_turn():
                if request.depth == 1:
                    play.failed(AdapterTimeoutError("no answer within 3 s"))
                else:
                    assert request.history[0].answer == ALBUM.turns[0].gold_answer
                    play.answered("Yes.")
        assert len(loop.records) == asked
        assert (loop.records[0].outcome, loop.records[0].error) == ("timed-out", "no answer within 3 s")
        assert list(loop.depth_table(resamples=0)["unreached"]) == [0, *[int(asked == 1)] * 2, 3 - asked]


async def test_a_reply_with_tokens_costs_and_a_cut_off_answer_are_kept():
    async with drive("gold") as loop:
        play = loop.begin(conversation(("Who?", "Me."), ("Why?", "So.")))
        await play.next_turn()
        play.answered(ChatReply(text="Me.", usage=Usage(completion_tokens=2), cost_usd=0.5))
        await play.next_turn()
        play.failed(AdapterCutOffError("it stopped", partial="So"))
        first, second = loop.records

    assert (first.usage, first.cost_usd, first.answer) == (Usage(completion_tokens=2), 0.5, "Me.")
    assert (second.outcome, second.partial, second.answer) == ("cut-off", "So", None)


async def test_conversations_can_be_under_way_side_by_side():
    async with drive("pred") as loop:
        plays = [loop.begin(ALBUM), loop.begin(SINGER)]
        while plays:
            for play in [*plays]:
                if request := await play.next_turn():
                    play.answered(answer(request.question, request.history))
                else:
                    plays.remove(play)
        apart = await by_own_loop("pred", [ALBUM, SINGER])

    def places(records):
        return sorted((r.conversation, r.depth, r.answer) for r in records)

    assert places(loop.records) == places(apart.records)


async def test_the_latency_is_the_time_between_a_turn_and_its_answer():
    moments = iter([0.0, 1.0, 3.5])
    async with drive("gold") as loop:
        loop.clock = lambda: next(moments)
        loop._start = loop.clock()
        play = loop.begin(ALBUM)
        await play.next_turn()
        play.answered("So.")

    assert loop.records[0].timing.latency_s == 2.5


async def test_only_the_last_turn_and_system_prompts():
    first = Turn(
        id="1", question="Who?", gold_answers=("Me.",), asked_with=(Message(role="system", text="Be brief."),)
    )
    second = Turn(
        id="2", question="Why?", gold_answers=("So.",), asked_with=(Message(role="system", text="Be kind."),)
    )
    async with drive("gold") as loop:
        play = loop.begin(Conversation(id="c", turns=(first, second), asked_from=2))
        request = await play.next_turn()
        play.answered("So.")
        assert await play.next_turn() is None

    assert [(e.question, e.asked_with[0].text) for e in request.history] == [("Who?", "Be brief.")]
    assert (request.depth, request.asked_with) == (2, second.asked_with)
    assert list(loop.depth_table(resamples=0)["unreached"]) == [0, 0]


async def test_what_is_done_out_of_turn_is_an_error():
    async with drive("gold") as loop:
        play = loop.begin(ALBUM)
        with pytest.raises(RuntimeError, match="no turn waits for an answer; await next_turn first"):
            play.answered("Too early.")
        await play.next_turn()
        with pytest.raises(RuntimeError, match="turn 1 waits for its answer; call answered or failed"):
            await play.next_turn()
        with pytest.raises(ValueError, match='conversation "c1" was begun already'):
            loop.begin(ALBUM)
        with pytest.raises(DatasetError, match="has no turns"):
            loop.begin(Conversation(id="empty", turns=()))


class Nothing:
    pass


@pytest.mark.parametrize(
    ("policy", "settings", "words"),
    [
        ("rewritte", {}, 'did you mean "rewrite"?'),
        ({"replace": {"alwais": True}}, {}, 'did you mean "always"?'),
        (["gold", "pred"], {}, "is expected here"),
        (Nothing(), {}, "it lacks history, plan, signature"),
        ("pred", {"drift": {"mode": "strickt"}}, 'did you mean "strict"?'),
        ("pred", {"drift": {"resolver": "embeded"}}, 'did you mean "embedded"?'),
    ],
)
async def test_what_cannot_be_built_is_told_before_anything_is_asked(policy, settings, words):
    with pytest.raises(ScenarioError) as caught:
        async with drive(policy, **settings):
            pass
    assert words in str(caught.value)


async def test_a_policy_may_be_an_object_and_a_scorer_as_well():
    loop = await by_own_loop(GoldPolicy(), [ALBUM])

    assert {record.policy for record in loop.records} == {"GoldPolicy"}
    with pytest.raises(ScenarioError, match='"f2" is not a known scorer'):
        loop.turns(["f2"])


async def test_a_reply_may_say_what_tools_were_called_and_is_none_while_it_calls_some():
    call = ToolCall(id="1", name="find", arguments="{}")
    steps = (
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", text="found", tool_call_id="1"),
    )
    async with drive("pred", system="s") as loop:
        play = loop.begin(ALBUM)
        await play.next_turn()
        with pytest.raises(ValueError, match="calls find and is no answer yet"):
            play.answered(ChatReply(text="", tool_calls=(call,)))
        play.answered(ChatReply(text="Ann.", steps=steps, usage=Usage(prompt_tokens=3)))
        request = await play.next_turn()

    assert request.history[0].steps == loop.records[0].steps == steps
    assert loop.records[0].usage == Usage(prompt_tokens=3)
