"""``history`` among a policy's settings: what is sent, what is judged, and what the run says of it."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from aiohttp import web

from replay import Conversation, PlannedTurn, ScenarioError, own_history, run_async
from replay.core.history import HistoryView
from replay.policies.policy import ViewedPolicy
from replay.policies.recorded import PredPolicy
from replay.policies.rewrite import RewritePolicy
from replay.results.verdict_columns import turn_cases
from replay.runs.launch import load_scenario
from replay.scenario.assembly import assemble
from replay.statistics.score_column import turn_rows
from replay.store.page_queries import RunBrowser
from replay.store.store import RunStore
from replay.testing import PolicyContract
from replay.testing.fakes import chat_server
from replay.viewer.conversation_view import ScoreKinds, conversation_view
from tests.adapters.servers import answering
from tests.data_tables import from_table
from tests.samples import ALICE, SINGER, Fake, detector, play

ASTRAY = ("It is a song.", "I don't know.", "No idea.", "Nothing.")
TALK = {
    "id": "c",
    "turns": [{"question": f"Question {n}?", "gold_answers": [f"Gold {n}."]} for n in range(1, 5)],
}
Messages = list[tuple[str, str]]


class TestViewed(PolicyContract):
    whole_history = False

    @pytest.fixture
    def policy(self, detector):
        return ViewedPolicy(policy=PredPolicy(detector=detector), view=HistoryView(last=1))


@dataclass(frozen=True, kw_only=True)
class Backwards:
    """Somebody else's policy."""

    history: ClassVar[str] = "own"
    signature: ClassVar[str] = "backwards"

    async def plan(self, conversation: Conversation, depth: int, played: Any) -> PlannedTurn:
        question = conversation.turns[depth - 1].question
        return PlannedTurn(question=question, history=own_history(played)[::-1], edit="kept")


def scenario(folder: Path, policy: Any, system: Any = None) -> dict[str, Any]:
    (folder / "talk.jsonl").write_text(json.dumps(TALK) + "\n", "utf-8")
    return {
        "name": "viewed",
        "data": {"path": str(folder / "talk.jsonl")},
        "systems": [system or {"name": "bot", "adapter": "extractive"}],
        "policies": [policy],
        "scorers": ["em"],
    }


async def sent(folder: Path, policy: Any, adapter: str = "openai") -> list[Messages]:
    """The messages of each request, over HTTP."""
    bodies: list[Messages] = []

    async def answer(request: web.Request) -> web.Response:
        messages = (await request.json())["messages"]
        bodies.append([(one["role"], one["content"]) for one in messages])
        text = f"Own {len(bodies)}."
        if adapter == "anthropic":
            return web.json_response({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"})
        return web.json_response({"choices": [{"message": {"content": text}}]})

    async with answering(answer) as address:
        settings: dict[str, Any] = {"base_url": address, "model": "m"}
        if adapter == "anthropic":
            settings["max_tokens"] = 9
        system = {"name": "bot", "adapter": adapter, "settings": settings}
        await run_async(scenario(folder, policy, system), runs=folder / "runs")
    return bodies


@pytest.mark.parametrize(
    ("policy", "before"),
    [
        ({"gold": {"history": {"last": 1}}}, [("user", "Question 3?"), ("assistant", "Gold 3.")]),
        ({"gold": {"history": {"last": 0}}}, []),
        ({"gold": {"history": "user-only"}}, [("user", f"Question {n}?") for n in (1, 2, 3)]),
        (
            {"pred": {"detect": False, "history": {"last": 2, "user-only": True}}},
            [("user", "Question 2?"), ("user", "Question 3?")],
        ),
        (
            {"own": Backwards, "settings": {"history": {"last": 1}}},
            [("user", "Question 1?"), ("assistant", "Own 1.")],
        ),
    ],
    ids=["last", "none", "user-only", "both", "third-party"],
)
async def test_a_system_is_sent_what_is_left(tmp_path: Path, policy: Any, before: Messages) -> None:
    bodies = await sent(tmp_path, policy)
    assert bodies[-1] == [*before, ("user", "Question 4?")]


async def test_anthropic_is_sent_questions_in_a_row(tmp_path: Path) -> None:
    """It makes one turn of them, as its documentation of Messages says."""
    bodies = await sent(tmp_path, {"gold": {"history": "user-only"}}, "anthropic")
    assert bodies[-1] == [("user", f"Question {n}?") for n in (1, 2, 3, 4)]


async def test_templates_get_an_empty_answer_and_no_message_of_it(tmp_path: Path) -> None:
    bodies: list[Any] = []

    async def answer(request: web.Request) -> web.Response:
        bodies.append(await request.json())
        return web.json_response({"answer": "Yes."})

    async with answering(answer) as address:
        body = {"history": "{{ history }}", "messages": "{{ messages }}"}
        settings = {"url": address, "answer": "answer", "body": body}
        system = {"name": "bot", "adapter": "http", "settings": settings}
        policy = {"gold": {"history": {"last": 1, "user-only": True}}}
        await run_async(scenario(tmp_path, policy, system), runs=tmp_path / "runs")

    assert bodies[-1] == {
        "history": [{"question": "Question 3?", "answer": ""}],
        "messages": [{"role": "user", "content": f"Question {n}?"} for n in (3, 4)],
    }


async def test_drift_is_judged_on_all_that_was_said() -> None:
    """A rewriting mends what drifted, not what was cut."""
    async with detector(resolver=ALICE) as drift:
        whole = RewritePolicy(detector=drift)
        cut = ViewedPolicy(policy=whole, view=HistoryView(last=0, user_only=True))
        plain, viewed = [await play(Fake(*ASTRAY), policy, SINGER) for policy in (whole, cut)]

    assert [(r.asked, r.drift) for r in viewed] == [(r.asked, r.drift) for r in plain]
    assert "rewritten" in {r.edit for r in viewed}
    assert [r.history_cut for r in viewed] == [None, "exchange 1", "exchanges 1 to 2", "exchanges 1 to 3"]
    assert {r.history_cut for r in plain} == {None}


@pytest.mark.usefixtures("code_runs")
def test_label_and_signature_name_the_view_and_all_else_is_the_policys(tmp_path: Path) -> None:
    rewrite = {"rewrite": {"history": {"last": 1, "user-only": True}}}
    assembly = assemble(load_scenario(scenario(tmp_path, rewrite)))

    ((label, policy),) = assembly.policies.items()

    assert label == "rewrite(history=last:1+user-only)"
    assert policy.signature.startswith("rewrite+history:last:1+user-only|rewriter:")
    assert assembly.detector is not None
    assert getattr(policy, "rewriter", None) is not None


@from_table
def test_what_is_no_view_is_a_fault_at_its_place(tmp_path: Path, history: Any, said: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        assemble(load_scenario(scenario(tmp_path, {"gold": {"history": history}})))

    (fault,) = raised.value.faults
    assert fault.path.startswith("policies[0].gold.history")
    assert said in fault.message


def test_a_history_that_the_system_keeps_can_not_be_cut(tmp_path: Path) -> None:
    keeper = {"name": "keeper", "adapter": "extractive", "settings": {"history": "server"}}
    policy = {"mine": "pred", "settings": {"history": "user-only"}}

    with pytest.raises(ScenarioError) as raised:
        assemble(load_scenario(scenario(tmp_path, policy, keeper)))

    (fault,) = raised.value.faults
    assert (fault.path, '"keeper" keeps its own history' in fault.message) == (
        "policies[0].settings.history",
        True,
    )


async def test_the_page_says_whose_answers_were_shown(tmp_path: Path) -> None:
    policies = ["gold", {"gold": {"history": "user-only"}}]
    run = await run_async({**scenario(tmp_path, "gold"), "policies": policies}, runs=tmp_path / "runs")

    with closing(RunBrowser(run.folder)) as browser:
        view = conversation_view(browser, "c", ScoreKinds(units={}, judges=()))
    assert view is not None
    assert [(column.label, column.history) for column in view.columns] == [
        ("gold", "gold"),
        ("gold(history=user-only)", "no"),
    ]


@pytest.mark.parametrize("policy", ["gold", "pred"])
async def test_judges_and_exports_get_what_was_shown(tmp_path: Path, policy: str) -> None:
    async with chat_server() as server:
        entry = {policy: {"history": {"last": 1}}}
        run = await run_async(scenario(tmp_path, entry, server.system), runs=tmp_path / "runs")

    answers = [f"Gold {n}." if policy == "gold" else f"Answer to Question {n}?" for n in (1, 2, 3)]
    store = RunStore(run.folder)
    shown = [[one.answer for one in case.history] for case in turn_cases(store)]
    store.close()
    assert shown == [[], *([answer] for answer in answers)]
    rows = turn_rows(run.records(), {}, nested=True)
    assert [row["history_cut"] for row in rows] == [None, None, "exchange 1", "exchanges 1 to 2"]
