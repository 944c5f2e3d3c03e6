"""A run that several processes play: the same records as from one, whatever becomes of the processes."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from statistics import fmean

import pytest
import yaml

from replay import Conversation, Turn
from replay.core.errors import PluginError, RunStoppedError, ScenarioError
from replay.core.settings import in_memory
from replay.report.notes import notes
from replay.results.run import Run, newest_run
from replay.runs import playing, worker_plays
from replay.runs.launch import load_scenario, resume_async, run_async
from replay.runs.playing import playing_processes
from replay.runs.rerun import rerun_async
from replay.scenario.assembly import assemble
from tests.adapters.servers import http
from tests.data_tables import from_table
from tests.load.scenes import Server, reply, talk
from tests.runs.test_traceparent import expected
from tests.scenario.keys import played, python, scenario
from tests.waiting import PATIENCE_S, takes, until_async
from tests.workers.inside import contents

TALKS = [talk(name, 3) for name in "abcdef"]
LEANING = [
    {
        "id": f"album{n}",
        "title": "Stone Garden (album)",
        "turns": [
            {"question": f"Who sang {song}?", "gold_answers": [f"Mira Okafor sang {song}."]},
            {"question": "When did she record it?", "gold_answers": ["She recorded it in 1994."]},
            {"question": "Who wrote it with her?", "gold_answers": ["Jonas Keller did."]},
        ],
    }
    for n, song in enumerate(("Harvest Moon", "Cold River", "The Gate", "Iron Bridge"))
]
WRONG = {"answers": ["Paul Lind sang it.", "He did so in 1971.", "Nobody."]}


def asking(address, **more):
    return {"adapter": "openai", "settings": {"base_url": f"{address}/v1", "model": "m"}, **more}


async def slow(body, writer):
    await takes(0.005)
    await reply(body, writer)


def last(body):
    return body["messages"][-1]["content"]


async def resumed(folder, **more):
    async with asyncio.timeout(PATIENCE_S):
        return await resume_async(newest_run(folder / "runs"), **more)


async def test_two_processes_give_the_records_of_one(tmp_path, inside):
    runs = [
        await played(
            tmp_path / str(workers),
            talks=LEANING,
            system={"settings": WRONG},
            policies=["gold", "pred", "rewrite"],
            play={"workers": workers, "repeats": 2},
        )
        for workers in (1, 2)
    ]
    assert len(inside) == 2
    assert contents(runs[0]) == contents(runs[1])
    assert len(contents(runs[1])) == 2 * 36
    assert {r.drift.valid for r in runs[1].records() if r.drift} == {True, False}, "drift matters here"


async def test_a_process_is_started_only_for_what_there_is_to_play(tmp_path, inside):
    run = await played(tmp_path, talks=TALKS[:2], play={"workers": 5})
    assert len(inside) == 2
    await resume_async(run.folder)
    assert len(inside) == 2, "of a finished run nothing is left"


async def test_conversations_at_a_time_are_shared_among_the_processes(tmp_path, inside):
    server = Server(slow)
    async with server.running() as address:
        play = {"workers": 2, "concurrency": 3}
        run = await played(tmp_path, talks=TALKS, system=asking(address), play=play)
    assert server.most <= 3
    assert len(run.records()) == len(server.asked) == 18


async def test_a_lost_process_leaves_nothing_undone_and_nothing_asked_twice_but_what_was_under_way(
    tmp_path, inside
):
    server = Server(slow)
    async with server.running() as address:
        play = {"workers": 2, "concurrency": 4}
        running = asyncio.create_task(played(tmp_path, talks=TALKS, system=asking(address), play=play))
        await server.until_asked(6)
        inside[0].kill()
        run = await running
    assert len(run.records()) == 18
    assert {r.outcome for r in run.records()} == {"answered"}
    asked = Counter(map(last, server.asked))
    assert len(asked) == 18
    assert asked.total() <= 18 + 2, "at most what two conversations were just asking"
    (remark,) = [note for note in notes(run.report(resamples=0)) if "Lost while" in note]
    assert "of 2 ended before it was done (killed, or out of memory?)" in remark


async def test_where_the_only_one_that_plays_is_lost_another_begins(tmp_path, inside):
    async def fatal_once(body, writer):
        if len(server.asked) == 2:
            inside[0].kill()
        else:
            await reply(body, writer)

    server = Server(fatal_once)
    async with server.running() as address:
        run = await played(tmp_path, talks=TALKS[:1], system=asking(address), play={"workers": 2})
    assert [r.outcome for r in run.records()] == ["answered"] * 3
    assert len(inside) == 2
    assert len(server.asked) == 4


async def test_a_session_that_a_lost_process_had_begins_again(tmp_path, inside):
    settings = {"history": "server", "delay_s": 0.005}
    play = {"workers": 2, "concurrency": 2}
    running = asyncio.create_task(played(tmp_path, talks=TALKS, system={"settings": settings}, play=play))
    await until_async(lambda: stored(tmp_path) >= 4)
    inside[0].kill()
    run = await running
    assert [len([r for r in run.records() if r.conversation == name]) for name in "abcdef"] == [3] * 6
    again = Counter(_superseded(run))
    assert all(depth < 3 for _, depth in again), "what was over stays"


def stored(folder):
    runs = list((folder / "runs").glob("*/run.db"))
    return len(Run(runs[0].parent).records()) if runs else 0


def _superseded(run):
    return [(one.record.conversation, one.record.depth) for one in run.superseded()]


async def test_where_processes_are_lost_again_and_again_the_run_stops_and_a_resume_ends_it(tmp_path, inside):
    async def fatal(body, writer):
        for one in inside:
            one.kill()
        await reply(body, writer)

    server = Server(fatal)
    async with server.running() as address:
        play = {"workers": 2, "concurrency": 2}
        with pytest.raises(
            RunStoppedError, match=r"process \d of 2 ended before it was done .*; so did the 3 that went on"
        ) as told:
            await played(tmp_path, talks=TALKS, system=asking(address), play=play)
        assert "go on with: replay resume" in str(told.value)
        server.answer = reply
        run = await resumed(tmp_path)
    assert len(run.records()) == 18


async def test_a_cancelled_run_keeps_what_was_answered_and_resumes_with_any_number(tmp_path, inside):
    server = Server(slow)
    async with server.running() as address:
        play = {"workers": 2, "concurrency": 2}
        running = asyncio.create_task(played(tmp_path, talks=TALKS, system=asking(address), play=play))
        await server.until_asked(7)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        kept = stored(tmp_path)
        assert 5 <= kept < 18
        run = await resumed(tmp_path, workers=1)
        assert len(inside) == 2, "the number is for this once"
    assert len(run.records()) == 18
    assert len(server.asked) <= 18 + 2


async def test_a_rerun_asks_the_chosen_turns_alone_even_where_a_process_is_lost(tmp_path, inside):
    server = Server(slow)
    async with server.running() as address:
        run = await played(tmp_path, talks=TALKS, system=asking(address), policies=["gold"])
        server.asked.clear()
        again = asyncio.create_task(rerun_async(run.folder, ["depth=2-3"], workers=2))
        await server.until_asked(4)
        inside[0].kill()
        await again
    asked = Counter(map(last, server.asked))
    assert {question.split()[1] for question in asked} == {"2?", "3?"}
    assert len(asked) == 12
    assert asked.total() <= 12 + 4
    assert len(run.records()) == 18
    assert len(_superseded(run)) == 12


async def test_a_limit_holds_for_all_processes_together(tmp_path, inside):
    """Half a window is looked at, since a busy machine may send an ask late; alone each would send twice."""
    came = []

    async def note(body, writer):
        came.append(asyncio.get_running_loop().time())
        await reply(body, writer)

    async with Server(note).running() as address:
        system = asking(address, limit={"asks": 2, "per_s": 0.1})
        await played(tmp_path, talks=TALKS[:4], system=system, play={"workers": 2, "concurrency": 4})
    assert len(came) == 12
    assert all(later - earlier >= 0.05 for earlier, later in zip(came, came[2:], strict=False))


async def test_failures_in_a_row_are_those_of_all_processes(tmp_path, inside):
    async def down(body, writer):
        writer.write(http(b"{}", status="500 Internal Server Error"))
        await writer.drain()

    server = Server(down)
    async with server.running() as address:
        play = {"workers": 2, "concurrency": 2, "attempts": 1, "stop_after": 3}
        with pytest.raises(RunStoppedError, match="3 failures in a row"):
            await played(tmp_path, talks=TALKS, system=asking(address), play=play)
    assert len(server.asked) <= 4


async def test_a_key_that_another_process_found_accepted_is_no_reason_to_stop(tmp_path, inside):
    server = Server()

    async def first_b(body, writer):
        if last(body).startswith("b"):
            await until_async(lambda: any(last(asked) == "a 2?" for asked in server.asked))
            writer.write(http(b"{}", status="401 Unauthorized"))
            await writer.drain()
        else:
            await reply(body, writer)

    server.answer = first_b
    async with server.running() as address:
        play = {"workers": 2, "concurrency": 2, "attempts": 1}
        run = await played(tmp_path, talks=TALKS[:2], system=asking(address), play=play)
    assert [(r.conversation, r.outcome) for r in run.records() if r.failed] == [("b", "refused")]


async def test_a_refused_key_stops_all_processes_before_anything_is_recorded(tmp_path, inside):
    async def no(body, writer):
        writer.write(http(b"{}", status="401 Unauthorized"))
        await writer.drain()

    async with Server(no).running() as address:
        with pytest.raises(RunStoppedError, match="refused us before it answered anything"):
            await played(tmp_path, talks=TALKS, system=asking(address), play={"workers": 2})
    assert stored(tmp_path) == 0


async def test_a_plug_ins_bug_stops_the_run_with_its_place(tmp_path, inside):
    (tmp_path / "bot.py").write_text(BUG)
    with pytest.raises(PluginError, match=r'turn 2 of conversation "c": ZeroDivisionError.*bot\.py, line 9'):
        await played(tmp_path, talks=TALKS, system={"adapter": "bot.py:Bot"}, play={"workers": 2})


BUG = """
from contextlib import nullcontext
from replay import ChatReply
class Bot:
    history = "client"
    def session(self, conversation):
        return nullcontext(self)
    async def ask(self, request):
        return ChatReply(text=str(1 / (request.question != "c 2?")))
"""


async def test_replies_as_they_came_are_stored(tmp_path, inside):
    async with Server().running() as address:
        play = {"workers": 2, "keep_raw": True}
        run = await played(tmp_path, talks=TALKS[:2], system=asking(address), play=play)
    assert len(list(run.raw_replies())) == 6
    assert list(run.state().lags) == ["s"], "each process says at its end how late its loop was"


async def test_a_cached_answer_is_there_for_the_next_policy(tmp_path, inside):
    server = Server()
    async with server.running() as address:
        play = {"workers": 2, "cache": str(tmp_path / "kept")}
        run = await played(
            tmp_path,
            talks=[talk(name, 1) for name in "abcd"],
            system=asking(address),
            policies=POLICIES,
            play=play,
        )
    assert len(run.records()) == 8
    assert len(server.asked) == 4


POLICIES = ["gold", {"pred": {"detect": False}}]


async def test_data_and_scorers_may_come_from_memory(tmp_path, inside, monkeypatch):
    def elsewhere(file, **more):
        with monkeypatch.context() as patch:
            patch.setattr(in_memory, "_known", {})
            return assemble(file, **more)

    monkeypatch.setattr(worker_plays, "assemble", elsewhere)
    turns = (Turn(id="a#1", question="Who?", gold_answers=("Me.",)),)
    content = {
        "name": "memory",
        "data": {"path": [Conversation(id="a", turns=turns), Conversation(id="b", turns=turns)]},
        "systems": [{"name": "s", "adapter": "scripted"}],
        "policies": ["gold"],
        "scorers": [Length],
        "play": {"workers": 2},
    }
    run = await run_async(content, runs=tmp_path / "runs")
    assert [r.answer for r in run.records()] == ["Me.", "Me."]
    assert run.scored()[1]["Length"].observed == [3.0, 3.0]


@dataclass(frozen=True, kw_only=True)
class Length:
    """A scorer."""

    signature = "length"
    unit = ""
    is_mean = True

    def observe(self, records):
        return [float(len(record.answer or "")) for record in records]

    def combine(self, observed):
        return fmean(observed)


def test_a_system_from_memory_needs_this_process(tmp_path):
    content = {
        "name": "memory",
        "data": {"path": [Conversation(id="a", turns=())]},
        "systems": [{"name": "s", "adapter": "python", "settings": {"target": lambda question: question}}],
        "policies": ["gold"],
        "play": {"workers": 2},
    }
    with pytest.raises(ScenarioError, match=r"play\.workers .*known to this process alone; give 1"):
        asyncio.run(run_async(content, runs=tmp_path))


@from_table
async def test_what_does_not_go_together_is_said(tmp_path, changes, fault):
    with pytest.raises(ScenarioError, match=rf"play\.workers +{fault}"):
        await played(tmp_path, **changes)


@pytest.mark.parametrize("said", ["many", 0, 65])
def test_a_number_of_processes_is_told_from_nonsense(tmp_path, said):
    with pytest.raises(ScenarioError, match=r"play\.workers"):
        scenario(tmp_path, play={"workers": said})


@pytest.mark.parametrize(
    ("cores", "drift", "concurrency", "processes"),
    [(6, {}, 8, 6), (6, {"nlp_workers": 1}, 8, 3), (6, {}, 2, 2), (1, {"nlp_workers": 2}, 8, 1)],
)
def test_auto_is_a_process_for_each_core(tmp_path, monkeypatch, cores, drift, concurrency, processes):
    monkeypatch.setattr(playing, "cpu_count", lambda: cores)
    play = {"workers": "auto", "concurrency": concurrency}
    assert playing_processes(scenario(tmp_path, play=play, drift=drift).scenario) == processes


def test_one_process_is_what_is_played_by_when_nothing_is_said(tmp_path):
    assert playing_processes(load_scenario(scenario(tmp_path)).scenario) == 1
    assert yaml.safe_load(scenario(tmp_path).text).get("play") is None


async def test_each_ask_has_its_place_in_the_run_s_own_traces(tmp_path, inside):
    bot = python(tmp_path, "def answer(request): return request.traceparent")
    run = await played(tmp_path, talks=TALKS[:2], system=bot, telemetry={}, play={"workers": 2})
    assert len(inside) == 2
    assert [record.answer for record in run.records()] == expected(run)
