"""``play``, and a system's ``limit``: each key played where it matters."""

from __future__ import annotations

import asyncio

import pytest

from replay.core.errors import RunStoppedError
from replay.results.run import Run, newest_run
from replay.store import writer
from tests.adapters.servers import http
from tests.data_tables import from_table
from tests.load.scenes import Server
from tests.scenario.keys import (
    answers,
    crowd,
    key,
    outcomes,
    pauses,
    played,
    python,
    talk,
    throttles,
)
from tests.workers.inside import started_inside

LONG = [talk("a", 3)]


def faults(**fault):
    return {"settings": {"faults": [fault]}}


@key("systems.limit.asks", "systems.limit.per_s")
async def test_every_ask_passes_the_systems_limit(tmp_path, monkeypatch):
    """A limit that nobody opened lets nothing through: the run would wait for good."""
    passed = throttles(monkeypatch)
    pauses(monkeypatch)
    again = faults(kind="connection", attempt=1, conversation="a")
    run = await played(tmp_path, system={"limit": {"asks": 3, "per_s": 0.25}, **again})
    assert outcomes(run) == ["answered"] * 3
    assert passed() == {(3, 0.25): 4}, "retries too"
    await played(tmp_path)
    assert passed() == {(3, 0.25): 4}, "nobody is held up without a limit"


@key("systems.limit.asks", "systems.limit.per_s")
async def test_a_limit_keeps_asks_apart(tmp_path):
    """At least 0.4 s; half of it, since a busy machine may be late with the first ask."""
    run = await played(tmp_path, talks=LONG, system={"limit": {"asks": 1, "per_s": 0.2}})
    sent = [record.timing.sent_s for record in run.records() if record.timing]
    assert sent[2] - sent[0] >= 0.2


@key("play.concurrency")
@pytest.mark.parametrize("together", [1, 2, 4])
async def test_so_many_conversations_are_played_at_a_time(tmp_path, together):
    talks = [talk(name) for name in "abcd"]
    system = python(tmp_path, crowd(together))
    run = await played(tmp_path, talks=talks, system=system, play={"concurrency": together})
    assert set(answers(run)) == {f"at most {together}"}


@key("play.workers")
@pytest.mark.parametrize("workers", [1, 2])
async def test_so_many_processes_play(tmp_path, monkeypatch, workers):
    started = started_inside(monkeypatch)
    run = await played(tmp_path, play={"workers": workers})
    assert outcomes(run) == ["answered"] * 3
    assert len(started) == (0 if workers == 1 else workers)


@key("play.timeout_s")
async def test_an_ask_has_so_much_time(tmp_path):
    async def silence(*_):
        await asyncio.Event().wait()

    async with Server(silence).running() as address:
        system = {"adapter": "openai", "settings": {"base_url": f"{address}/v1", "model": "m"}}
        run = await played(tmp_path, system=system, play={"timeout_s": 0.05, "attempts": 1})
    assert outcomes(run) == ["timed-out"] * 3
    assert "within 0.05 s" in str(run.records()[0].error)


@key("play.attempts")
@pytest.mark.parametrize("attempts", [1, 2, 6])
async def test_a_question_is_asked_so_often(tmp_path, monkeypatch, attempts):
    pauses(monkeypatch)
    run = await played(tmp_path, system=faults(kind="connection"), play={"attempts": attempts})
    assert [record.attempts for record in run.records()] == [attempts] * 3


@key("play.backoff_s")
async def test_retries_wait_in_proportion(tmp_path, monkeypatch):
    waited = {}
    for backoff_s in (0, 1, 3):
        found = pauses(monkeypatch)
        await played(tmp_path, system=faults(kind="connection"), play={"backoff_s": backoff_s})
        waited[backoff_s] = list(found)
    assert len(waited[1]) == 9
    assert all(0 < one < 4 for one in waited[1])
    assert waited[0] == [0] * 9
    assert waited[3] == pytest.approx([3 * one for one in waited[1]])


@key("play.retry_budget_s")
async def test_no_retry_begins_after_the_budget(tmp_path, monkeypatch):
    asked = {}
    for budget_s in (0, 10, 1000):
        pauses(monkeypatch)
        patience = {"retry_budget_s": budget_s, "attempts": 3}
        system = faults(kind="rate-limited", retry_after_s=100)
        run = await played(tmp_path, talks=[talk("a")], system=system, play=patience)
        asked[budget_s] = run.records()[0].attempts
    assert asked == {0: 1, 10: 1, 1000: 3}


@key("play.on_failure")
@pytest.mark.parametrize(
    ("on_failure", "found"),
    [("stop", ["answered", "refused"]), ("gold", ["answered", "refused", "answered"])],
)
async def test_after_a_failure_the_gold_answer_may_stand_in(tmp_path, on_failure, found):
    run = await played(
        tmp_path, talks=LONG, system=faults(kind="refused", depth=2), play={"on_failure": on_failure}
    )
    assert outcomes(run) == found


@key("play.stop_after")
async def test_so_many_failures_in_a_row_stop_the_run(tmp_path):
    down = faults(kind="refused")
    run = await played(tmp_path, system=down)
    assert outcomes(run) == ["refused"] * 3
    with pytest.raises(RunStoppedError, match="2 failures in a row"):
        await played(tmp_path / "stopped", system=down, play={"stop_after": 2, "concurrency": 1})
    assert outcomes(Run(newest_run(tmp_path / "stopped" / "runs"))) == ["refused"] * 2


@key("play.fail_fast")
async def test_a_refused_key_stops_the_run_unless_it_may_go_on(tmp_path):
    async def refuse(body, stream):
        stream.write(http(b"{}", status="401 Unauthorized"))
        await stream.drain()

    server = Server(refuse)
    async with server.running() as address:
        system = {"adapter": "openai", "settings": {"base_url": f"{address}/v1", "model": "m"}}
        with pytest.raises(RunStoppedError, match="refused us"):
            await played(tmp_path, system=system, play={"concurrency": 1})
        assert len(server.asked) == 1
        run = await played(tmp_path, system=system, play={"concurrency": 1, "fail_fast": False})
    assert outcomes(run) == ["refused"] * 3


@key("play.durability")
@pytest.mark.parametrize(("durability", "synchronous"), [("process", "NORMAL"), ("power", "FULL")])
async def test_a_record_survives_as_much_as_is_asked_for(tmp_path, monkeypatch, durability, synchronous):
    """What SQLite is told when a run's records are written; pulling the plug is no test."""
    said = []
    connect = writer.connect

    def listened(path):
        connection = connect(path)
        connection.set_trace_callback(said.append)
        return connection

    monkeypatch.setattr(writer, "connect", listened)
    await played(tmp_path, play={"durability": durability})
    assert [one for one in said if "synchronous" in one] == [f"PRAGMA synchronous={synchronous}"]


@key("play.keep_raw", "play.raw_limit_bytes", "systems.keep_raw")
@from_table
async def test_replies_are_kept_as_they_came_where_that_is_asked_for(tmp_path, play, system, kept):
    async with Server().running() as address:
        system = {"adapter": "openai", "settings": {"base_url": f"{address}/v1", "model": "m"}, **system}
        run = await played(tmp_path, talks=[talk("a")], system=system, play=play)
    texts = [reply.data.decode() for reply in run.raw_replies()]
    assert ["whole" if text.endswith("}") else text for text in texts] == kept


@key("play.repeats", "play.seed_per_repeat")
async def test_each_conversation_is_played_so_often_each_time_with_another_seed(tmp_path):
    system = python(tmp_path, "def answer(request): return str(request.seed)")
    run = await played(tmp_path, system=system, play={"repeats": 2, "seed_per_repeat": True})
    seeds = {record.repeat: record.answer for record in run.records()}
    assert len(run.records()) == 2 * 3
    assert len(set(seeds.values()) - {"None"}) == 2
    assert set(answers(await played(tmp_path, system=system))) == {"None"}


@key("play.cache", "systems.cache")
@pytest.mark.parametrize(("system", "asked"), [({}, 1), ({"cache": False}, 2)])
async def test_what_was_answered_is_not_asked_again_where_that_is_asked_for(tmp_path, system, asked):
    server = Server()
    async with server.running() as address:
        system = {"adapter": "openai", "settings": {"base_url": f"{address}/v1", "model": "m"}, **system}
        for _ in range(2):
            await played(tmp_path, talks=[talk("a")], system=system, play={"cache": str(tmp_path / "kept")})
    assert len(server.asked) == asked


KEEPER = """
from itertools import count

made = count()


class Bot:
    def __init__(self):
        self.number = next(made)

    def __call__(self, question):
        return f"{self.number} heard {question}"
"""


@key("systems.sessions")
@pytest.mark.parametrize(("said", "opened"), [({}, 2), ({"sessions": "one"}, 1)])
async def test_a_session_of_the_data_is_one_of_the_system_unless_it_is_to_have_one_alone(
    tmp_path, said, opened
):
    turns = [{"question": f"{n}?", "session": session} for n, session in enumerate("aab")]
    (tmp_path / "keeper.py").write_text(KEEPER)
    settings = {"target": f"{tmp_path / 'keeper.py'}:Bot", "history": "server"}
    system = {"adapter": "python", "settings": settings, **said}
    run = await played(tmp_path, talks=[{"id": "a", "turns": turns}], system=system, policies=["pred"])
    assert len({answer.split()[0] for answer in answers(run)}) == opened
