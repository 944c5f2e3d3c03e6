"""Figures as plain values."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from replay.report.charts import band, log_ticks, plain, styles, tick_step
from replay.results.run import Run
from replay.scorers.word_overlap import f1
from replay.statistics.group import Group
from replay.viewer.load_view import load_charts
from replay.viewer.pages import render
from tests.cli.command import replay_cli
from tests.data_tables import from_table
from tests.report.test_load_text import sweep
from tests.statistics.load_runs import ask, level, summary_of, write_run


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
    drawn = band(group, styles([group])[group], [1, 2, 3, 4], [0, 0, None, 0], [1, 1, None, 1])
    assert drawn["x"] == [1, 2, 2, 1, 1, None, 3.9, 4.1, 4.1, 3.9, 3.9]
    assert drawn["y"].count(None) == 1


def test_a_name_is_no_markup_to_plotly():
    assert plain("<a href='x'>&\u202e") == "&lt;a href='x'&gt;&amp;⟨U+202E⟩"


@from_table
def test_each_number_of_a_logarithmic_axis_has_its_unit(values, labels):
    """Plotly's own labels between two powers of ten are bare digits."""
    ticks = log_ticks(values)
    assert (ticks["type"], ticks["ticktext"]) == ("log", labels)
    assert ticks["tickvals"] == sorted(ticks["tickvals"])


@pytest.mark.parametrize(("count", "step"), [(12, 1), (40, 2), (60, 5), (900, 50)])
def test_an_axis_of_many_depths_leaves_its_numbers_apart(count, step):
    assert tick_step(count) == step


@pytest.fixture
def load(tmp_path):
    return summary_of(sweep(tmp_path / "run"), {"f1": f1()})


def test_a_stress_run_has_all_its_charts_each_with_its_table(load):
    charts = {chart.id: chart for chart in load_charts(load)}
    assert list(charts) == [
        "load-rates",
        "load-latency",
        "load-latency-levels",
        "load-ttft-levels",
        "load-throughput",
        "load-quality",
        "load-depth",
        "load-generators",
        "load-errors",
    ]
    for chart in charts.values():
        json.dumps(chart.figures, allow_nan=False)
        for variant in chart.variants.values():
            assert {len(row.cells) for row in variant.rows} == {len(variant.heads)}
    assert list(charts["load-quality"].variants) == ["f1"]
    assert charts["load-errors"].variants[""].rows[0].cells[1].exact == 3
    offered = [[cell.shown for cell in row.cells[:5]] for row in charts["load-generators"].variants[""].rows]
    assert offered == [[f"concurrency {users}", "1", "here", "1", "10%"] for users in (8, 16)]
    page = render("load.html", load=list(charts.values()), failed=None)
    assert "Latency against quality" in page


def test_levels_stand_in_their_order_however_a_search_went(tmp_path):
    """A bisection plays 8, then 2, then 4, and 4 once more."""
    records = [ask(10.0 * at + n, 0.1, conversation=f"c~{at}-{n}") for at in range(4) for n in range(9)]
    levels = [level(at, 10.0 * at, 10.0 * at + 9.9, value=v) for at, v in enumerate((8.0, 2.0, 4.0, 4.0))]
    charts = {one.id: one for one in load_charts(summary_of(write_run(tmp_path / "run", records, levels)))}
    names = ["concurrency 2", "concurrency 4", "concurrency 4 (2)", "concurrency 8"]
    for id in ("load-latency-levels", "load-throughput"):
        (variant,) = charts[id].variants.values()
        assert [row.cells[0].shown for row in variant.rows] == names
        assert {tuple(trace["x"]) for trace in variant.traces} == {tuple(names)}
    assert "At the highest level, concurrency 8." in charts["load-depth"].note


def test_what_was_not_measured_has_no_chart(load):
    assert load_charts(None) == []
    assert load_charts(replace(load, levels=(), series=None)) == []
    shown = load_charts(replace(load, levels=[replace(load.levels[0], groups=())], series=None))
    ids = ["load-latency-levels", "load-ttft-levels", "load-throughput", "load-generators"]
    assert [chart.id for chart in shown] == ids
    played = replace(load.levels[0].played, generators=())
    nobody = replace(load, levels=[replace(load.levels[0], played=played, groups=())], series=None)
    assert [chart.id for chart in load_charts(nobody)] == ids[:-1]


def test_a_real_stress_run_has_its_load_page_and_other_runs_have_none(quickstart, tmp_path):
    command = ["stress", "quickstart", "--levels", "1,2", "--duration", "0.5", "--warmup", "0"]
    done = replay_cli(*command, "--runs", "runs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    charts = {chart.id: chart for chart in load_charts(Run(folder).load_summary())}
    assert {"load-rates", "load-latency-levels", "load-throughput", "load-quality"} <= charts.keys()
    levels = charts["load-latency-levels"].variants[""].rows
    assert len(levels) == 2
    assert all(row.cells[1].exact > 0 for row in levels)
    assert Run(quickstart).load_summary() is None
