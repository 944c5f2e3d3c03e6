"""The load benchmarks work, and the server they lean on speaks HTTP as clients expect."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from tests.benchmarks.programs import FOLDER
from tests.waiting import PATIENCE_S


def benchmark(name, *options):
    done = subprocess.run(
        [sys.executable, str(FOLDER / name), *map(str, options)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def served(*options):
    """The fast server's address, as host and port."""
    process = subprocess.Popen(
        [sys.executable, str(FOLDER / "fast_server.py"), "--at-most-s", "120", *map(str, options)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        assert url.endswith("/v1")
        yield "127.0.0.1", int(url.removesuffix("/v1").rpartition(":")[2])
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


@pytest.fixture(scope="module")
def plain():
    """A server that the tests have in common, each by a connection of its own."""
    with served("--answers", 20) as address:
        yield address


def post(body, path="/v1/chat/completions"):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"POST {path} HTTP/1.1\r\nHost: x\r\ncontent-LENGTH: {len(content)}\r\n\r\n".encode() + content


class Wire:
    """A connection that reads replies as HTTP/1.1 says, and fails on anything else."""

    def __init__(self, address):
        self._socket = socket.create_connection(address, timeout=PATIENCE_S)
        self._file = self._socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
        self._socket.close()

    def send(self, content):
        self._socket.sendall(content)

    def reply(self):
        """Status, and the body's pieces: one, or the chunks."""
        version, status, _ = self._file.readline().split(b" ", 2)
        assert version == b"HTTP/1.1"
        headers = {}
        while (line := self._file.readline()) != b"\r\n":
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        if headers.get("transfer-encoding") != "chunked":
            return int(status), [self._file.read(int(headers["content-length"]))]
        pieces = []
        while size := int(self._file.readline(), 16):
            pieces.append(self._file.read(size))
            assert self._file.read(2) == b"\r\n"
        assert self._file.readline() == b"\r\n"
        return int(status), pieces

    def at_end(self):
        return self._file.read(1) == b""


def events(pieces):
    texts = b"".join(pieces).decode().split("\n\n")
    assert texts.pop() == ""
    assert all(text.startswith("data: ") for text in texts)
    return [text.removeprefix("data: ") for text in texts]


def test_a_request_in_single_bytes_and_three_in_one_write_are_all_answered_in_order():
    request = post({"model": "fast", "messages": []})
    with served("--answer-words", 3) as address, Wire(address) as wire:
        for byte in request:
            wire.send(bytes([byte]))
        status, (body,) = wire.reply()
        wire.send(request + post({"stream": True}) + request)
        second = json.loads(wire.reply()[1][0])
        done = events(wire.reply()[1])[-1]
        third = json.loads(wire.reply()[1][0])

    values = [json.loads(body), second, third]
    messages = [value["choices"][0]["message"] for value in values]
    assert status == 200
    assert {message["role"] for message in messages} == {"assistant"}
    assert [len(message["content"].split()) for message in messages] == [3, 3, 3]
    assert {value["object"] for value in values} == {"chat.completion"}
    assert done == "[DONE]"


def test_no_two_answers_are_alike(plain):
    with Wire(plain) as wire:
        wire.send(post({}) * 20)
        answers = [json.loads(wire.reply()[1][0])["choices"][0]["message"]["content"] for _ in range(20)]

    assert len(set(answers)) == 20
    assert 10 < sum(len(answer.split()) for answer in answers) / 20 < 30


@pytest.mark.parametrize("gap_ms", [pytest.param(0, marks=pytest.mark.long), 3])
def test_a_stream_has_its_deltas_then_finish_reason_usage_and_done(gap_ms):
    with served("--chunks", 10, "--chunk-gap-ms", gap_ms) as address, Wire(address) as wire:
        begun = time.perf_counter()
        wire.send(post({"stream": True}))
        status, pieces = wire.reply()
        took = time.perf_counter() - begun

    said = events(pieces)
    chunks = [json.loads(text) for text in said[:-1]]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    assert status == 200
    assert deltas[0]["role"] == "assistant"
    assert len("".join(d.get("content", "") for d in deltas).split()) == 10
    assert [c["finish_reason"] for chunk in chunks for c in chunk["choices"]] == [None] * 10 + ["stop"]
    assert (chunks[-1]["choices"], chunks[-1]["usage"]["completion_tokens"]) == ([], 10)
    assert said[-1] == "[DONE]"
    # Timers are kept to the millisecond.
    assert took >= 0.009 * gap_ms - 0.002


def test_only_a_member_of_the_body_asks_for_a_stream(plain):
    body = json.dumps({"messages": [{"role": "user", "content": 'Say "stream": true.'}]}).encode()
    with Wire(plain) as wire:
        wire.send(post(body))

        assert json.loads(wire.reply()[1][0])["object"] == "chat.completion"


def test_the_service_time_is_in_the_usage_and_in_the_stats():
    with served("--delay-ms", 30, "--service-time-in-usage") as address, Wire(address) as wire:
        wire.send(b"GET /stats?reset HTTP/1.1\r\n\r\n")
        wire.reply()
        begun = time.perf_counter()
        wire.send(post({}))
        _, (body,) = wire.reply()
        took = time.perf_counter() - begun
        wire.send(b"GET /stats HTTP/1.1\r\n\r\n")
        stats = json.loads(wire.reply()[1][0])

    service_s = json.loads(body)["usage"]["prompt_tokens"] / 1e6
    assert 0.028 <= service_s <= took
    assert stats["requests"] == 1
    assert stats["most_connections"] == 1
    assert stats["service"]["p50_s"] == pytest.approx(service_s, abs=1e-5)


def test_what_is_no_completion_is_refused_and_a_body_without_a_length_ends_the_connection(plain):
    with Wire(plain) as wire:
        wire.send(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
        assert wire.reply()[0] == 404
        wire.send(b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        assert wire.reply()[0] == 411
        assert wire.at_end()


@pytest.mark.parametrize("stream", [pytest.param((), marks=pytest.mark.long), ("--stream",)])
def test_the_bare_loop_makes_as_many_requests_as_it_says(stream):
    with served("--service-time-in-usage", "--delay-ms", 5) as (host, port):
        url = f"http://{host}:{port}/v1"
        found = json.loads(benchmark("bare_client.py", url, "--requests", 30, "--connections", 3, *stream))
        with Wire((host, port)) as wire:
            wire.send(b"GET /stats HTTP/1.1\r\n\r\n")
            stats = json.loads(wire.reply()[1][0])

    assert found["requests"] == 30
    assert stats["requests"] == 30 + 30  # the warm-up is as long here
    assert found["latency_ms"]["p50"] >= 4
    assert 0 < found["added_ms"]["p50"] < found["latency_ms"]["p50"]
    assert (found["ttft_ms"] is not None) == bool(stream)


@pytest.mark.parametrize("detect", [(), pytest.param(("--detect",), marks=pytest.mark.long)])
def test_our_engine_plays_a_real_run_against_the_server(detect):
    with served("--service-time-in-usage", "--delay-ms", 5) as (host, port):
        url = f"http://{host}:{port}/v1"
        found = json.loads(benchmark("replay_client.py", url, "--requests", 30, "--connections", 3, *detect))

    assert found["client"] == f"convreplay pred detect={str(bool(detect)).lower()}"
    assert found["requests"] == 30
    assert 0 < found["added_ms"]["p50"] < found["latency_ms"]["p50"]
    assert found["cpu_s"] > 0


def recorded(path, count, place):
    """A data set of *count* conversations of two turns; the first two begin alike."""
    talks = [
        {
            "id": str(number),
            "turns": [
                {
                    "question": f"Who is Ann {max(1, number)}?",
                    "gold_answer": f"The {number}. singer of {place}.",
                },
                {"question": "Where was she born?", "gold_answer": f"In {place}, in {1900 + number}."},
            ],
        }
        for number in range(count)
    ]
    path.write_text("\n".join(map(json.dumps, talks)), "utf-8")
    return path


@pytest.mark.long
def test_conversations_and_answers_of_a_data_file_are_played(tmp_path):
    data, other = recorded(tmp_path / "a.jsonl", 6, "Port Ellis"), recorded(tmp_path / "b.jsonl", 20, "Lund")
    options = ("--requests", 30, "--connections", 3, "--turns", 2, "--data", data)
    with served("--data", other) as (host, port):
        found = json.loads(benchmark("replay_client.py", f"http://{host}:{port}/v1", *options, "--detect"))

    assert found["requests"] == 10, "the conversation that begins as another one does is left out"


@pytest.mark.long
def test_a_drift_check_of_documents_seen_before_ends_the_benchmark(tmp_path):
    """Whoever measures a cache is told so: here each answer is what it was recorded to be."""
    talks = [
        {"id": str(n), "turns": [{"question": q, "gold_answer": "Yes."} for q in (f"Is he {n}?", "Is she?")]}
        for n in range(3)
    ]
    data = tmp_path / "talks.jsonl"
    data.write_text("\n".join(map(json.dumps, talks)), "utf-8")
    with served("--data", data) as (host, port):
        options = ("--connections", "1", "--turns", "2", "--data", str(data), "--detect")
        command = [sys.executable, str(FOLDER / "replay_client.py"), f"http://{host}:{port}/v1", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)

    assert done.returncode != 0
    assert "of 9 documents 3 were remembered" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "rounds"), [("whole", 1), pytest.param("stream", 2, marks=pytest.mark.long)]
)
def test_throughput_compares_our_engine_with_the_bare_loop(tmp_path, kind, rounds):
    kept = tmp_path / "measured.json"
    options = ("--requests", 40, "--connections", 4, "--rounds", rounds, "--kinds", kind, "--chunks", 5)
    ours = ["convreplay pred (no drift)", "convreplay pred (free resolver)"]
    said = benchmark("throughput.py", *options, "--only", ",".join(ours), "--json", kept)

    measured = json.loads(kept.read_text("utf-8"))[kind]
    assert {name: len(found) for name, found in measured.items()} == dict.fromkeys(
        ["bare aiohttp", *ours], rounds
    )
    assert all(f"| {name} |" in said for name in ours)
    assert "turns/s of one core" in said
    assert all(one["workers_cpu_s"] > 0 for one in measured[ours[1]])


@pytest.mark.long
def test_what_a_user_takes_of_the_speed_is_measured_on_the_same_conversations():
    said = benchmark("throughput.py", "--users", "--requests", 12, "--turns", 3, "--rounds", 1)

    rows = dict(re.findall(r"^\| (rewrite|react) \| (.*) \|$", said, re.MULTILINE))
    turns, _, drifted, touched = (
        {policy: int(row.split(" | ")[place]) for policy, row in rows.items()} for place in (3, 4, 5, 6)
    )
    assert turns == {"rewrite": 12, "react": 12}
    assert touched == {"rewrite": 0, "react": drifted["react"]}
    assert drifted["react"] > 0


def test_an_unknown_client_is_named():
    done = subprocess.run(
        [sys.executable, str(FOLDER / "throughput.py"), "--only", "wrk"], capture_output=True, text=True
    )

    assert done.returncode != 0
    assert 'there is no client "wrk" here' in done.stderr


@pytest.mark.long
def test_latency_tells_what_each_client_adds():
    ours = "convreplay pred (no drift)"
    options = ("--requests", 40, "--connections", 4, "--rounds", 1, "--delay-ms", 5, "--only", ours)
    said = benchmark("latency.py", *options, "--parts", "whole,stream", "--chunks", 4)

    assert said.count(f"| {ours} |") == said.count("| bare aiohttp |") == 2


@pytest.mark.long
def test_latency_tells_how_late_open_arrivals_are_asked():
    options = ("--rounds", 1, "--delay-ms", 5, "--rate", 100, "--seconds", 0.2)
    said = benchmark("latency.py", *options, "--parts", "arrivals")

    assert "| constant |" in said
    assert "| poisson |" in said


@pytest.mark.long
def test_memory_tells_of_open_conversations_of_a_long_run_of_waiting_and_of_a_report():
    options = ("--conversations", 50, "--delay-ms", 50, "--turns", 400, "--sample-every", 100)
    said = benchmark("memory.py", *options, "--waiting-s", 0.2, "--report-turns", 200)

    assert "| 50 |" in said
    assert "| 400 |" in said
    assert "s in 0.2 s |" in said
    assert "| 200 |" in said
