"""Whole conversations with a user played by a model, over HTTP: runs, what they pay for, what is kept."""

from __future__ import annotations

import asyncio
import json
import os

import pytest
import yaml

from replay.core.errors import DatasetError, ScenarioError
from replay.report.markdown import markdown_report
from replay.results.judging import judge_run, run_panels
from replay.runs.driver import drive
from replay.runs.launch import resume_async, run_async
from replay.runs.rerun import rerun_async
from tests.cli.command import replay_cli
from tests.data_tables import from_table
from tests.users.serving import Server, killed_while_held
from tests.workers.inside import started_inside

GOAL = {
    "wants": "You want your money back for the kettle of order 40172.",
    "facts": {"name": "Ann Holt", "reason": "the lid does not close"},
}
ASKS = "I'd like my money back for order 40172."
WHY = "The lid does not close."
TALK = {
    "id": "kettle",
    "goal": GOAL,
    "expect": {"contains": "refunded"},
    "metadata": {"criteria": ["Polite."]},
}
ANSWERS = {ASKS: "Why do you send it back?", WHY: "I have refunded 39.00 dollars."}


class Shop(Server):
    """Its users say by goal and depth what *script* has."""

    def __init__(self, script) -> None:
        super().__init__(script, ANSWERS, "I can't do that.")
        self.held = WHY

    def scenario(self, folder, *talks, user=None, turns=5, **more) -> dict:
        (folder / "talks.jsonl").write_text("".join(json.dumps(one) + "\n" for one in talks or [TALK]))
        (folder / "prices.yaml").write_text("models:\n  m: {prompt_usd: 10, completion_usd: 100}\n")
        llm = {**self.adapter("user"), "cache": str(folder / "users.db"), **(user or {})}
        return {
            "name": "shop",
            "data": {"path": str(folder / "talks.jsonl")},
            "systems": [{"name": "shop", **self.adapter("system")}],
            "policies": [{"simulate": {"user": {"llm": llm}, "turns": turns}}],
            "scorers": ["completion_tokens"],
            "prices": str(folder / "prices.yaml"),
            "drift": {"nlp_workers": 0},
            **more,
        }


def serving(script):
    return Shop(script).running()


def said(prompt: str) -> str:
    """What a user says who gets their money back, and one who wants a voucher and gets none."""
    if "voucher" in prompt:
        return "GIVEN UP" if "System:" in prompt else "Can I have a voucher?"
    if "refunded" in prompt:
        return "GOAL REACHED"
    return WHY if "Why do you" in prompt else ASKS


VOUCHER = {"id": "voucher", "goal": {"wants": "You want a voucher.", "opener": "Hello, shop!"}}


async def test_a_run_is_played_reported_and_judged(tmp_path):
    async with serving(said) as server:
        judges = [{name: {**server.adapter("judge"), "cache": False}} for name in ("goal_reached", "rubric")]
        talk = {**TALK, "expect": {"contains": "refunded", "rubric": "It pays back."}}
        content = server.scenario(tmp_path, talk, VOUCHER, judges=judges)
        run = await run_async(content, runs=tmp_path / "runs")
        run = await judge_run(run.folder, run_panels(run, ["all"]))
    kettle, voucher = run.records()[:2], run.records()[2:]
    assert [(r.depth, r.asked, r.edit) for r in kettle] == [(1, ASKS, "simulated"), (2, WHY, "simulated")]
    assert [r.asked for r in voucher] == ["Hello, shop!"]
    assert [(one.conversation, one.depth, one.interventions[0].move) for one in run.endings()] == [
        ("kettle", 3, "goal-reached"),
        ("voucher", 2, "given-up"),
    ]
    assert [(check.kind, check.depth, check.passed) for check in run.checks()] == [
        ("contains", 2, True),
        ("rubric", 2, True),
    ]
    report = run.report(resamples=0)
    (numbers,) = report.simulations
    assert (numbers.plays, numbers.turns, numbers.asks) == (2, 3, 4)
    assert numbers.cost_usd == pytest.approx(4 * (100 * 10 + 10 * 100) / 1e6), "by the scenario's table"
    assert report.table.groups[0].total.unreached == 0
    assert [row.turns for row in report.table.groups[0].depths] == [2, 1]
    assert report.table.groups[0].total.scores["goal_reached"].value == 0.5
    shown = markdown_report(report, title="shop")
    assert "Simulated conversations" in shown
    assert "of 2 conversations 1 goal reached, 1 given up; 4 asks of the user's model, 0.008 USD." in shown


async def test_the_prompt_has_the_goal_and_nothing_that_is_checked(tmp_path):
    async with serving(said) as server:
        talk = {**VOUCHER, "goal": {**VOUCHER["goal"], "persona": "A regular.", "guidelines": ["Be brief."]}}
        user = {"persona": str(tmp_path / "who.txt"), "seed": 7}
        (tmp_path / "who.txt").write_text("In a hurry.")
        run = await run_async(server.scenario(tmp_path, TALK, talk, user=user), runs=tmp_path / "runs")
    told = next(prompt for prompt in server.prompts if "voucher" in prompt)
    for text in (
        "You want a voucher.",
        "Who you are: A regular.\nIn a hurry.",
        "- Be brief.",
        "You: Hello, shop!",
    ):
        assert text in told
    for prompt in server.prompts:
        assert "Polite" not in prompt
        assert "contains" not in prompt
    (signature,) = [s for name, s in run.signatures().items() if name.startswith("simulate")]
    for part in ("policy:simulate|user:llm(openai/m@", "prompt:", "persona:", "seed:7", "turns:5"):
        assert part in signature


async def test_a_known_failure_is_asked_again_with_the_reason(tmp_path):
    text = "GOAL REACHED"  # before anything was said
    async with serving(lambda p: said(p) if "You wrote before" in p else text) as server:
        run = await run_async(server.scenario(tmp_path, turns=1), runs=tmp_path / "runs")
    (record,) = run.records()
    assert [one.text for one in record.interventions[0].rejected] == [text]
    assert record.asked == ASKS
    assert "That can't be sent: " in server.prompts[1]


async def test_a_model_that_gives_no_reply_ends_it_with_the_reason(tmp_path):
    user = {"attempts": 1, "timeout_s": 5}
    async with serving(lambda p: None if "Why do you" in p else ASKS) as server:
        run = await run_async(server.scenario(tmp_path, user=user), runs=tmp_path / "runs")
    (end,) = run.endings()
    assert (len(run.records()), end.interventions[0].move) == (1, "skip")
    assert "the user's model gave no reply" in end.edit_note
    assert run.checks()[0].passed is False, "it is over, and no answer has what was expected"


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
async def test_a_run_that_is_killed_goes_on_and_pays_for_nothing_twice(tmp_path):
    async with serving(said) as server:
        server.hold = asyncio.Event()
        content = server.scenario(tmp_path, VOUCHER, TALK, play={"concurrency": 1})
        run = await killed_while_held(server, content, tmp_path)
        assert [record.conversation for record in run.endings()] == ["voucher"]
        await resume_async(run.folder)
    assert [record.asked for record in run.records()] == ["Hello, shop!", ASKS, WHY]
    assert [one.conversation for one in run.endings()] == ["voucher", "kettle"]
    assert len(server.prompts) == len(set(server.prompts)) == 4, "no words were asked for twice"
    assert server.asked.count(ASKS) == 1
    assert server.asked.count(WHY) == 2, "the ask that was under way"


async def test_several_processes_play_them_too(tmp_path, monkeypatch):
    started_inside(monkeypatch)
    async with serving(said) as server:
        content = server.scenario(tmp_path, VOUCHER, TALK, play={"workers": 2, "concurrency": 2})
        run = await run_async(content, runs=tmp_path / "runs")
    assert [record.asked for record in run.records()] == ["Hello, shop!", ASKS, WHY]
    assert [one.interventions[0].move for one in run.endings()] == ["given-up", "goal-reached"]


async def test_turns_that_are_asked_again_are_talked_on_from(tmp_path):
    async with serving(said) as server:
        run = await run_async(server.scenario(tmp_path), runs=tmp_path / "runs")
        await rerun_async(run.folder, only=["depth=2"])
    assert [record.depth for record in run.records()] == [1, 2]
    assert [one.record.depth for one in run.superseded()] == [2]
    assert [one.depth for one in run.endings()] == [3]
    assert server.asked == [ASKS, WHY, WHY]


async def test_each_play_of_several_has_its_end(tmp_path):
    async with serving(said) as server:
        run = await run_async(server.scenario(tmp_path, play={"repeats": 3}), runs=tmp_path / "runs")
    assert [one.conversation for one in run.endings()] == ["kettle", "kettle~2", "kettle~3"]
    assert len(server.prompts) == 3, "what was said is the same, and so is what the user says to it"


def test_a_plan_says_what_it_would_take_at_most(tmp_path):
    server = Shop(said)
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(server.scenario(tmp_path, TALK, VOUCHER)))
    done = replay_cli("run", "s.yaml", "--dry-run", cwd=tmp_path)
    first, second = done.stdout.splitlines()
    assert first == "each system: 10 questions at most (10 turns, policies: 1)"
    assert "32 asks of its model at most" in second
    assert "USD at most; fewer where goals are reached before" in second
    done = replay_cli("validate", "s.yaml", cwd=tmp_path)
    assert "2 conversations with goals, at most 10 turns" in done.stdout


@from_table
async def test_data_and_policy_that_do_not_go_together_are_told_in_a_sentence(
    tmp_path, talk, policies, message
):
    server = Shop(said)
    content = server.scenario(tmp_path, talk)
    with pytest.raises(ScenarioError) as caught:
        await run_async({**content, "policies": policies or content["policies"]}, runs=tmp_path / "runs")
    assert message in str(caught.value)


async def test_a_program_asks_the_users_questions_itself(tmp_path):
    from replay.core.conversation import Conversation, UserGoal

    async with serving(said) as server:
        llm = {**server.adapter("user"), "cache": False}
        policy = {"simulate": {"user": {"llm": llm}}}
        async with drive(policy) as loop:
            talk = loop.begin(Conversation(id="k", turns=(), goal=UserGoal(**GOAL)))
            asked = []
            while (request := await talk.next_turn()) is not None:
                asked.append(request.question)
                talk.answered(ANSWERS[request.question])
            with pytest.raises(ValueError, match="needs a goal"):
                loop.begin(Conversation(id="other", turns=talk.conversation.turns[:0] or _turns()))
        assert asked == [ASKS, WHY]
        assert list(loop.depth_table(scorers=["completion_tokens"], resamples=0)["unreached"]) == [0, 0, 0]


def _turns():
    from replay.core.conversation import Turn

    return (Turn(id="1", question="Who?"),)


async def test_a_conversation_without_a_turn_or_a_goal_is_none(tmp_path):
    server = Shop(said)
    content = server.scenario(tmp_path, {"id": "a"})
    data = {**content["data"], "format": "native"}
    with pytest.raises(DatasetError, match="has no turns; there is nothing to ask"):
        await run_async({**content, "data": data}, runs=tmp_path / "runs")
