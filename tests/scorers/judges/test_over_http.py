"""Judges behind real HTTP: good, malformed, slow, rate-limited and lying ones."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from replay.core.asking.costs import AskTally
from replay.scorers.judges.judging import judge_all
from replay.scorers.scorer import Unscored
from tests.scorers.judges.samples import case, judge, panel
from tests.scorers.judges.servers import broken, judge_server, limited
from tests.waiting import others_first, until_async

CASES = [case(1), case(2), case(3)]


def values(verdicts):
    return [verdict.values for verdict in verdicts]


async def test_a_good_judge_is_asked_once_per_turn_without_history_and_all_of_it_is_kept():
    def reply(prompt, number):
        return "Yes, it is." if "It was Alice Okafor" in prompt else "No"

    async with judge_server(reply) as server:
        verdicts, tally = await judge(panel("correctness", **server.settings(), concurrency=1), CASES)

    assert values(verdicts) == [{"": 1.0}, {"": 0.0}, {"": 0.0}]
    assert len(server.bodies) == 3
    for body in server.bodies:
        assert [message["role"] for message in body["messages"]] == ["user"]
        assert (body["temperature"], body["max_tokens"]) == (0, 16)
    assert (tally.asks, tally.prompt_tokens, tally.completion_tokens) == (3, 300, 6)
    (asked,) = verdicts[0].asks
    assert (asked.text, asked.cached, asked.usage.prompt_tokens) == ("Yes, it is.", False, 100)
    assert verdicts[0].prompts[asked.prompt] == server.prompts[0]
    assert dict(asked.parameters) == {"temperature": 0, "max_tokens": 16}


async def test_a_judges_parameters_go_before_the_adapters_own():
    async with judge_server("Yes") as server:
        settings = server.settings(extra={"temperature": 1, "seed": 3})
        await judge(panel("correctness", **settings, parameters={"max_tokens": 2}), CASES[:1])

    body = server.bodies[0]
    assert (body["temperature"], body["seed"], body["max_tokens"]) == (0, 3, 2)


async def test_a_malformed_judge_leaves_turns_unscored_with_its_words_kept():
    async with judge_server("As a language model, I can say this:") as server:
        verdicts, tally = await judge(panel("correctness", **server.settings()), CASES)

    assert values(verdicts) == [{"": Unscored(reason="the judge said neither yes nor no")}] * 3
    assert verdicts[0].asks[0].text == "As a language model, I can say this:"
    assert (tally.verdicts, tally.unscored, tally.failed_asks) == (3, 3, 0)


async def test_an_empty_reply_and_a_server_error_are_reasons():
    def reply(prompt, number):
        return "" if "Alice Okafor wrote" in prompt or number == 1 else broken(400)

    async with judge_server(reply) as server:
        verdicts, tally = await judge(panel("correctness", **server.settings(), concurrency=1), CASES)

    assert values(verdicts) == [
        {"": Unscored(reason="judge bad-reply")},
        {"": Unscored(reason="judge refused")},
        {"": Unscored(reason="judge refused")},
    ]
    assert "without a text" in tally.first_failure
    assert "oh no" in verdicts[1].asks[0].error


async def test_a_slow_judge_times_out():
    async with judge_server(None) as server:
        verdicts, tally = await judge(panel("correctness", **server.settings(), timeout_s=0.02), CASES)

    assert values(verdicts) == [{"": Unscored(reason="judge timed-out")}] * 3
    assert tally.first_failure == "no complete reply within 0.02 s; raise timeout_s if it may take longer"


@pytest.mark.parametrize(
    ("attempts", "reply", "value", "counts"),
    [
        (3, lambda prompt, number: limited() if number % 2 else "Yes", 1.0, (6, 3, 0)),
        (2, lambda prompt, number: limited(), Unscored(reason="judge rate-limited"), (6, 3, 3)),
    ],
    ids=["again", "for good"],
)
async def test_a_rate_limited_judge_is_asked_again_and_given_up_in_the_end(attempts, reply, value, counts):
    async with judge_server(reply) as server:
        built = panel("correctness", **server.settings(), concurrency=1, attempts=attempts)
        verdicts, tally = await judge(built, CASES)

    assert values(verdicts) == [{"": value}] * 3
    assert (tally.asks, tally.retries, tally.failed_asks) == counts
    assert tally.first_failure is None or "429" in tally.first_failure


async def test_log_probabilities_come_over_the_wire():
    async with judge_server({"4": 0.75, "5": 0.25}) as server:
        built = panel("geval", **server.settings(), mode="logprobs", criteria=["coherence"])
        (verdict,), _ = await judge(built, CASES[1:2])

    assert verdict.values == pytest.approx({"coherence": 4.25})
    assert (server.bodies[0]["logprobs"], server.bodies[0]["top_logprobs"]) == (True, 20)


async def test_an_endpoint_without_log_probabilities_is_told_at_once_and_then_left_alone():
    async with judge_server({"4": 1.0}, gives_logprobs=False) as server:
        settings = {"mode": "logprobs", "criteria": ["coherence"], "concurrency": 1}
        verdicts, tally = await judge(panel("geval", **server.settings(), **settings), CASES * 3)

    reason = 'no log-probabilities in the reply; use mode "samples" or "single"'
    assert values(verdicts) == [{"coherence": Unscored(reason=reason)}] * 9
    assert len(server.bodies) == 3  # enough to know that the others would be like them
    assert tally.first_failure == f"openai/m: {reason}"


async def test_no_more_asks_at_a_time_than_the_judge_may_have():
    async with judge_server("Yes", delay_s=0.003) as server:
        await judge(panel("correctness", **server.settings(), concurrency=2), CASES * 4)

    assert server.most_at_a_time == 2


async def test_the_politeness_limit_holds():
    async with judge_server("Yes") as server:
        limit = {"asks": 2, "per_s": 3600}
        built = panel("correctness", **server.settings(), limit=limit)
        task = asyncio.create_task(judge(built, CASES * 4))
        await until_async(lambda: len(server.bodies) >= 2)
        await others_first()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert len(server.bodies) == 2


async def test_the_majority_decides_every_vote_is_kept_and_a_voter_that_fails_does_not_count():
    replies = {"one": "Yes", "two": "No", "three": "yes!", "four": lambda prompt, number: broken(400)}
    async with AsyncExitStack() as stack:
        servers = {
            name: await stack.enter_async_context(judge_server(said)) for name, said in replies.items()
        }
        voters = [{**server.settings(), "name": name} for name, server in servers.items()]
        (verdict,), tally = await judge(panel("correctness", voters=voters), CASES[:1])

    assert verdict.values == {"": 1.0}
    votes = [(vote.voter, vote.values[""]) for vote in verdict.repeats[0].votes]
    refused = Unscored(reason="judge refused")
    assert votes == [("one", 1.0), ("two", 0.0), ("three", 1.0), ("four", refused)]
    assert (tally.asks, tally.failed_asks) == (4, 1)


async def test_repeats_are_really_asked_and_their_mean_counts():
    async with judge_server(lambda prompt, number: "Yes" if number % 4 else "No") as server:
        built = panel("correctness", **server.settings(), repeats=4)
        (verdict,), _ = await judge(built, CASES[:1])

    assert verdict.values == {"": 0.75}
    assert [repeat.values[""] for repeat in verdict.repeats] == [1.0, 1.0, 1.0, 0.0]


async def test_costs_are_reckoned_from_prices():
    async with judge_server("Yes") as server:
        prices = {"prompt_usd": 10, "completion_usd": 1000}
        _, tally = await judge(panel("correctness", **server.settings(), prices=prices), CASES[:2])

    assert tally.cost_usd == pytest.approx(2 * (100 * 10 + 2 * 1000) / 1e6)


async def test_cancelled_half_way_what_is_judged_is_kept_and_what_was_replied_is_cached(tmp_path):
    async with judge_server(lambda prompt, number: "Yes" if number <= 2 else None) as server:
        cache = str(tmp_path / "verdicts.db")
        built = panel("correctness", **server.settings(), concurrency=1, cache=cache)
        kept: list[object] = []
        task = asyncio.create_task(judge_all(built, CASES, tally=AskTally(), keep=kept.append))
        await until_async(lambda: len(server.bodies) >= 3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        server.reply = lambda prompt, number: "Yes"
        verdicts, tally = await judge(built, CASES)

    assert len(kept) == 2
    assert values(verdicts) == [{"": 1.0}] * 3
    assert (tally.cached, tally.asks) == (2, 1)


async def test_the_same_question_at_the_same_time_is_asked_once(tmp_path):
    """Policies often give the same answer, so that cases of several of them ask the same."""
    async with judge_server("Yes", delay_s=0.002) as server:
        built = panel("correctness", **server.settings(), cache=str(tmp_path / "verdicts.db"))
        _, tally = await judge(built, [case(1)] * 4)

    assert len(server.bodies) == 1
    assert (tally.asks, tally.cached) == (1, 3)


async def test_generated_steps_are_asked_for_once_per_judging(tmp_path):
    (tmp_path / "own.yaml").write_text("- {name: brevity, definition: Is it short}")

    def reply(prompt, number):
        return "1. Look." if "numbered" in prompt else "3"

    async with judge_server(reply) as server:
        settings = {"mode": "single", "criteria_file": "own.yaml", "repeats": 2}
        await judge(panel("geval", tmp_path, **server.settings(), **settings), CASES)

    assert sum("numbered" in prompt for prompt in server.prompts) == 1
    assert len(server.bodies) == 1 + 2 * 3


async def test_a_prompt_that_doesnt_fit_a_case_is_a_reason(tmp_path):
    (tmp_path / "own.txt").write_text("{{ passages[0].text }} {{ predicted }}")
    async with judge_server("Yes") as server:
        built = panel("correctness", tmp_path, **server.settings(), prompt="own.txt")
        (verdict,), _ = await judge(built, CASES[:1])

    assert verdict.values == {"": Unscored(reason="the prompt can't be filled in")}
    assert server.bodies == []
