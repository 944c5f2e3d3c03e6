"""Each conversation several times within a run: what is asked, what plays are called, what a stop leaves."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter

import pytest
import yaml
from aiohttp import web

from replay.core.errors import InputError, ScenarioError
from replay.results.run import Run, newest_run
from replay.results.run_data import Repeats, planned_repeats
from replay.runs.launch import load_scenario, resume_async, run_async
from replay.runs.rerun import count_chosen, rerun_async
from replay.scenario.assembly import assemble
from replay.scenario.reading import parse_scenario
from replay.store.store import RunStore
from replay.testing import chat_server
from tests.adapters.servers import answering, completion
from tests.cli.command import replay_cli
from tests.data_tables import from_table
from tests.waiting import until_async

TURNS = 2


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, "a", "b")
    return tmp_path


def write(folder, *ids):
    lines = [
        {
            "id": id,
            "turns": [
                {"question": f"Who sang {id} {n}?", "gold_answer": f"Alice Okafor sang {id} {n}."}
                for n in range(1, TURNS + 1)
            ],
        }
        for id in ids
    ]
    (folder / "talks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def scenario(folder, system, *policies, play=(), **changes):
    return {
        "name": "again",
        "data": {"path": str(folder / "talks.jsonl")},
        "systems": [system],
        "policies": list(policies) or ["pred"],
        "drift": {"nlp_workers": 0},
        "play": {"attempts": 1, "repeats": 3, **dict(play)},
        **changes,
    }


async def test_every_conversation_is_played_so_often_with_every_policy(folder):
    async with chat_server() as server:
        run = await run_async(scenario(folder, server.system, "gold", "pred"), runs=folder / "runs")
    assert set(server.asked.values()) == {2 * 3}
    played = Counter((r.policy, r.recorded_conversation, r.repeat, r.conversation) for r in run.records())
    assert played == {
        (policy, id, repeat, id if repeat == 1 else f"{id}~{repeat}"): TURNS
        for policy in ("gold", "pred")
        for id in "ab"
        for repeat in (1, 2, 3)
    }
    order = [
        (r.recorded_conversation, r.repeat) for r in run.records() if r.policy == "gold" and r.depth == 1
    ]
    assert order == [(id, repeat) for id in "ab" for repeat in (1, 2, 3)]


async def test_each_repeat_has_a_session_of_its_own_and_sees_its_own_answers(folder):
    """A system that keeps the history would otherwise have heard every question before."""
    sessions: dict[str, list[str]] = {}

    async def said(request: web.Request) -> web.Response:
        body = await request.json()
        heard = sessions.setdefault(body["session"], [])
        heard.append(body["question"])
        return web.json_response({"answer": f"{body['about']}, {len(heard)} so far"})

    body = {"question": "{{question}}", "session": "{{session_id}}", "about": "{{conversation.id}}"}
    async with answering(said) as url:
        system = {"name": "s", "adapter": "http", "settings": {"url": url, "body": body, "answer": "answer"}}
        system["settings"]["history"] = "server"
        run = await run_async(scenario(folder, system), runs=folder / "runs")
    assert len(sessions) == 2 * 3
    assert {tuple(heard) for heard in sessions.values()} == {
        tuple(f"Who sang {id} {n}?" for n in (1, 2)) for id in "ab"
    }
    answers = {(r.recorded_conversation, r.depth): r.answer for r in run.records() if r.repeat == 3}
    assert answers["a", 2] == "a, 2 so far", "a template's conversation has its id in the data"


async def test_they_are_played_round_after_round(folder):
    asked = []

    async def answer(request: web.Request) -> web.Response:
        asked.append((await request.json())["messages"][-1]["content"].split()[2])
        return web.json_response(completion("Somebody."))

    async with answering(answer) as url:
        system = {"name": "s", "adapter": "openai", "settings": {"base_url": url, "model": "m"}}
        play = {"concurrency": 1}
        await run_async(scenario(folder, system, "gold", play=play), runs=folder / "runs")
    assert asked == ["a", "a", "b", "b"] * 3


async def test_ids_in_the_data_that_look_like_a_repeat_are_never_taken(folder):
    write(folder, "a", "a~2", "a~3")
    async with chat_server() as server:
        run = await run_async(scenario(folder, server.system), runs=folder / "runs")
    places = [(r.conversation, r.depth) for r in run.records()]
    assert len(set(places)) == len(places) == 3 * 3 * TURNS
    assert {r.conversation for r in run.records() if r.source == "a"} == {"a~~2", "a~~3"}


async def test_conversations_taken_up_later_are_repeated_too_and_take_no_play_s_id(folder):
    async with chat_server() as server:
        run = await run_async(scenario(folder, server.system), runs=folder / "runs")
        write(folder, "a", "b", "a~2", "c~2", "c")
        server.asked = Counter()
        run = await resume_async(run.folder, with_new_data=True)
        assert set(server.asked) == {f"Who sang {id} {n}?" for id in ("a~2", "c~2", "c") for n in (1, 2)}
        assert set(server.asked.values()) == {3}
    records = run.records()
    places = [(r.conversation, r.depth) for r in records]
    assert len(set(places)) == len(places) == 5 * 3 * TURNS
    assert {r.recorded for r in records if r.conversation == "a~2"} == {"Who sang a 1?", "Who sang a 2?"}


async def test_a_run_that_is_stopped_half_way_has_whole_rounds_and_asks_nothing_twice(folder):
    async with chat_server(delay_s=0.002) as server:
        content = scenario(folder, server.system, play={"concurrency": 1})
        task = asyncio.create_task(run_async(content, runs=folder / "runs"))
        await until_async(lambda: server.asked.total() >= 7)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (left,) = (folder / "runs").iterdir()
        kept = Counter(r.recorded for r in Run(left).records())
        assert Counter(r.repeat for r in Run(left).records())[1] == 4
        before = Counter(server.asked)
        await resume_async(left)
    asked = server.asked - before
    assert all(asked[question] == 3 - kept[question] for question in server.asked)
    assert Counter(r.repeat for r in Run(left).records()) == {1: 4, 2: 4, 3: 4}


async def test_a_rerun_names_the_repeat(folder):
    async with chat_server() as server:
        run = await run_async(scenario(folder, server.system, "gold"), runs=folder / "runs")
        assert count_chosen(run.folder, ["conversation=a"]) == 3 * TURNS, "all plays of it"
        assert count_chosen(run.folder, ["conversation=a~2"]) == TURNS
        with pytest.raises(InputError, match='the run has no repeat "4"'):
            count_chosen(run.folder, ["repeat=4"])
        server.asked = Counter()
        run = await rerun_async(run.folder, ["conversation=a", "repeat=2,3", "depth=2"])
        assert server.asked == {"Who sang a 2?": 2}
    assert sorted(one.record.conversation for one in run.superseded()) == ["a~2", "a~3"]


async def test_the_depth_table_knows_how_many_turns_there_should_be(folder):
    async with chat_server() as server:
        server.broken = {"Who sang b 1?"}
        run = await run_async(scenario(folder, server.system), runs=folder / "runs")
    table = run.report(resamples=0).table
    first, second = table.groups[0].depths
    assert (first.turns, first.conversations, first.failed) == (6, 2, 3)
    assert (second.turns, second.conversations, second.unreached) == (3, 1, 3)
    assert table.conversations == 2


# Seeds -----------------------------------------------------------------------------------------------------


async def test_each_repeat_sends_its_seed_and_the_same_one_each_time(folder):
    write(folder, "a")
    seeds: dict[str, list[int]] = {}

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        seeds.setdefault(request.path.split("/")[1], []).append(body.get("seed"))
        return web.json_response({**completion("Somebody."), "answer": "Somebody."})

    async with answering(answer) as url:
        chat = {"name": "chat", "adapter": "openai", "settings": {"base_url": f"{url}/chat", "model": "m"}}
        body = {"q": "{{question}}", "seed": "{{ seed }}"}
        plain = {"name": "plain", "adapter": "http"}
        plain["settings"] = {"url": f"{url}/plain", "body": body, "answer": "answer"}
        play = {"concurrency": 1, "seed_per_repeat": True, "repeats": 2}
        given = scenario(folder, chat, "gold", play=play, systems=[chat, plain], seed=5)
        run = await run_async(given, runs=folder / "runs")
        await run_async(given, runs=folder / "runs")
        await run_async({**given, "seed": 6}, runs=folder / "runs")
    assert seeds["chat"] == seeds["plain"]
    first, again, other = (seeds["chat"][n : n + 4] for n in (0, 4, 8))
    assert first == again != other
    assert first[0] == first[1] != first[2] == first[3], "one for all turns of a repeat"
    store = RunStore(run.folder)
    kept = store.fact("repeats")["seeds"]
    store.close()
    assert list(dict.fromkeys(first)) == kept
    assert all(0 < seed < 2**31 for seed in kept)


@pytest.mark.parametrize(
    ("adapter", "settings", "takes"),
    [
        ("openai", {"base_url": "http://127.0.0.1:1/v1", "model": "m"}, True),
        ("openai", {"base_url": "http://127.0.0.1:1/v1", "model": "m", "api": "responses"}, False),
        ("anthropic", {"base_url": "http://127.0.0.1:1", "model": "m"}, False),
        ("http", {"url": "http://127.0.0.1:1", "answer": "a", "body": {"q": "{{question}}"}}, False),
        ("http", {"url": "http://127.0.0.1:1/{{seed}}", "answer": "a", "body": {"q": "{{question}}"}}, True),
        ("websocket", {"url": "ws://127.0.0.1:1", "send": ["{{question}}", "{{seed}}"], "answer": "a"}, True),
        ("command", {"command": [sys.executable], "send": {"q": "{{question}}", "s": "{{seed}}"}}, True),
        ("command", {"command": [sys.executable]}, False),
    ],
)
def test_which_systems_take_a_seed(folder, adapter, settings, takes):
    """One that takes none must not be sent any: several APIs refuse fields that they don't know."""
    content = scenario(folder, {"name": "s", "adapter": adapter, "settings": settings})
    (system,) = assemble(load_scenario(content)).systems
    assert system.takes_seed is takes


def test_a_dry_run_counts_every_play(folder):
    content = scenario(folder, {"name": "s", "adapter": "scripted", "settings": {"answers": "gold"}})
    (folder / "s.yaml").write_text(yaml.safe_dump(content))
    done = replay_cli("run", "s.yaml", "--dry-run", cwd=folder)
    assert done.stdout == "each system: 12 questions at most (12 turns, policies: 1)\n"


def test_the_command_line_has_the_last_word_and_the_run_keeps_it(folder):
    content = scenario(folder, {"name": "s", "adapter": "scripted", "settings": {"answers": "gold"}})
    (folder / "s.yaml").write_text(yaml.safe_dump(content))
    done = replay_cli("run", "s.yaml", "--repeats", "2", cwd=folder)

    run = Run(newest_run(folder / "runs"))
    assert done.returncode == 0, done.stderr
    assert {record.conversation for record in run.records()} == {"a", "a~2", "b", "b~2"}
    assert run.scenario().scenario.play.repeats == 2


def test_more_repeats_keep_the_seeds_of_the_first_ones(tmp_path):
    def planned(repeats):
        text = json.dumps(
            scenario(
                tmp_path,
                {"name": "s", "adapter": "scripted"},
                play={"repeats": repeats, "seed_per_repeat": True},
            )
        )
        return planned_repeats(parse_scenario(text, source="s", folder=tmp_path).scenario, ["a"])

    assert planned(5).seeds[:3] == planned(3).seeds
    assert len(set(planned(5).seeds)) == 5


@from_table
async def test_what_cannot_be_is_a_fault(folder, changes, path, says):
    with pytest.raises(ScenarioError) as caught:
        await run_async(
            {**scenario(folder, {"name": "s", "adapter": "scripted"}), **changes}, runs=folder / "runs"
        )
    assert [fault.path for fault in caught.value.faults] == [path]
    assert says in caught.value.faults[0].message


def test_what_plays_are_called():
    assert list(Repeats(times=3, mark="~~").ids("a")) == ["a", "a~~2", "a~~3"]
    assert Repeats(times=2).lengths({"a": 4, "b": 1}) == {"a": 4, "a~2": 4, "b": 1, "b~2": 1}
