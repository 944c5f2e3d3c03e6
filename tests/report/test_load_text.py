"""
The load report on a terminal and in a pipe, and for machines.

Where the limit is, in words.
"""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from replay import __version__
from replay.cli import playing
from replay.report.load_document import saturation_sentence
from replay.report.text import print_load
from replay.results.run import Run
from replay.scorers.word_overlap import f1
from replay.statistics.load.load_findings import saturation
from replay.statistics.load.load_summary import LoadSummary
from replay.store.rows import StoredScore, StoredTally
from tests.runs.scorer_entries import scorer_entry
from tests.statistics.load.test_saturation import CLOSED, level as compared
from tests.statistics.load_runs import ask, generator, level, summary_of, write_run

SCENARIO = """
name: load
data: {path: data.jsonl}
systems: [{name: s, adapter: python}]
policies: [pred]
scorers: [f1]
"""


def shown(
    summary: LoadSummary, *, width: int = 100, terminal: bool = False, full: bool = True, **more: Any
) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, no_color=True)
    print_load(summary, console, full=full, **more)
    return file.getvalue()


def sweep(folder, *, policies=("pred",), error="no answer within 3 s"):
    records, scores = [], []
    for at in (0, 1):
        for policy in policies:
            for n in range(30):
                failed = at == 1 and n % 10 == 0
                one = ask(
                    at * 10 + n * 0.3,
                    0.1 + at + n / 1000,
                    conversation=f"c{n // 2 % 5}~{at}-{n // 2}",
                    source=f"c{n // 2 % 5}",
                    depth=1 + n % 2,
                    policy=policy,
                    ttft_s=0.05,
                    gaps=(10, 20),
                    outcome="timed-out" if failed else "answered",
                    error=error if failed else None,
                )
                records.append(one)
                value = None if failed else 0.9 - 0.2 * at
                reason = "not answered: timed-out" if failed else None
                scores.append(StoredScore(one.conversation, "s", policy, one.depth, value, reason))
    goals = [{"goal": "latency p99 at most 1 s", "key": "latency_p99_s", "value": 0.1, "met": True}]
    missed = [{"goal": "latency p99 at most 1 s", "value": 1.1, "met": False}]
    levels = [
        level(0, 0.0, 9.9, value=8.0, met=True, goals=goals),
        level(1, 10.0, 19.9, value=16.0, met=False, goals=missed, cut=2),
    ]
    facts = {
        "scenario": {"text": SCENARIO, "source": "load.yaml", "folder": str(folder.parent)},
        "scorers": [scorer_entry("f1")],
        "policies": dict.fromkeys(policies, "pred"),
        "version": __version__,
        "finished": True,
    }
    load = {"profile": "closed", "slo": {"latency_p99_s": 1.0}}
    return write_run(folder, records, levels, load=load, scores={"f1": scores}, facts=facts)


@pytest.fixture
def swept(tmp_path):
    return sweep(tmp_path / "run")


def test_a_sweep_is_a_table_of_levels_with_the_knee_below(swept):
    text = shown(summary_of(swept, {"f1": f1()}))
    assert text.splitlines()[:9] == [
        "Load, closed: 2 levels, 60 turns in 19.9 s",
        "level           turns  due/s  done/s  conv/s  tok/s  err %  good %  good/s  late p99  goals",
        "--------------------------------------------------------------------------------------------",
        "concurrency 8      30   3.03    3.03    1.52   9.09    0.0   100.0    3.03         0  met",
        "concurrency 16     30   3.03    2.73    1.52   8.18   10.0     0.0       0         0  missed",
        "",
        "The highest level that met the goals is concurrency 8; concurrency 16 missed them.",
        "",
        "Durations of answers",
    ]


def test_levels_stand_in_their_order_however_a_search_went(tmp_path):
    records = [ask(10.0 * at + n, 0.1, conversation=f"c~{at}-{n}") for at in range(3) for n in range(9)]
    levels = [level(at, 10.0 * at, 10.0 * at + 9.9, value=v) for at, v in enumerate((8.0, 2.0, 4.0))]
    summary = summary_of(write_run(tmp_path / "run", records, levels))
    lines = [line.split() for line in shown(summary).splitlines()]
    assert [line[1] for line in lines if line[:1] == ["concurrency"]][:3] == ["2", "4", "8"]
    assert [one.played.index for one in summary.levels] == [1, 2, 0]


def test_quality_stands_beside_the_durations_by_level_and_by_depth(swept):
    lines = shown(summary_of(swept, {"f1": f1()})).splitlines()
    scores = lines[lines.index("Scores") :][:5]
    assert scores[1].split() == ["level", "f1", "f1", "drop"]
    assert scores[4].startswith("concurrency 16  70.0  +20.0")
    depths = lines[lines.index("By depth at concurrency 16") :][:7]
    assert depths[1].split()[:4] == ["depth", "turns", "err", "%"]
    assert depths[3].split()[:4] == ["1", "15", "20.0", "70.0"]
    assert depths[6].split()[:3] == ["all", "30", "10.0"]


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_no_table_is_wider_than_the_terminal(swept, width):
    text = shown(summary_of(swept, {"f1": f1()}), width=width)
    assert max(map(len, text.splitlines())) <= width


def test_a_pipe_gets_ascii_and_a_terminal_sparklines(swept):
    summary = summary_of(swept, {"f1": f1()})
    assert shown(summary).isascii()
    assert "█" in shown(summary, terminal=True)


def test_errors_are_counted_by_level_and_their_reasons_shown_with_nothing_that_moves_the_cursor(tmp_path):
    folder = sweep(tmp_path / "run", error="[red]bad\x1b[2J \udc80 reply\r\n" + "x" * 1000)
    text = shown(summary_of(folder), failures=Run(folder).failures())
    lines = text.splitlines()
    errors = lines[lines.index("Errors") :]
    assert errors[3].split() == ["concurrency", "16", "timed-out", "3", "10"]
    assert errors[errors.index("Failures") + 1].startswith(r"- 3 turns, timed-out: [red]bad\x1b[2J \udc80")
    assert "x" * 1000 in text, "in full"
    assert not {"\x1b", "\udc80", "\r"} & set(text)


def test_without_more_ado_it_is_one_screen(swept):
    """Load, throughput, what users waited, scores, objectives and reasons; every table on request."""
    summary = summary_of(swept, {"f1": f1()})
    lines = shown(summary, full=False, failures=Run(swept).failures()).splitlines()
    assert lines[:6] == [
        "Load, closed: 2 levels, 60 turns in 19.9 s",
        "level           turns  due/s  done/s  err %  resp. p50    p95    p99  TTFT p50  f1    goals",
        "-" * 92,
        "concurrency 8      30   3.03    3.03    0.0        115    128    129        50  90.0  met",
        "concurrency 16     30   3.03    2.73   10.0      1,115  1,128  1,129        50  70.0  missed",
        "",
    ]
    text = " ".join(" ".join(lines).split())
    assert "The highest level that met the goals is concurrency 8; concurrency 16 missed them." in text
    assert "- 3 turns, timed-out: no answer within 3 s (first: c0~1-0, depth 1, s, pred)" in text
    assert "concurrency 16 missed latency p99 at most 1 s (1.1)" in text
    assert "fewer have concurrency 8 (30), concurrency 16 (27)." in text
    assert len(lines) <= 24
    assert not {"Durations of answers", "By depth at concurrency 8", "Errors"} & set(lines)


def offered(tmp_path, *generators):
    """The summary of a level that they offered."""
    records = [ask(n * 0.1, conversation=f"c{n}") for n in range(90)]
    return summary_of(write_run(tmp_path / "run", records, [level(generators=list(generators))]))


def test_each_generator_has_its_row_and_the_worst_of_several_a_sentence(tmp_path):
    late = {"asks": 9, "p50_s": 0.001, "p99_s": 0.004, "max_s": 0.1}
    clock = {"offset_s": -1234.5, "uncertainty_s": 0.0005}
    far = generator(number=1, host="b", busy=0.456, lateness=late, clock=clock, clock_moved_s=0.00025)
    summary = offered(tmp_path, generator(), far)
    lines = shown(summary, width=140).splitlines()
    table = lines[lines.index("Who offered the load") :]
    heads = "level generator host conv. busy % late p50 p99 max lag p99 clock s +- moved"
    assert table[1].split() == heads.split()
    assert table[3].split() == ["concurrency", "1", "1", "here", "1", "10.0", *"0000", "-", "-", "-"]
    assert table[4].split() == ["2", "b", "1", "45.6", "1", "4", "100", "0", "-1,234.5000", "0.5", "0.25"]
    brief = " ".join(shown(summary, full=False).split())
    said = (
        "the worst of the generators was generator 2 of 2 (b): it sent 4 ms late (p99) and was busy for 46%"
    )
    assert said in brief
    assert "Who offered" not in brief


def test_of_the_only_generator_one_screen_says_nothing_unless_it_is_at_its_limit(tmp_path):
    assert "generator" not in shown(offered(tmp_path, generator()), full=False)
    busy = shown(offered(tmp_path / "busy", generator(busy=0.97)), full=False)
    assert "the generator was busy for 97% of the time" in " ".join(busy.split())


def test_scores_of_several_policies_stand_in_a_table_of_their_own(tmp_path):
    lines = shown(summary_of(sweep(tmp_path / "run", policies=("pred", "gold")), {"f1": f1()}), full=False)
    assert "concurrency 16, gold  70.0  +20.0" in lines


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_one_screen_is_no_wider_than_the_terminal(swept, width):
    text = shown(summary_of(swept, {"f1": f1()}), width=width, full=False)
    assert max(map(len, text.splitlines())) <= width


def test_of_many_doubts_the_first_are_told_and_the_rest_counted(tmp_path):
    levels = [level(n, n * 10.0, n * 10 + 9.9, value=n + 1.0, delayed=n + 1) for n in range(8)]
    records = [ask(n * 10 + 1, conversation=f"c{n}") for n in range(8)]
    text = shown(summary_of(write_run(tmp_path / "run", records, levels)), full=False)
    assert text.count("had to wait") == 4
    assert "and 4 more of this kind, in the full report" in text


def test_several_policies_are_named(tmp_path):
    text = shown(summary_of(sweep(tmp_path / "run", policies=("pred", "gold")), {"f1": f1()}))
    assert "By depth at concurrency 8: s, gold" in text
    assert "By depth at concurrency 8: s, pred" in text
    assert "concurrency 16, gold  70.0  +20.0" in text


def test_tallied_turns_are_said_to_come_from_a_histogram(tmp_path):
    data = {"turns": 5, "outcomes": {"answered": 5}, "latency": None, "response": None, "ttft": None}
    tally = StoredTally(0, "s", "pred", 1, data)
    folder = write_run(tmp_path / "run", [ask(0.5)], [level()], tallies=[tally])
    text = " ".join(shown(summary_of(folder)).split())
    assert "5 turns of 6 kept only as counts and histograms" in text
    assert "within 0.1 %" in text


def test_without_a_level_the_report_says_that_there_is_none(tmp_path):
    assert "No level of load" in shown(summary_of(write_run(tmp_path / "run", [], [])))


def test_a_level_without_turns_is_shown(tmp_path):
    text = shown(summary_of(write_run(tmp_path / "run", [], [level()])))
    assert "no turn was due in the measured window" in text


def test_the_report_of_a_load_run_shows_the_load_first_and_then_the_depth_table(swept, capsys):
    playing.show(Run(swept), as_json=False, resamples=50, full=True)
    text = capsys.readouterr().out
    assert text.index("Load, closed: 2 levels") < text.index("Notes on the load") < text.index("\ns, pred")
    assert "Signatures" in text
    assert text.count("Failures\n") == 1
    playing.show(Run(swept), as_json=False, resamples=50)
    text = capsys.readouterr().out
    assert "Signatures" not in text
    assert f"all tables: replay report {swept} --full" in text


def test_plays_that_were_begun_are_what_a_depth_table_of_a_load_run_counts(swept):
    """Thirty plays of five conversations with two turns each: nothing of what was begun is missing."""
    total = Run(swept).report(resamples=0).table.groups[0].total
    assert (total.turns, total.unreached) == (60, 0)


def test_too_many_turns_for_a_depth_table_leave_the_load_report(swept, capsys, monkeypatch):
    monkeypatch.setattr(playing, "MOST_TABLED_TURNS", 10)
    playing.show(Run(swept), as_json=False, resamples=50, full=True)
    assert "Signatures" not in capsys.readouterr().out
    playing.show(Run(swept), as_json=True, resamples=50)
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == {"schema", "convreplay", "statistics", "load", "failures"}


def test_the_json_report_holds_the_load_beside_the_depth_table(swept, capsys):
    playing.show(Run(swept), as_json=True, resamples=50)
    found = json.loads(capsys.readouterr().out)
    assert found["load"]["knee"] == {"level": "concurrency 8", "value": 8.0, "missed": "concurrency 16"}
    first = found["load"]["levels"][0]
    assert first["total"]["latency"]["count"] == 30
    assert first["groups"][0]["depths"]["1"]["scores"]["f1"]["value"] == pytest.approx(0.9)
    assert len(found["load"]["series"]["sent"]) == len(found["load"]["series"]["start_s"])
    assert found["depth_table"]["groups"]


@pytest.mark.parametrize(
    ("levels", "sentence"),
    [
        (
            CLOSED,
            "Saturated at concurrency 8: 145 answers/s. concurrency 16, 2 times the load, brought 151 (+4 %) "
            "and a median response of 103 instead of 53 ms.",
        ),
        (
            [compared(8, 80, 0.1), compared(12, 81, 0.2, errors=0.1), compared(32, 79, 0.4)],
            "Saturated at concurrency 8, the lowest level, or below it: 80 answers/s. concurrency 12, 1.5 "
            "times the load, brought 81 (+1 %), a median response of 200 instead of 100 ms and 10.0 instead "
            "of 0.0 % failures.",
        ),
        (CLOSED[:3], "Not saturated up to concurrency 8: throughput still grew."),
        (
            [compared(4, 40), compared(8, 80), compared(9, 81)],
            "Throughput hardly grew beyond concurrency 8; a level",
        ),
        (
            [compared(4, 40), compared(8, 80, turns=60), compared(16, 82, 0.2)],
            "fewer than 100 turns, too few to tell",
        ),
        ([compared(4, 40), compared(8, 80), compared(16, 82, 0.1)], "and not the system."),
    ],
)
def test_it_is_said_what_was_set_side_by_side(levels, sentence):
    found = saturation(levels)

    assert found is not None
    assert sentence in saturation_sentence(found)
