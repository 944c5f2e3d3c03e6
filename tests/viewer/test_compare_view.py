"""The page *Compare* says what the command says."""

from __future__ import annotations

import io

from rich.console import Console

from replay.report.numbers import p_value
from replay.report.text import print_comparison
from replay.scorers.operational import latency
from replay.scorers.word_overlap import f1
from replay.statistics.comparison import ComparisonSettings
from replay.statistics.run_comparison import ScoredRun, comparison_report
from replay.statistics.score_column import score_columns
from replay.viewer.difference_views import compare_view
from tests.report.sample_report import records


def run(name: str, policies: tuple[str, ...] = ("gold", "pred")) -> ScoredRun:
    turns = [one for one in records() if one.policy in policies]
    scores = score_columns(turns, {"f1": f1(), "latency": latency()})
    return ScoredRun(name=name, records=turns, scores=scores, signatures={})


def test_totals_are_corrected_on_the_page_as_in_the_text():
    """The page has the depths as well; they are a family of their own."""
    one, other = run("one"), run("two")
    pairs = [(a, b) for a in one.groups() for b in other.groups()]
    settings = ComparisonSettings(resamples=20)
    report = comparison_report(one, other, [p for p in pairs if p[0] == p[1]], settings=settings)
    view = compare_view(one, other)
    file = io.StringIO()
    print_comparison(report, Console(file=file, width=200))

    told = [row.total.adjusted_p for shown in view.pairs for row in shown.pair.comparisons]
    assert told == [row.total.adjusted_p for pair in report.pairs for row in pair.comparisons]
    assert all(p_value(p) for p in told)
    assert "corrected for the 4 totals compared." in file.getvalue()
    assert any("corrected for the 4 totals compared, and that of a depth for the" in n for n in view.notes)


def test_more_latency_on_the_second_side_is_a_turn_lost():
    first, second = run("one", ("gold",)), run("two", ("gold",))
    (pair,) = comparison_report(
        first, second, [(first.groups()[0], second.groups()[0])], settings=ComparisonSettings(resamples=0)
    ).pairs

    assert {one.score: one.lower_is_better for one in pair.comparisons} == {"f1": False, "latency": True}
