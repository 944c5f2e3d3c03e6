"""The page *Load* says where the limit is, as the text does."""

from __future__ import annotations

from replay.report.load_document import limit_sentences
from replay.viewer.load_view import load_charts
from tests.statistics.load_runs import ask, level, summarised


def test_the_chart_of_throughput_names_the_point_of_saturation(tmp_path):
    """Ten answers a second, then twenty, then twenty-one of users who wait twice as long."""
    records = [
        ask(at * 20 + n / rate, taking, conversation=f"c{at}-{n}")
        for at, (rate, taking) in enumerate(((10, 0.1), (20, 0.1), (21, 0.2)))
        for n in range(int(10 * rate))
    ]
    levels = [level(at, at * 20.0, at * 20 + 10.0, value=value) for at, value in enumerate((1.0, 2.0, 4.0))]
    load = summarised(tmp_path, records, *levels)
    (said,) = limit_sentences(load)

    assert said.startswith("Saturated at concurrency 2: ")
    assert said in {chart.id: chart.note for chart in load_charts(load)}["load-throughput"]
