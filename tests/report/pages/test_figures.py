"""Figures as plain values."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from replay.report.pages.figures import band, plain, styles, tick_step
from replay.report.pages.load_view import load_charts
from replay.report.pages.measured_load import measured_load
from replay.report.pages.pages import render
from replay.runs.run import Run
from replay.statistics.group import Group


def test_each_policy_has_a_colour_a_dash_or_marker_of_its_own():
    groups = [
        Group("s", p) for p in ("gold", "pred", "rewrite", "replace", "augment", "filter", "mine", "yours")
    ]
    found = styles(groups)
    assert len({look.color for look in found.values()}) == 8
    assert len({(look.dash, look.marker) for look in found.values()}) == 8


def test_a_policy_looks_alike_whatever_else_was_run():
    one = styles([Group("s", "pred"), Group("s", "rewrite")])
    other = styles([Group("s", "rewrite"), Group("s", "x")])
    assert one[Group("s", "rewrite")].color == other[Group("s", "rewrite")].color


def test_two_systems_under_one_policy_differ_in_their_dash():
    found = styles([Group("a", "gold"), Group("b", "gold")])
    first, second = found.values()
    assert first.color == second.color
    assert first.dash != second.dash


def test_a_band_is_interrupted_where_an_interval_is_missing():
    group = Group("s", "gold")
    drawn = band(group, styles([group])[group], [1, 2, 3, 4], [0, 0, None, 0], [1, 1, None, 1], among=1)
    assert drawn["x"] == [1, 2, 2, 1, 1, None, 3.9, 4.1, 4.1, 3.9, 3.9]
    assert drawn["y"].count(None) == 1


def test_a_name_is_no_markup_to_plotly():
    assert plain("<a href='x'>&\u202e") == "&lt;a href='x'&gt;&amp;⟨U+202E⟩"


@pytest.mark.parametrize(("count", "step"), [(12, 1), (40, 2), (60, 5), (900, 50)])
def test_an_axis_of_many_depths_leaves_its_numbers_apart(count, step):
    assert tick_step(count) == step


LOAD = {
    "levels": [
        {
            "name": f"{rate}/s",
            "offered": float(rate),
            "throughput": rate * 0.9,
            "goodput": rate * 0.8,
            "latency": {"p50": 0.1 * rate, "p90": 0.2, "p95": 0.3, "p99": 0.4, "max": 0.9},
            "ttft": None,
            "errors": 1,
            "asked": 100,
            "quality": {
                "f1": {"value": 0.5, "low": 0.4, "high": 0.6, "unit": "share"},
                "x": {"value": 2.0, "unit": ""},
            },
        }
        for rate in (1, 2, 4)
    ],
    "series": [
        {
            "at_s": float(s),
            "offered": 3.0,
            "throughput": 2.5,
            "in_flight": 4.0,
            "p50": 0.1,
            "p95": 0.2,
            "p99": 0.3,
            "errors": 0,
        }
        for s in range(10)
    ],
    "by_depth": [{"depth": d, "p50": 0.1 * d, "p95": 0.2, "p99": 0.3, "turns": 10} for d in (1, 2, 3)],
    "errors": {"timed-out": 2, "<b>refused</b>": 5},
}


def test_a_stress_run_has_all_its_charts_each_with_its_table():
    charts = {chart.id: chart for chart in load_charts(LOAD)}
    assert list(charts) == [
        "load-rates",
        "load-latency",
        "load-latency-levels",
        "load-throughput",
        "load-quality",
        "load-depth",
        "load-errors",
    ]
    for chart in charts.values():
        for variant in chart.variants.values():
            json.dumps(variant.figure, allow_nan=False)
            assert {len(row.cells) for row in variant.table.rows} == {len(variant.table.heads)}
    assert list(charts["load-quality"].variants) == ["f1", "x"]
    assert charts["load-errors"].variants[""].table.rows[0].cells[1].exact == 5
    page = render("load.html", load=list(charts.values()), failed=None)
    assert "<b>refused</b>" not in page
    assert "Latency against quality" in page


@pytest.mark.parametrize(
    "load", [None, {}, {"levels": [], "series": [], "errors": {}}, {"levels": [{"name": "one"}]}]
)
def test_what_was_not_measured_has_no_chart(load):
    assert load_charts(load) == []


def test_a_real_stress_run_has_its_load_page_and_other_runs_have_none(quickstart, tmp_path):
    command = ["stress", "quickstart", "--levels", "1,2", "--duration", "1", "--warmup", "0"]
    done = subprocess.run(
        [sys.executable, "-m", "replay", *command, "--runs", "runs"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    charts = {chart.id: chart for chart in load_charts(measured_load(Run(folder)))}
    assert {"load-rates", "load-latency-levels", "load-throughput", "load-quality"} <= charts.keys()
    levels = charts["load-latency-levels"].variants[""].table.rows
    assert len(levels) == 2
    assert all(row.cells[1].exact > 0 for row in levels)
    assert measured_load(Run(quickstart)) is None
