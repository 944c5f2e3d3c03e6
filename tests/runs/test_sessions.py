"""Conversations of several sessions: with a system that remembers its users, and one that is sent it all."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections import Counter
from contextlib import asynccontextmanager

import pytest
import yaml
from aiohttp import web

from replay.results.run import newest_run
from replay.runs.launch import resume_async, run_async
from tests.cli.command import beginning, replay_cli
from tests.runs.scenes import playing
from tests.waiting import until_async

SESSIONS = {"monday": ["My cat is Bo.", "He is four."], "friday": ["Hello.", "Who is my cat?"]}


@pytest.fixture
def folder(tmp_path):
    turns = [
        {"id": f"{session}{n}", "session": session, "question": question, "gold_answer": f"So: {question}"}
        for session, questions in SESSIONS.items()
        for n, question in enumerate(questions)
    ]
    turns[0]["asked_with"] = [{"role": "system", "text": "It is Monday."}]
    turns[2]["asked_with"] = [{"role": "system", "text": "It is Friday."}]
    turns[3] |= {"evidence": ["monday0", "monday1"], "kind": "recall"}
    talks = [{"id": name, "turns": turns} for name in ("ann", "ben")]
    (tmp_path / "talks.jsonl").write_text("".join(json.dumps(one) + "\n" for one in talks), "utf-8")
    return tmp_path


def scenario(folder, system, **changes):
    own = {"policies": ["pred"], "scorers": ["em"], "play": {"attempts": 1, "concurrency": 1}}
    return playing(folder, system, **own | changes)


class Memory:
    """A system that keeps sessions, and remembers of each user what was said in those that were closed."""

    def __init__(self) -> None:
        self.said: dict[str, list[str]] = {}
        self.users: dict[str, str] = {}
        self.remembered: dict[str, list[str]] = {}
        self.events: list[str] = []
        self.refuses = ""
        """The session that it doesn't open."""
        self.waits_at: int | None = None
        """It never answers the question of that number, from 1."""
        self.over = asyncio.Event()

    async def open(self, request: web.Request) -> web.Response:
        user, id = (await request.json())["user"], f"s{len(self.users)}"
        if id == self.refuses:
            self.refuses = ""
            raise web.HTTPBadRequest
        self.users[id], self.said[id] = user, []
        self.events.append(f"open {id}")
        return web.json_response({"id": id})

    async def ask(self, request: web.Request) -> web.Response:
        body = await request.json()
        id = body["session"]
        self.said[id].append(body["question"])
        self.events.append(f"{id}: {body['question']}")
        if sum(map(len, self.said.values())) == self.waits_at:
            await self.over.wait()
        known = self.remembered.get(self.users[id], [])
        return web.json_response({"answer": " ".join([*known, "|", *self.said[id]])})

    async def close(self, request: web.Request) -> web.Response:
        id = (await request.json())["session"]
        self.remembered.setdefault(self.users[id], []).extend(self.said[id])
        self.events.append(f"close {id}")
        return web.json_response({})


@asynccontextmanager
async def memory():
    keeper, app = Memory(), web.Application()
    app.router.add_post("/open", keeper.open)
    app.router.add_post("/ask", keeper.ask)
    app.router.add_post("/close", keeper.close)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    settings = {
        "url": f"{url}/ask",
        "body": {"session": "{{session_id}}", "question": "{{question}}"},
        "answer": "answer",
        "session_id": "id",
        "open": {"url": f"{url}/open", "body": {"user": "{{user_id}}"}},
        "close": {"url": f"{url}/close", "method": "POST", "body": {"session": "{{session_id}}"}},
    }
    try:
        yield keeper, {"name": "bot", "adapter": "http", "settings": settings}
    finally:
        keeper.over.set()
        await runner.cleanup()


async def test_where_the_data_begin_a_session_the_system_gets_a_new_one_of_the_same_user(folder):
    async with memory() as (keeper, system):
        run = await run_async(scenario(folder, system), runs=folder / "runs")

    assert list(keeper.said.values()) == [*SESSIONS.values()] * 2
    assert keeper.events[:5] == ["open s0", "s0: My cat is Bo.", "s0: He is four.", "close s0", "open s1"]
    monday, friday, *others = keeper.users.values()
    assert (monday, others[0]) == (friday, others[1]), "one user in all sessions"
    assert monday != others[0], "and another in another conversation"
    answers = [record.answer for record in run.records()][:4]
    assert answers[3] == "My cat is Bo. He is four. | Hello. Who is my cat?"


async def test_a_system_may_be_given_one_session_for_all(folder):
    async with memory() as (keeper, system):
        await run_async(scenario(folder, {**system, "sessions": "one"}), runs=folder / "runs")

    assert list(keeper.said.values()) == [[*SESSIONS["monday"], *SESSIONS["friday"]]] * 2


async def test_a_session_that_can_not_be_opened_ends_the_conversation_there(folder):
    async with memory() as (keeper, system):
        keeper.refuses = "s1"
        run = await run_async(scenario(folder, system), runs=folder / "runs")

    outcomes = [(one.conversation, one.depth, one.outcome) for one in run.records()]
    assert outcomes[:3] == [("ann", 1, "answered"), ("ann", 2, "answered"), ("ann", 3, "refused")]
    assert outcomes[3:] == [("ben", depth, "answered") for depth in (1, 2, 3, 4)]
    assert "the session could not be opened" in run.records()[2].error


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
@pytest.mark.parametrize("at", [2, 3, pytest.param(4, marks=pytest.mark.long)])
async def test_after_a_kill_no_session_and_no_user_is_asked_anything_twice(folder, at):
    async with memory() as (keeper, system):
        keeper.waits_at = at
        (folder / "s.yaml").write_text(yaml.safe_dump(scenario(folder, system)))
        process = await beginning("run", "s.yaml", cwd=folder)
        await until_async(lambda: sum(map(len, keeper.said.values())) >= at)
        process.kill()
        await process.wait()
        keeper.waits_at, left_alone = None, set(keeper.users.values())
        run = await resume_async(newest_run(folder / "runs"))

    said_to = Counter((keeper.users[id], question) for id, said in keeper.said.items() for question in said)
    assert set(said_to.values()) == {1}
    resumed = [said for id, said in keeper.said.items() if keeper.users[id] not in left_alone]
    assert resumed == [*SESSIONS.values()] * 2, "the half-played conversation begins anew, as somebody else"
    assert len(run.records()) == 8


ECHO = """
def answer(question, history):
    return " ".join(one.question for one in history) + " | " + question
"""


async def test_a_client_may_show_the_present_session_alone_also_after_a_kill(folder):
    (folder / "echo.py").write_text(ECHO)
    system = {"name": "s", "adapter": "python", "settings": {"target": str(folder / "echo.py") + ":answer"}}
    policies = ["gold", {"gold": {"history": "session"}}]
    run = await run_async(scenario(folder, system, policies=policies), runs=folder / "runs")

    def answers():
        found = {(one.policy, one.conversation, one.depth): one for one in run.records()}
        return [
            [found[policy, "ben", depth].answer for depth in (2, 3, 4)]
            for policy in ("gold", "gold(history=session)")
        ]

    expected = [
        [
            "My cat is Bo. | He is four.",
            "My cat is Bo. He is four. | Hello.",
            "My cat is Bo. He is four. Hello. | Who is my cat?",
        ],
        ["My cat is Bo. | He is four.", " | Hello.", "Hello. | Who is my cat?"],
    ]
    assert answers() == expected
    connection = sqlite3.connect(run.folder / "run.db")
    with connection:
        connection.execute("DELETE FROM turn WHERE conversation = 'ben' AND depth = 4")
    connection.close()
    run = await resume_async(run.folder)
    assert answers() == expected
    cut = [(one.depth, one.history_cut) for one in run.records() if one.policy != "gold"]
    assert cut[:4] == [(1, None), (2, None), (3, "exchanges 1 to 2"), (4, "exchanges 1 to 2")]


async def test_a_turn_says_how_far_back_its_evidence_is(folder):
    system = {"name": "s", "adapter": "scripted", "settings": {"answers": "gold"}}
    run = await run_async(scenario(folder, system), runs=folder / "runs")

    back = [(one.kind, one.sessions_back, one.turns_back) for one in run.records()][:4]
    assert back == [("", None, None)] * 3 + [("recall", 1, 3)]
    frame = run.turns()
    assert frame["turns_back"].dropna().tolist() == [3, 3]


@pytest.mark.parametrize(("with_sessions", "said"), [(True, "in 4 sessions"), (False, "session shows all")])
def test_validate_counts_sessions_and_says_where_there_are_none_to_cut_at(folder, with_sessions, said):
    if not with_sessions:
        plain = '{"id": "a", "turns": [{"question": "Who?"}]}\n'
        (folder / "talks.jsonl").write_text(plain, "utf-8")
    system = {"name": "s", "adapter": "scripted"}
    policies = ["gold", {"gold": {"history": "session"}}]
    (folder / "s.yaml").write_text(yaml.safe_dump(scenario(folder, system, policies=policies)))
    told = replay_cli("validate", "s.yaml", cwd=folder).stdout

    assert told.count(said) == 1
    assert ("shows all" in told) != with_sessions
