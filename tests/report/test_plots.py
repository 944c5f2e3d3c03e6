"""Pictures, by what a reader would see of them: the artists on their axes, and the files."""

from __future__ import annotations

import re
import sys
import warnings
from functools import cache
from xml.etree import ElementTree

import pytest
from matplotlib.collections import PathCollection
from matplotlib.font_manager import findfont
from matplotlib.text import Text
from msgspec.structs import replace

from replay.core.errors import InputError, PluginError
from replay.core.record import Timing
from replay.report.drawing import (
    COLOURS,
    WIDTHS_IN,
    check_can_draw,
    choose,
    format_of,
    looks,
    plain,
    save,
    style,
)
from replay.report.figures import agreement_figure, depth_figure, gap_figure, latency_figure
from replay.scorers.operational import latency
from replay.statistics.depth_table import depth_table
from replay.statistics.paired import policy_gaps
from replay.statistics.run_comparison import ScoredRun
from replay.statistics.run_numbers import Report
from replay.statistics.score_column import score_columns
from tests.data_tables import from_table
from tests.report.sample_report import LENGTHS, columns, records


def run(name="run", turns=None, **changes):
    """The sample run, its records changed."""
    turns = [replace(turn, **changes) for turn in turns or records()]
    scores = {**columns(turns), **score_columns(turns, {"latency": latency(), "p95": latency(0.95)})}
    report = Report(
        table=depth_table(turns, scores, LENGTHS, resamples=50),
        gaps=tuple(policy_gaps(turns, scores, resamples=50)),
    )
    return ScoredRun(name=name, records=turns, scores=scores, signatures={}), report


@cache
def sample():
    return run()


def chosen(*runs, systems=(), policies=()):
    return choose(runs or [sample()], systems, policies)


@pytest.fixture(autouse=True)
def _styled():
    with style():
        yield


def labels(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def marks(axes):
    """The points of each group: a collection of markers each."""
    return [c.get_offsets().tolist() for c in axes.collections if isinstance(c, PathCollection)]


def test_depth_draws_each_groups_scores_in_per_cent():
    (plotted,) = chosen(policies=["gold", "pred"])
    figure = depth_figure([plotted], ["f1"], "column")
    panel, below = figure.axes
    tables = plotted.tables()

    assert labels(figure) == ["gold", "pred"]
    assert panel.get_ylabel() == "f1 (%)"
    assert marks(panel) == [
        [[row.depth, pytest.approx(100 * row.scores["f1"].value)] for row in table.depths] for table in tables
    ]
    assert below.get_ylabel() == "turns"
    assert [bar.get_height() for bar in below.patches] == [12, 12, 12, 8, 4]


def test_depths_with_few_conversations_are_hollow_and_said_to_be():
    figure = depth_figure(chosen(policies=["gold"]), ["f1"], "column")
    (points,) = [c for c in figure.axes[0].collections if isinstance(c, PathCollection)]
    filled = [colour.tolist()[:3] != [1, 1, 1] for colour in points.get_facecolors()]

    assert filled == [True, True, True, True, False]
    assert "hollow: fewer than 5 conversations" in figure.axes[1].get_xlabel()


def test_several_scores_have_a_panel_each():
    column = depth_figure(chosen(), ["em", "f1", "latency"], "column")
    page = depth_figure(chosen(), ["em", "f1", "latency"], "page")

    assert [axes.get_ylabel() for axes in column.axes] == ["em (%)", "f1 (%)", "latency (s)", "turns"]
    assert len({axes.get_position().y0 for axes in page.axes[:3]}) == 1, "side by side"


def test_without_a_name_f1_is_drawn():
    assert depth_figure(chosen(), [], "column").axes[0].get_ylabel() == "f1 (%)"


def test_gap_draws_paired_differences_around_zero():
    (plotted,) = chosen(policies=["pred", "rewrite"])
    figure = gap_figure([plotted], ["f1"], "column")
    panel, below = figure.axes
    gaps = [gap for gap in plotted.report.gaps if gap.score == "f1" and gap.second.policy != "filter"]

    assert labels(figure) == ["pred", "rewrite"]
    assert panel.get_ylabel() == "f1 minus gold (points)"
    assert below.get_ylabel() == "turns in\ncommon"
    for points, gap in zip(marks(panel), gaps, strict=True):
        assert [y for _, y in points] == [pytest.approx(100 * row.value) for row in gap.depths]
        assert [round(x) for x, _ in points] == [row.depth for row in gap.depths]


def test_a_gap_needs_gold():
    with pytest.raises(InputError, match="played under gold"):
        gap_figure(chosen(run(turns=[r for r in records() if r.policy == "pred"])), ["f1"], "column")


def test_latency_draws_medians_and_95th_percentiles_in_fitting_units():
    (plotted,) = chosen(policies=["pred"])
    figure = latency_figure([plotted], "column")
    median, high = marks(figure.axes[0])
    rows = plotted.tables()[0].depths

    assert labels(figure) == ["median", "95th percentile"]
    assert figure.axes[0].get_ylabel() == "latency (ms)"
    assert [y for _, y in median] == [pytest.approx(1000 * row.latency_p50_s) for row in rows]
    assert [y for _, y in high] == [pytest.approx(1000 * row.latency_p95_s) for row in rows]


def test_the_time_to_first_token_has_a_panel_where_answers_came_in_pieces():
    timing = Timing(scheduled_s=0, sent_s=0, first_token_s=1.5, done_s=60)
    figure = latency_figure(chosen(run(timing=timing)), "column")

    assert [axes.get_ylabel() for axes in figure.axes[:2]] == ["latency (s)", "time to first token (s)"]


def test_latencies_far_apart_are_on_a_logarithmic_scale():
    slow = [
        replace(r, timing=Timing(scheduled_s=0, sent_s=0, done_s=10.0 ** (r.depth - 2))) for r in records()
    ]

    assert latency_figure(chosen(run(turns=slow)), "column").axes[0].get_yscale() == "log"
    assert latency_figure(chosen(), "column").axes[0].get_yscale() == "linear"


def test_no_answer_is_no_latency():
    turns = [replace(r, outcome="refused", answer=None) for r in records()]
    with pytest.raises(InputError, match="no turn was answered"):
        latency_figure(chosen(run(turns=turns)), "column")


def test_two_scores_are_held_against_each_other_point_by_point():
    figure = agreement_figure(chosen(), ["f1", "rouge_l"], "column", resamples=20, seed=0)
    (axes,) = figure.axes

    assert (axes.get_xlabel(), axes.get_ylabel()) == ("f1", "rouge_l")
    assert re.match(r"Pearson 0\.\d\d \[.*\]\nSpearman ", axes.get_title(loc="left"))


def test_more_scores_make_a_matrix_of_those_with_a_value_for_each_turn():
    figure = agreement_figure(chosen(), [], "page", resamples=0, seed=0)
    matrix = figure.axes[0]

    assert [t.get_text() for t in matrix.get_xticklabels()] == ["em", "f1", "bleu1", "rouge_l"]
    assert [t.get_text() for t in matrix.get_yticklabels()] == ["f1", "bleu1", "rouge_l", "latency"]
    assert len(matrix.texts) == 4 * 5 / 2


@from_table
def test_what_cannot_agree_is_an_input_error(metrics, message):
    with pytest.raises(InputError, match=message):
        agreement_figure(chosen(), metrics, "column", resamples=0, seed=0)
    with pytest.raises(InputError, match="one run at a time"):
        agreement_figure(chosen(run(), run()), [], "column", resamples=0, seed=0)


def test_all_is_told_apart_without_colour():
    """In print without colour, dashes and markers have to do."""
    (plotted,) = chosen()
    found = list(looks([plotted]).values())

    assert len({(look.dashes, look.marker) for look in found}) == len(found) == 4
    assert {look.colour for look in found} <= set(COLOURS)


def test_with_several_systems_colour_tells_policies_and_dashes_systems():
    found = looks(chosen(run("a"), run("b"), policies=["gold", "pred"]))
    by_label = {look.label: look for look in found.values()}

    assert list(by_label) == ["a, gold", "a, pred", "b, gold", "b, pred"]
    assert by_label["a, gold"].colour == by_label["b, gold"].colour != by_label["a, pred"].colour
    assert by_label["a, gold"].dashes == by_label["a, pred"].dashes != by_label["b, pred"].dashes


def test_a_name_that_is_not_there_is_an_input_error():
    with pytest.raises(InputError, match='did you mean "pred"'):
        chosen(policies=["prd"])
    with pytest.raises(InputError, match='did you mean "rouge_l"'):
        depth_figure(chosen(), ["rouge_k"], "column")


def test_letters_are_at_least_seven_points_and_figures_as_wide_as_a_column():
    """Pictures are put into a paper as large as they are."""
    for width, inches in WIDTHS_IN.items():
        figure = depth_figure(chosen(), ["f1"], width)
        texts = [t for axes in figure.axes for t in (axes.xaxis.label, axes.yaxis.label)]
        texts += [t for axes in figure.axes for t in (*axes.get_xticklabels(), *axes.get_yticklabels())]
        texts += [t for legend in figure.legends for t in legend.get_texts()]

        assert figure.get_figwidth() == inches
        assert min(text.get_fontsize() for text in texts) >= 7


@pytest.mark.parametrize("width", WIDTHS_IN)
@pytest.mark.parametrize("names", ["short", "a-rather-long-name-of-a-system-under-test"])
def test_nothing_stands_outside_the_picture(width, names):
    runs = chosen(run(system=f"{names}-1"), run("other", system=f"{names}-2"))
    figure = depth_figure(runs, ["f1"], width)
    figure.draw_without_rendering()
    whole = figure.bbox

    for legend in figure.legends:
        box = legend.get_window_extent()
        assert box.x0 >= 0
        assert box.y1 <= whole.y1 + 1
        assert box.x1 <= whole.x1 + 1
        assert box.y0 >= figure.axes[0].get_window_extent().y1 - 1, "above the panels"
    assert len(set(labels(figure))) == 8, "and all can be told apart"


@pytest.mark.parametrize("kind", ["svg", "png", pytest.param("pdf", marks=pytest.mark.long)])
def test_the_same_numbers_give_the_same_bytes(tmp_path, kind):
    files = [tmp_path / f"{name}.{kind}" for name in "ab"]
    for file in files:
        assert save(depth_figure(chosen(), ["f1"], "column"), file) == []

    assert files[0].read_bytes() == files[1].read_bytes()


def test_what_others_left_open_is_no_remark_on_a_picture(tmp_path, monkeypatch):
    figure = depth_figure(chosen(), ["f1"], "column")
    draw = figure.savefig

    def draw_and_warn(*arguments, **options):
        warnings.warn("unclosed event loop", ResourceWarning, stacklevel=1)
        draw(*arguments, **options)

    monkeypatch.setattr(figure, "savefig", draw_and_warn)
    assert save(figure, tmp_path / "a.png") == []


def test_a_pdf_has_its_fonts_inside(tmp_path):
    """Type 42 is a TrueType font, which a PDF holds as a FontFile2; type 3 is refused by many journals."""
    save(depth_figure(chosen(), ["f1"], "column"), tmp_path / "a.pdf")
    content = (tmp_path / "a.pdf").read_bytes()

    assert b"/FontFile2" in content
    assert b"/Subtype /Type3" not in content
    assert "DejaVu" in findfont("DejaVu Sans")


def test_an_svg_is_sound_and_has_no_time(tmp_path):
    save(depth_figure(chosen(), ["f1"], "column"), tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()

    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert "dc:date" not in text


def test_names_are_no_formulas_and_hide_from_no_legend(tmp_path):
    odd = "_cost in $x$ \\frac"
    figure = depth_figure(
        chosen(run(system=odd), run("other", system="b"), policies=["gold"]), ["f1"], "page"
    )

    assert save(figure, tmp_path / "a.png") == []
    assert len(labels(figure)) == 2
    assert plain("_x") == " _x"


def test_letters_without_a_glyph_are_said(tmp_path):
    figure = depth_figure(chosen(run(system="日本"), run("other", system="b")), ["f1"], "page")

    assert save(figure, tmp_path / "a.png") == [
        "some characters of the names have no glyph in DejaVu Sans and are drawn as boxes"
    ]


def test_what_libraries_say_of_each_other_is_no_readers_business(tmp_path):
    class Deprecated(Text):
        def draw(self, renderer):
            warnings.warn("parseString is deprecated", DeprecationWarning, stacklevel=2)
            super().draw(renderer)

    figure = depth_figure(chosen(), ["f1"], "page")
    figure.add_artist(Deprecated(0.5, 0.5, "x"))

    assert save(figure, tmp_path / "a.png") == []


def test_files_of_other_kinds_and_places_are_input_errors(tmp_path):
    with pytest.raises(InputError, match=r"\.pdf, \.svg or \.png"):
        format_of(tmp_path / "a.jpeg")
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="can't be written"):
        save(depth_figure(chosen(), ["f1"], "column"), tmp_path / "taken" / "a.png")


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(PluginError, match=r"convreplay\[plots\]"):
        check_can_draw()
