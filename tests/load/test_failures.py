"""Systems that fail under load: every failure is a record of its kind, and none stops the level."""

from __future__ import annotations

import asyncio
import json

from tests.adapters.servers import completion, delta, event, http
from tests.load.scenes import Body, Server, latencies, play, play_at, reply, talk
from tests.waiting import takes

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


END = chunk(event("[DONE]")) + chunk(b"")
ONE = [talk("a", 1)]


async def test_streams_that_are_cut_are_not_taken_for_those_that_are_whole(tmp_path):
    async def every_third_is_cut(body: Body, writer: asyncio.StreamWriter) -> None:
        assert body["stream"] is True
        writer.write(STREAM + chunk(delta("Half an ")) + chunk(delta("answer")))
        if len(server.asked) % 3 == 0:
            await writer.drain()
            raise ConnectionError
        writer.write(chunk(delta(None, "stop")) + END)
        await writer.drain()

    server = Server(every_third_is_cut)
    run = await play_at(
        server, tmp_path, {"concurrency": 8, "turns": 60}, talks=ONE, settings={"stream": True}
    )
    assert run.outcomes() == {"answered": 40, "cut-off": 20}
    cut = [record for record in run.records() if record.outcome == "cut-off"]
    assert {(record.answer, record.partial) for record in cut} == {(None, "Half an answer")}
    (level,) = run.load_summary(resamples=0).levels
    assert level.total.error_share == 20 / 60
    assert [(error.outcome, error.turns) for error in level.errors] == [("cut-off", 20)]
    assert level.total.ttft.count == 40


async def test_usage_that_comes_late_takes_no_time_of_a_token(tmp_path):
    """Ten tokens and, 0.2 s behind them, their count and the end."""

    async def late(body: Body, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + b"".join(chunk(delta(f"{number} ")) for number in range(10)))
        await writer.drain()
        await takes(0.2)
        usage = {"prompt_tokens": 3, "completion_tokens": 10}
        writer.write(chunk(delta(None, "stop")) + chunk(event({"choices": [], "usage": usage})) + END)
        await writer.drain()

    server = Server(late)
    run = await play_at(
        server, tmp_path, {"concurrency": 1, "turns": 3}, talks=ONE, settings={"stream": True}
    )
    total = run.load_summary(resamples=0).levels[0].total
    assert total.time_per_token_to_done.p50_s >= 0.2 / 9
    assert total.time_per_token.p50_s <= total.time_per_token_to_done.p50_s - 0.19 / 9


async def test_failures_are_counted_by_kind_with_the_first_of_each(tmp_path):
    # Each over a connection of its own: a used one that ends is no failure of the system.
    closed = "Connection: close\r\n"

    async def differently(_: Body, writer: asyncio.StreamWriter) -> None:
        match len(server.asked) % 5:
            case 0:
                writer.write(http(b"{}", status="500 Internal Server Error", headers=closed))
            case 1:
                limited = f"{closed}Retry-After: 1\r\n"
                writer.write(http(b"{}", status="429 Too Many Requests", headers=limited))
            case 2:
                writer.write(http(b"no JSON", headers=f"{closed}Content-Type: application/json\r\n"))
            case 3:
                raise ConnectionError
            case _:
                writer.write(http(json.dumps(completion("There.")).encode(), headers=closed))
        await writer.drain()

    server = Server(differently)
    run = await play_at(server, tmp_path, {"concurrency": 5, "turns": 50}, talks=ONE)
    assert run.outcomes() == {
        "answered": 10,
        "bad-reply": 10,
        "connection-failed": 10,
        "rate-limited": 10,
        "refused": 10,
    }
    assert {record.attempts for record in run.records()} == {1}, "under load nothing is asked again"
    (level,) = run.load_summary(resamples=0).levels
    errors = {error.outcome: error for error in level.errors}
    assert errors.keys() == run.outcomes().keys() - {"answered"}
    assert "500" in (errors["refused"].first_message or "")
    assert level.total.latency.count == 10, "latencies are those of answers"


async def test_a_scenario_that_asks_for_retries_has_them(tmp_path):
    async def every_other_fails(body: Body, writer: asyncio.StreamWriter) -> None:
        if len(server.asked) % 2:
            writer.write(http(b"{}", status="503 Service Unavailable"))
            await writer.drain()
        else:
            await reply(body, writer)

    server = Server(every_other_fails)
    run = await play_at(
        server, tmp_path, {"concurrency": 1, "turns": 5}, talks=ONE, play={"attempts": 2, "backoff_s": 0}
    )
    assert run.outcomes() == {"answered": 5}
    assert {record.attempts for record in run.records()} == {2}
    assert len(server.asked) == 10


async def test_turns_that_are_not_kept_are_counted_with_their_latencies(tmp_path):
    async def every_fourth_fails(body: Body, writer: asyncio.StreamWriter) -> None:
        number = len(server.asked)
        await takes(0.01)
        if number % 4:
            await reply(body, writer)
        else:
            writer.write(http(json.dumps(completion("")).encode(), status="500 No"))
            await writer.drain()

    server = Server(every_fourth_fails)
    load = {"concurrency": 3, "turns": 100, "keep_turns": 20}
    run = await play_at(server, tmp_path, load, talks=ONE)
    assert len(run.records()) == 20
    assert run.outcomes() == {"answered": 75, "refused": 25}
    (level,) = run.load_summary(resamples=0).levels
    assert (level.total.turns, level.total.tallied, level.total.answered_turns) == (100, 80, 75)
    assert level.total.latency.count == 75
    assert not level.total.latency.exact
    assert level.total.latency.p50_s >= 0.01
    kept = [record for record in run.records() if record.outcome == "answered"]
    assert len(latencies(run)) == 20
    assert 10 <= len(kept) <= 20


async def test_without_any_kept_turn_there_are_still_numbers(tmp_path):
    run = await play(tmp_path, {"concurrency": 2, "turns": 30, "keep_turns": 0})
    assert run.records() == []
    summary = run.load_summary(resamples=0)
    assert summary.turns == 30
    assert summary.levels[0].total.answered_turns == 30
