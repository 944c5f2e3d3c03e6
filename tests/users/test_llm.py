"""A user played by a model, over HTTP: what it is asked, what is said of what it writes, what is kept."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Sequence

import pytest

from replay.core.conversation import Turn
from replay.core.errors import ScenarioError
from replay.runs.launch import resume_async, run_async
from replay.testing import UserContract
from replay.testing.user_contract import SHOP
from replay.users.user import build_user
from tests.data_tables import from_table
from tests.users.serving import Server, killed_while_held

ASKS_BACK = "Which order is it about, 55555 of Karen Holt? Please tell me its number."
GOOD = "It's 40233, the one from last week."
GOLD = [answer for turn in SHOP.turns for answer in turn.gold_answers]


class Shop(Server):
    """One that asks back, and a user who says *texts* in turn."""

    def __init__(self, *texts: str) -> None:
        answers = {SHOP.turns[0].question: GOLD[0], SHOP.turns[1].question: ASKS_BACK}
        super().__init__(self.next_text, answers, "It has left our store.")
        self.texts = list(texts)
        self.held = GOOD
        self.turns: Sequence[Turn] = SHOP.turns[:2]

    def next_text(self, prompt: str) -> str:
        return self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]

    def scenario(self, folder, **settings) -> dict:
        fields = [
            {
                "question": turn.question,
                "gold_answer": turn.gold_answers[0],
                **({"standalone": turn.standalone} if turn.standalone else {}),
            }
            for turn in self.turns
        ]
        line = {"id": "shop", "title": SHOP.title, "turns": fields}
        (folder / "talks.jsonl").write_text(json.dumps(line) + "\n")
        prices = {"prompt_usd": 10, "completion_usd": 100}
        llm = {**self.adapter("user"), "cache": str(folder / "users.db"), "prices": prices, **settings}
        return {
            "name": "shop",
            "data": {"path": str(folder / "talks.jsonl")},
            "systems": [{"name": "shop", **self.adapter("system")}],
            "policies": [{"react": {"user": {"llm": llm}}}],
            "scorers": ["em"],
            "drift": {"nlp_workers": 0},
        }


def serving(*texts):
    return Shop(*texts).running()


class TestScriptedModel(UserContract):
    """A model that says the same to the same prompt."""

    @pytest.fixture
    def user(self, tmp_path):
        texts = ["Can I cancel the knife of order 40233?", "Is order 40233 still to be stopped?"]
        (tmp_path / "model.py").write_text(
            "from contextlib import asynccontextmanager\nfrom replay import ChatReply\n"
            "class Model:\n    history = 'client'\n    @asynccontextmanager\n"
            "    async def session(self, conversation):\n        yield self\n"
            "    async def ask(self, request):\n"
            f"        texts = {texts!r}\n"
            "        return ChatReply(text=texts['You wrote before' in request.question])\n"
        )
        from replay.core.safety.consent import code_may_run

        with code_may_run():
            return build_user({"llm": {"adapter": "model.py:Model", "cache": False}}, tmp_path)


@pytest.mark.parametrize("text", ["  ", "User: It's 40233."])
async def test_a_known_failure_is_asked_again_with_the_reason(tmp_path, text):
    """Which ones there are is for ``test_faithful``."""
    async with serving(text, GOOD) as server:
        run = await run_async(server.scenario(tmp_path), runs=tmp_path / "runs")
    second = run.records()[1]
    (one,) = second.interventions
    (found,) = one.rejected
    assert found.text == text.strip() or not text.strip()
    assert one.said == GOOD
    assert (one.occasion, one.move, one.source, one.asks) == ("asked-back", "answer", "model", 2)
    # Of a reply that is none, nobody says what it cost.
    cost_usd = pytest.approx(2 * (100 * 10 + 10 * 100) / 1e6)
    assert one.cost_usd == (cost_usd if text.strip() else None)
    assert f"That can't be sent: {found.reason}" in server.prompts[1]
    assert server.asked[-1] == GOOD
    assert second.answer == "It has left our store."


async def test_no_prompt_holds_a_recorded_answer(tmp_path):
    async with serving("User: 40233", "###STOP###", "  ") as server:
        await run_async(server.scenario(tmp_path), runs=tmp_path / "runs")
    assert len(server.prompts) == 3
    for prompt in server.prompts:
        assert ASKS_BACK in prompt
        # The first answer is the system's own as well, which is part of what was really said.
        assert not [answer for answer in GOLD[1:] if answer in prompt]
        assert "Dunmore" not in prompt


async def test_a_model_may_say_nothing(tmp_path):
    async with serving("SKIP") as server:
        run = await run_async(server.scenario(tmp_path), runs=tmp_path / "runs")
    (one,) = run.records()[1].interventions
    assert (one.move, one.asks, one.rejected) == ("skip", 1, ())
    assert "nothing to say" in one.note


async def test_the_seed_and_the_persona_reach_the_model_and_the_signature(tmp_path):
    (tmp_path / "angry.txt").write_text("You are in a hurry.")
    async with serving(GOOD) as server:
        content = server.scenario(tmp_path, seed=7, persona=str(tmp_path / "angry.txt"))
        run = await run_async(content, runs=tmp_path / "runs")
    assert server.bodies[0]["seed"] == 7
    assert "Who you are: You are in a hurry." in server.prompts[0]
    (signature,) = [s for name, s in run.signatures().items() if name.startswith("react")]
    for part in ("user:llm(openai/m@", "prompt:", "persona:", "seed:7", "extra:2"):
        assert part in signature


async def test_the_same_run_pays_for_no_wording_again(tmp_path):
    async with serving(GOOD) as server:
        first, second = [await run_async(server.scenario(tmp_path), runs=tmp_path / "runs") for _ in range(2)]
    assert len(server.prompts) == 1
    assert [run.records()[1].interventions[0].cost_usd for run in (first, second)] == [
        pytest.approx(0.002),
        0.0,
    ]
    assert [run.records()[1].interventions[0].said for run in (first, second)] == [GOOD, GOOD]


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
async def test_a_run_killed_within_an_intervention_asks_and_pays_nothing_again(tmp_path):
    async with serving(GOOD) as server:
        server.hold = asyncio.Event()
        run = await killed_while_held(server, server.scenario(tmp_path), tmp_path)
        assert [record.depth for record in run.records()] == [1]
        await resume_async(run.folder)
    second = run.records()[1]
    assert (second.answer, second.exchanges, second.asks) == ("It has left our store.", 2, 2)
    assert [step.text for step in second.steps] == [ASKS_BACK, GOOD]
    assert len(server.prompts) == 1
    every = Counter([*(turn.question for turn in SHOP.turns[:2]), GOOD])
    assert Counter(server.asked) - every == Counter([GOOD]), "the ask that was under way"


ALBUM = (
    ("Who wrote Stone Garden?", "Alice Okafor wrote it in 1987."),
    ("Where was she born?", "In Port Ellis."),
    ("What else did she write?", "A play."),
)
WORDED = "Where was Alice Okafor born?"


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
async def test_a_drifted_question_that_was_worded_is_not_paid_again_without_a_cache(tmp_path):
    async with serving(WORDED, "Where was this Alice Okafor born?") as server:
        server.turns = [Turn(id=q, question=q, gold_answers=(gold,)) for q, gold in ALBUM]
        server.answers = {ALBUM[0][0]: "The painter Vera Holm wrote it."}
        server.hold, server.held = asyncio.Event(), WORDED
        run = await killed_while_held(server, server.scenario(tmp_path, cache=False), tmp_path)
        await resume_async(run.folder)
    records = run.records()
    (one,) = records[1].interventions
    assert (one.occasion, one.said, one.asks, records[1].asked) == ("drifted", WORDED, 1, WORDED)
    assert one.cost_usd == pytest.approx(0.002)
    assert records[1].edit == "rewritten"
    assert len(server.prompts) == 1
    assert [record.interventions for record in (records[0], records[2])] == [(), ()]


@from_table
def test_what_is_no_user_is_told_in_a_sentence(tmp_path, user, message):
    with pytest.raises(ScenarioError) as caught:
        build_user(user, tmp_path)
    assert message in str(caught.value)
