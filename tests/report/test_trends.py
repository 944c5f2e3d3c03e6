"""
The report where a person looks at it; ``test_text_report`` has the plain one.

Bars of scores over the depths, behind the numbers of a table in Markdown.
"""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest
from rich.console import Console

from replay.report.document import BARS, MOST_BARS, sparkline
from replay.report.markdown import markdown_report
from replay.report.text import can_show_bars, print_report
from replay.scorers.word_overlap import em
from replay.statistics.depth_table import depth_table
from replay.statistics.run_numbers import Report
from replay.statistics.score_column import score_columns
from tests.report.sample_report import report
from tests.scorers.turns import turn

GOLDEN = Path(__file__).parents[1] / "golden"
STYLES = re.compile(r"\x1b\[([0-9;]*)m")
COLOURS = re.compile(r"(?:^|;)(?:3[0-7]|9[0-7]|4[0-7])(?:;|$)")


class Terminal(io.TextIOWrapper):
    """What rich takes for a terminal of an encoding."""

    def __init__(self, encoding: str) -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding=encoding, write_through=True)

    def isatty(self) -> bool:
        return True


def shown(width: int, *, encoding: str = "utf-8", what=None, **console) -> str:
    terminal = Terminal(encoding)
    settings = {"color_system": "standard", "_environ": {}, **console}
    print_report(what or report(), Console(file=terminal, width=width, **settings))
    return terminal.bytes.getvalue().decode(encoding)


def without_styles(text: str) -> str:
    return STYLES.sub("", text)


@pytest.mark.parametrize("width", [80, 140])
def test_the_report_on_a_terminal_is_the_one_agreed_on(width):
    """After a wanted change, run once with UPDATE_GOLDEN=1 and read what changed."""
    found = without_styles(shown(width))
    file = GOLDEN / f"terminal_{width}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(found, encoding="utf-8")

    assert found == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_a_table_is_one_block_within_the_terminal(width):
    text = without_styles(shown(width, what=report(signatures={})).split("Signatures")[0])

    assert max(map(len, text.splitlines())) <= width
    assert len(re.findall("^depth ", text, re.MULTILINE)) == 4 + 1, "one for each policy, and survival"


@pytest.mark.parametrize("width", [30, 60, 80])
def test_every_score_is_there_in_full_or_folded(width):
    text = without_styles(shown(width))
    table = text.split("latency:")[0]

    for name in ("em", "f1", "bleu1", "rouge_l"):
        assert re.search(rf"\b{name}\b", table)
    assert "folded, since the terminal is narrow:" in " ".join(text.split())


def test_a_sparkline_has_a_bar_for_each_depth():
    trend = next(line for line in without_styles(shown(140)).splitlines() if line.startswith("trend"))

    assert [len(bars) for bars in trend.split()[1:]] == [5, 5, 5, 5]


def test_styles_only_repeat_what_the_characters_say():
    assert without_styles(shown(100)) == without_styles(shown(100, color_system=None))


def test_no_color_leaves_colours_out_and_keeps_the_bars(monkeypatch):
    coloured, plain = shown(100), shown(100, _environ={"NO_COLOR": "1"})

    assert any(COLOURS.search(style) for style in STYLES.findall(coloured))
    assert not any(COLOURS.search(style) for style in STYLES.findall(plain))
    assert without_styles(plain) == without_styles(coloured)


def test_a_terminal_without_the_bars_gets_the_plain_report():
    out = io.StringIO()
    print_report(report(), Console(file=out, width=100, color_system=None))

    assert without_styles(shown(100, encoding="latin-1")) == out.getvalue()


def test_depths_with_few_conversations_are_dim():
    lines = shown(140).splitlines()
    fifth = next(line for line in lines if without_styles(line).startswith("    5"))
    first = next(line for line in lines if without_styles(line).startswith("    1"))

    assert fifth.startswith("\x1b[2m")
    assert not first.startswith("\x1b[2m")


def test_a_run_without_scores_has_no_trend():
    table = depth_table([turn()], {}, {"c1": 1})

    assert "trend" not in without_styles(shown(80, what=report(table=table, gaps=())))


def _totals(answers: str) -> str:
    """The row of a conversation answered as *answers* say: ``+`` right, ``-`` wrong, blank unscored."""
    golds = {"+": ("yes",), "-": ("no",), " ": ()}
    turns = [turn("yes", *golds[one], depth=depth) for depth, one in enumerate(answers, 1)]
    columns = score_columns(turns, {"em": em()})
    report = Report(table=depth_table(turns, columns, {turns[0].conversation: len(turns)}, resamples=0))
    return next(line for line in markdown_report(report, title="x").splitlines() if "`s`" in line)


def test_a_depth_has_a_bar_and_one_without_a_number_a_dot():
    """A space would be lost in Markdown, and all bars after it stand for the depths before theirs."""
    assert "| 66.7 █·▁█ |" in _totals("+ -+")


def test_one_depth_has_no_bars():
    assert "| 100.0 |" in _totals("+")


@pytest.mark.parametrize(
    ("values", "low", "high", "bars"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7], 0, 7, BARS),
        ([None, -5, 5, None, 0.5], 0, 1, " ▁█ ▅"),
        ([3, 3], 3, 3, "▄▄"),
    ],
    ids=["from the lowest to the highest", "a gap, and ends for what lies beyond", "neither low nor high"],
)
def test_a_value_is_as_high_as_it_lies_between_the_bounds(values, low, high, bars):
    assert sparkline(values, low=low, high=high) == bars


@pytest.mark.parametrize("length", [MOST_BARS, MOST_BARS + 1, 100, 1000])
def test_a_long_row_stays_short_and_keeps_its_shape(length):
    found = sparkline([float(place) for place in range(length)], low=0, high=length - 1)

    assert MOST_BARS // 2 <= len(found) <= MOST_BARS
    assert list(found) == sorted(found)
    assert (found[0], found[-1]) == ("▁", "█")


def test_bars_are_shown_only_where_the_encoding_has_them():
    assert can_show_bars("utf-8")
    assert not can_show_bars("latin-1")
    assert not can_show_bars("no-such-encoding")
