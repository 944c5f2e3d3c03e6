"""What servers say that they took, counted and shown."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from replay.core.record import ServerTimes, Timing, TurnRecord
from replay.report.export import report_json
from replay.report.markdown import markdown_report
from replay.report.text import print_report
from replay.results.run import Run
from replay.statistics.group import Group
from replay.statistics.load.load_summary import LoadSummary
from replay.statistics.run_numbers import ServerTimedTurn, count_server_times
from replay.viewer.depth_view import server_times_chart
from tests.report.sample_report import report
from tests.report.test_load_text import shown
from tests.statistics.load_runs import ask, level, write_run
from tests.viewer.runs import make_run, record, talk

BOT, OTHER = Group("bot", "pred"), Group("other", "pred")
VLLM = ServerTimes(queue_s=0.01, prefill_s=0.02, decode_s=0.03)
TURNS = [
    ServerTimedTurn(BOT, 1, 0.1, 0.04, VLLM),
    ServerTimedTurn(BOT, 2, 0.3, None, ServerTimes(total_s=0.2, queue_s=0.03, dropped=1)),
    ServerTimedTurn(BOT, 2, 0.5, None, ServerTimes(dropped=3)),
    ServerTimedTurn(OTHER, 1, 0.1, None, ServerTimes(total_s=0.1005)),
]


def test_means_are_of_the_turns_whose_server_said_something() -> None:
    bot, other = count_server_times(TURNS)
    first, second, whole = bot.rows

    assert [row.depth for row in bot.rows] == [1, 2, None]
    assert (first.queue_s, first.prefill_s, first.decode_s, first.ttft_s) == (0.01, 0.02, 0.03, 0.04)
    assert (first.server_s, first.share) == (pytest.approx(0.06), pytest.approx(0.6))
    assert (second.turns, second.latency_s, second.server_s, second.dropped) == (1, 0.3, 0.2, 4)
    assert (whole.turns, whole.queue_s, whole.prefill_s) == (2, 0.02, 0.02)
    assert whole.share == pytest.approx(0.26 / 0.4)
    assert other.rows[0].share == 1.0, "rounded up by the server"
    assert count_server_times([]) == ()


def test_the_report_shows_them_where_one_was_sent_and_only_there() -> None:
    told, silent = report(server=count_server_times(TURNS)), report()
    file = io.StringIO()
    print_report(told, Console(file=file, width=80))
    text = file.getvalue()
    table = text[text.index("bot, pred: server times") :].splitlines()

    head = "depth turns latency TTFT queue prefill decode server server %"
    assert table[1].split() == head.split()
    assert table[3].split() == ["1", "1", "100.0", "40.0", "10.0", "20.0", "30.0", "60.0", "60.0"]
    assert max(map(len, table)) <= 80
    assert "bot, pred: 4 server times are left out" in " ".join(text.split())
    assert "| depth | turns | latency | server | server % |" in markdown_report(told, title="t")
    assert report_json(told)["server_times"][1]["rows"][0]["server_s"] == 0.1
    assert "server_times" not in report_json(silent)
    assert "server" not in markdown_report(silent, title="t")


def test_the_chart_divides_the_latency_into_parts() -> None:
    chart = server_times_chart(count_server_times(TURNS)).variants[""]
    parts = {(trace["name"], trace["meta"]["system"]): trace["y"] for trace in chart.traces}

    assert parts["queue", "bot"] == [10, 30]
    assert parts["other server time", "bot"] == [0, pytest.approx(170)]
    assert parts["network and client", "bot"] == [pytest.approx(40), pytest.approx(100)]
    of_bot = [values for (_, system), values in parts.items() if system == "bot"]
    sums = [sum(filter(None, at)) for at in zip(*of_bot, strict=True)]
    assert sums == [pytest.approx(100), pytest.approx(300)]
    assert ("queue", "other") not in parts
    assert len(chart.rows) == 5


def test_a_stored_run_has_them_and_failed_turns_count_nowhere(tmp_path: Path) -> None:
    timing = Timing(scheduled_s=1.0, sent_s=1.0, done_s=1.25, server=VLLM)
    turns = [record("a", 1, timing=timing), record("a", 2, answer=None, timing=timing)]
    run = Run(make_run(tmp_path / "run", [talk("a")], turns, {}))

    (one,) = run.report().server
    assert (one.group, [row.depth for row in one.rows]) == (Group("made", "gold"), [1, None])
    assert one.rows[0].share == pytest.approx(0.06 / 0.25)


def test_a_load_report_has_the_share_where_one_was_sent_and_only_there(tmp_path: Path) -> None:
    def of(name: str, *records: TurnRecord) -> LoadSummary:
        folder = write_run(tmp_path / name, records, levels=[level()])
        return Run(folder).load_summary()

    told, silent = of("told", ask(1.0, 0.1, server=VLLM)), of("silent", ask(1.0))

    for full in (True, False):
        assert "server %: what of the latency" in " ".join(shown(told, full=full).split())
        assert "60.0" in shown(told, full=full).split()
        assert "server" not in shown(silent, full=full)
