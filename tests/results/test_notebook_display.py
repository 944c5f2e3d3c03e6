"""A run and a comparison as a notebook shows them."""

from __future__ import annotations

import pytest

import replay
from replay.results.run import Run
from tests.cli.compared_runs import scenario, write_talks
from tests.report.test_load_text import sweep


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    write_talks(folder, 3, 2)
    return replay.run(scenario(folder, "gold"), runs=folder / "runs")


def test_a_run_is_its_report_as_html_and_as_text(run):
    shown = run._repr_mimebundle_(include=None, exclude=None)

    assert shown["text/plain"].startswith("s, gold\ndepth  turns  em ")
    assert shown["text/html"].startswith('<div class="convreplay')
    assert f"try ({run.folder})" in shown["text/html"]
    assert shown["text/html"].count("<table") == 5
    assert repr(run) == f"Run({str(run.folder)!r})", "in a list, or a program, it is a line"


def test_a_load_run_is_its_levels(tmp_path):
    shown = Run(sweep(tmp_path / "run"))._repr_mimebundle_()

    assert shown["text/plain"].startswith("Load, closed: 2 levels, 60 turns in 19.9 s")
    assert '<th scope="row">concurrency 8</th><td class="n">30</td>' in shown["text/html"]


def test_a_comparison_is_its_tables_and_what_became_of_the_gate(run):
    found = replay.compare(run, policies=("gold", "pred"), by_depth=True, fail_on="f1", resamples=50)
    shown = found._repr_mimebundle_(include=None, exclude=None)

    assert "s, pred (B) minus s, gold (A), on the same turns" in str(found)
    assert "\n\nGate: UNDECIDED" in str(found), "so few conversations can tell nothing"
    assert shown["text/plain"] == str(found)
    assert "<li>Gate: UNDECIDED" in shown["text/html"]
    assert repr(found) == f"RunComparison({str(run.folder)!r}, {str(run.folder)!r})"


def test_text_goes_into_no_notebook_of_its_own_accord(run, monkeypatch):
    """rich takes a console for a notebook's wherever one runs, and a kernel's variables ask it for colour."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)

    assert run._repr_mimebundle_()["text/plain"].startswith("s, gold\n")
