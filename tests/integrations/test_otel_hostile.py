"""A collector that never comes to an end keeps no run from its own, with report and exit code."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason='needs pip install "convreplay[otel]"')

from replay.integrations.otel.destinations import Collector
from replay.results import telemetry
from tests.adapters.servers import in_a_thread
from tests.cli.command import replay_process
from tests.faults.fault_server import chunk, drip, endless, head, playing_faults, send, stay
from tests.scenario.keys import played, scenario, talk

TALKS = [talk("a", 2), talk("b", 3)]
NO_REPLY = [send(b"HTTP/1.1 200 OK\r\nX-Long: "), drip(b"x")]
"""Each byte of its head comes in time, and the last one never."""
NO_END = [
    [send(head()), endless(chunk(b"x" * 65_536))],
    [send(head(length=10_000_000)), drip(b"x")],
    [send(head(length=10)), stay],
]
"""A status, and then a body without end: at full speed, byte by byte, or one that stops."""


@pytest.mark.long
@pytest.mark.parametrize(("reply", "lost"), [(NO_END[0], False), (NO_REPLY, True)])
def test_a_run_ends_with_its_report_whatever_its_collector_does(tmp_path, reply, lost):
    scenario(tmp_path, talks=TALKS)
    with in_a_thread(playing_faults(reply)) as collector:
        address = f"http://{collector.address}"
        done = replay_process("run", "keys.yaml", "--otlp", address, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "run: runs/keys-" in done.stdout
    assert (f"12 spans and 5 scores were not sent to {address}" in " ".join(done.stderr.split())) == lost


def test_a_collectors_status_is_its_reply_however_long_the_rest_is():
    with in_a_thread(playing_faults(*NO_END)) as server:
        collector = Collector(f"http://{server.address}")
        assert [collector.take_spans([]) for _ in NO_END] == [True, True, True]
        collector.close()


def test_an_export_has_a_deadline_and_nothing_is_sent_after_it(monkeypatch):
    """``replay export`` waits for who takes what it gets, but not for one reply for ever."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "0.1")
    with in_a_thread(playing_faults(NO_REPLY)) as server:
        collector = Collector(f"http://{server.address}")
        assert not collector.take_spans([])
        assert collector.problem == "it had not ended its reply after 0.2 s"
        assert not collector.take_spans([])
        assert server.connections == 1


async def test_a_collector_that_takes_all_too_slowly_is_stopped_at_last(tmp_path, monkeypatch):
    """It has taken something, so it isn't away; but there is no end in sight."""
    stopped = threading.Event()

    class Slow:
        def look(self): ...
        def give_up(self): ...

        def stop(self):
            stopped.set()

        def finish(self, *, finished):
            stopped.wait()
            return "spans were not sent"

    monkeypatch.setattr(telemetry, "MOST_WAIT_S", 0.0)
    monkeypatch.setattr(telemetry, "exporters", lambda folder, export: [Slow()])
    run = await played(tmp_path, telemetry={"endpoint": "http://127.0.0.1:9"})
    assert run.state().finished
