"""Runs with so many users at a time, over real sockets."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from replay.core.errors import InputError, ScenarioError
from tests.load.scenes import Body, Server, level_events, play, play_at, reply, talk


async def test_the_next_turn_follows_the_systems_own_answer(tmp_path):
    async def counting(body: Body, writer: asyncio.StreamWriter) -> None:
        await reply(body, writer, f"answer {len(server.asked)}")

    server = Server(counting)
    run = await play_at(server, tmp_path, {"concurrency": 2, "conversations": 4}, talks=[talk("a", 3)])
    answers = {(r.conversation, r.depth): r.answer for r in run.records()}
    assert len(answers) == 12
    assert len(set(answers.values())) == 12
    last = [body["messages"] for body in server.asked if len(body["messages"]) == 5]
    found = sorted([m["content"] for m in one if m["role"] == "assistant"] for one in last)
    assert found == sorted([answers[name, 1], answers[name, 2]] for name in ("a", "a~2", "a~3", "a~4"))


async def test_conversations_drawn_again_have_ids_of_their_own_and_say_where_they_are_from(tmp_path):
    run = await play(tmp_path, {"concurrency": 3, "conversations": 7})
    played = Counter((r.conversation, r.source) for r in run.records())
    assert played == {
        ("a", None): 2,
        ("b", None): 2,
        ("c", None): 2,
        ("a~2", "a"): 2,
        ("b~2", "b"): 2,
        ("c~2", "c"): 2,
        ("a~3", "a"): 2,
    }
    assert [c.id for c in run.conversations()] == ["a", "b", "c"]


async def test_each_conversation_is_played_with_each_system_under_each_policy(tmp_path):
    policies = ["gold", {"pred": {"detect": False}}]
    run = await play(tmp_path, {"concurrency": 2, "conversations": 6}, policies=policies)
    assert Counter((r.conversation, r.policy) for r in run.records()) == {
        (name, policy): 2 for name in "abc" for policy in ("gold", "pred(detect=False)")
    }


async def test_conversations_that_the_end_of_a_level_cuts_are_counted(tmp_path):
    """Whoever begins before the end, after which the first answers come."""
    over = asyncio.Event()

    async def late(body: Body, writer: asyncio.StreamWriter) -> None:
        asyncio.get_running_loop().call_later(0.4, over.set)
        await over.wait()
        await reply(body, writer)

    server = Server(late)
    run = await play_at(server, tmp_path, {"concurrency": 3, "duration_s": 0.3}, talks=[talk("long", 5000)])
    (level,) = level_events(run)
    assert (level["conversations"], level["cut"]) == (len(server.asked), len(server.asked))
    assert len(run.records()) == len(server.asked), "each ask under way was waited for"


async def test_intervals_resample_the_datas_conversations_not_their_repetitions(tmp_path):
    """A hundred plays of two conversations are two witnesses, not a hundred."""
    talks = [talk("a", 1), talk("b", 1)]
    right = ["a", *(f"a~{number}" for number in range(2, 51))]
    run = await play(
        tmp_path,
        {"concurrency": 4, "conversations": 100},
        talks=talks,
        settings={"answers": {"*": ["no"], **{name: ["a said 1."] for name in right}}},
    )
    summary = run.load_summary(resamples=200)
    score = summary.levels[0].groups[0].total.scores["em"]
    assert score.value == pytest.approx(0.5)
    assert (score.low, score.high) == (pytest.approx(0, abs=0.01), pytest.approx(1, abs=0.01))


async def test_recorded_think_times_that_are_missing_stop_a_run_before_anything_is_asked(tmp_path):
    server = Server()
    talks = [talk("a", 2, metadata={"timestamps": [0, 1]}), talk("b", 2)]
    async with server.running() as address:
        with pytest.raises(InputError, match='conversation "b": there is no timestamp of turn'):
            await play(
                tmp_path,
                {"concurrency": 1, "conversations": 2, "think": "recorded"},
                address=address,
                talks=talks,
            )
    assert server.asked == []


async def test_checks_are_made_of_the_turns_that_are_kept_one_by_one(tmp_path):
    """What was only counted has no answer to look at, and is not passed."""
    talks = [talk("a", 2, expect={"contains": "a said 2"})]
    talks[0]["turns"][0]["expect"] = {"contains": "said 1"}
    run = await play(tmp_path, {"concurrency": 1, "conversations": 2, "keep_turns": 3}, talks=talks)

    found = [(c.conversation, c.depth, c.at_end, c.passed, c.reason) for c in run.checks()]
    assert found == [
        ("a", 1, False, True, None),
        ("a", 2, True, True, None),
        ("a~2", 1, False, True, None),
        ("a~2", 2, True, None, "not asked, or only counted under load"),
    ]
    assert [run.scored()[1][name].observed.count(1.0) for name in ("check", "check.end")] == [3, 1]


async def test_checks_that_nothing_could_look_at_are_refused_before_any_load(tmp_path):
    talks = [talk("a", 1, expect={"rubric": "Is polite."})]
    with pytest.raises(ScenarioError, match="no judge of the type rubric"):
        await play(tmp_path, {"concurrency": 1, "conversations": 1}, talks=talks)
