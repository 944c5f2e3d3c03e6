"""
A document in a terminal or a pipe.

A pipe gets ASCII, as far as it is ours, so that one with a modest encoding can take it. Where a person looks,
a terminal, a depth table is one block as wide as that, with sparklines and colour. A row of bars under the
table shows each score over the depths. Where not all scores fit beside each other, the last ones are folded
into a line each, with their bars in the place of a column. Colour only repeats what the characters say:
depths with few conversations and intervals are dim, a difference whose interval excludes 0 is coloured. rich
leaves colours out where NO_COLOR is set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from replay.core.terminal import escape_unprintable
from replay.report.compare_document import comparison_document
from replay.report.document import (
    BARS,
    TREND_NOTE,
    Block,
    Cases,
    ChartFigure,
    ItemList,
    Pairs,
    Paragraph,
    PlainLines,
    ReportDocument,
    ReportSection,
    Scales,
    Table,
    Trend,
    plain_text,
    trend_bars,
    with_remarks,
)
from replay.report.load_document import load_document
from replay.report.printing import (
    LAYOUTS,
    NONE,
    Layout,
    TextColumn,
    Value,
    blocks,
    column,
    column_head,
    fit_names,
    fitting,
    heading,
    print_items,
    print_lines,
    score_cells,
    shorten,
    table_lines,
)
from replay.report.run_document import run_document
from replay.report.run_tables import depth_columns
from replay.statistics.depth_table import FEW_CONVERSATIONS, DepthTable, GroupTable
from replay.statistics.load.load_summary import LoadSummary
from replay.statistics.run_comparison import ComparisonReport
from replay.statistics.run_numbers import FailureReason, Report

NOT_HERE = ("assertions", "totals", "figures")
"""Sections for other outputs: the command line shows assertions by itself, and depth tables have totals."""


def print_report(report: Report, console: Console) -> None:
    """Print *report*, as compactly as the console's width asks for."""
    print_document(run_document(report), console)


def print_comparison(report: ComparisonReport, console: Console, *, flips: int = 0) -> None:
    """Print *report*; the turns that flipped are counted, and at most *flips* listed for each pair."""
    print_titled(comparison_document(report, flips=flips), console)


def print_load(
    summary: LoadSummary, console: Console, *, failures: Sequence[FailureReason] = (), full: bool = False
) -> None:
    """Print one screen of *summary* and why turns failed, or with *full* every table."""
    print_document(load_document(summary, failures=failures, full=full, bars=has_person(console)), console)


def print_titled(document: ReportDocument, console: Console) -> None:
    """Print *document* below its title."""
    heading(console, plain_text(document.title))
    print_lines(console, [""])
    print_document(document, console)


def print_document(document: ReportDocument, console: Console) -> None:
    """Print *document*, an empty line between its sections, as compactly as *console*'s width asks for."""
    shown = [section for section in document.sections if section.name not in NOT_HERE]
    remarks: list[str] = []
    folded: dict[str, None] = {}
    trends = has_person(console) and any(_trend(block) for one in shown for block in one.blocks)
    for place, section in enumerate(shown):
        if place:
            print_lines(console, [""])
        if section.title:
            heading(console, plain_text(section.title))
        layout = _layout(section.name, shown, console)
        before: Block | None = None
        for block in with_remarks(section, [*(trend_note(list(folded)) if trends else []), *remarks]).blocks:
            if before is not None and Paragraph in (type(block), type(before)):
                print_lines(console, [""])
            folded |= dict.fromkeys(_print_block(block, layout, console))
            before = block
        remarks += section.remarks


def _trend(block: Block) -> Trend | None:
    """Return what may be drawn below *block*."""
    return block.trend if isinstance(block, Table) and block.trend and block.trend.table.columns else None


def _layout(name: str, sections: Sequence[ReportSection], console: Console) -> Layout:
    """Return the layout that the tables of all *sections* of one name have in common."""
    blocks = [block for section in sections if section.name == name for block in section.blocks]
    tables = [block for block in blocks if isinstance(block, Table)]
    if not tables:
        return LAYOUTS[0]
    return fitting(console.width, lambda layout: [one.columns(layout) for one in tables])


def _print_block(block: Block, layout: Layout, console: Console) -> list[str]:
    """Print *block*; returns the scores that were folded for room."""
    match block:
        case Paragraph():
            for sentence in block.sentences:
                print_lines(console, wrap(escape_unprintable(sentence), console.width))
        case PlainLines():
            print_lines(console, block.lines)
        case ItemList():
            print_items(console, map(str, block.items))
        case Pairs():
            width = max(map(len, block.texts), default=0)
            print_lines(console, (f"{name.ljust(width)}  {text}" for name, text in block.texts.items()))
        case Cases():
            for case in block.cases:
                texts = (f"  {name:6}  {shorten(text, console.width - 10)}" for name, text in case.texts)
                print_lines(console, [shorten(case.title, console.width), *texts])
            print_lines(console, [block.more] if block.more else [])
        case Table():
            if (trend := _trend(block)) and has_person(console):
                return print_trends(trend, console)
            columns = fit_names(block.columns(layout), block.named, console.width)
            lines = table_lines(columns, width=console.width, total=block.total)
            print_lines(console, map(coloured_difference, lines) if block.signed else lines)
        case ChartFigure():
            pass
    return []


def can_show_bars(encoding: str) -> bool:
    """Return whether a terminal of *encoding* has the characters."""
    try:
        BARS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


_INTERVAL = r"\[[-+0-9., ]+\]"
_LOWER = r"-[0-9.]+ \[-[0-9.]*[1-9][0-9.]*, -[0-9.]*[1-9][0-9.]*\]"
_HIGHER = r"\+[0-9.]+ \[\+[0-9.]*[1-9][0-9.]*, \+[0-9.]*[1-9][0-9.]*\]"


def has_person(console: Console) -> bool:
    """Return whether *console* is a terminal that can show bars."""
    return console.is_terminal and can_show_bars(console.encoding)


def print_trends(trend: Trend, console: Console) -> list[str]:
    """Print a depth table with its trends; returns the scores that were folded."""
    group, table, known = trend.group, trend.table, trend.scales
    columns, folded = _fit_block(group, table, console.width, known)
    lines = table_lines(columns, width=console.width, total=False)
    is_whole = len(blocks(columns, console.width)) == 1
    print_lines(console, _coloured_block(lines, group) if is_whole else lines)
    if folded:
        head, *rows = table_lines(
            _folded_columns(group, table, folded, known), width=console.width, total=False
        )
        print_lines(console, ["", Text(head, style="bold"), *map(_coloured_bars, rows)])
    return folded


def _coloured_block(lines: Sequence[str], group: GroupTable) -> Iterator[Text]:
    """Yield a whole table: heading, rule, a line for each row, and sparklines."""
    head, rule, *rows = lines
    yield Text(head, style="bold")
    yield Text(rule, style="dim")
    for line, row in zip(rows, group.rows, strict=False):
        text = Text(line)
        if row.depth is None:
            yield Text(rule, style="dim")
            text.stylize("bold")
        elif row.conversations < FEW_CONVERSATIONS:
            text.stylize("dim")
        text.highlight_regex(_INTERVAL, "dim")
        yield text
    yield from map(_coloured_bars, rows[len(group.rows) :])


def coloured_difference(line: str) -> Text:
    """Return a line of differences, those whose interval excludes 0 coloured."""
    text = Text(line)
    text.highlight_regex(_INTERVAL, "dim")
    text.highlight_regex(_LOWER, "bold yellow")
    text.highlight_regex(_HIGHER, "bold cyan")
    return text


def trend_note(folded: Sequence[str]) -> list[str]:
    """Return sentences on what the bars mean, and on how to see the *folded* scores by depth."""
    said = [TREND_NOTE]
    if folded:
        names = ", ".join(folded)
        said.append(
            f"folded, since the terminal is narrow: {names}; `replay report RUN | cat` shows them by depth."
        )
    return said


def _fit_block(
    group: GroupTable, table: DepthTable, width: int, known: Scales
) -> tuple[list[TextColumn], list[str]]:
    """Return the columns of one block, and the scores that have no room in it."""
    names = list(table.columns)
    kept, shown = 0, []
    for layout in LAYOUTS:
        columns = _with_coloured_bars(depth_columns(group, table, layout), group, table, known)
        if len(blocks(columns, width)) == 1:
            return columns, []
    heads = {column_head(name, table.columns[name].unit): name for name in names}
    for kept in range(len(names) - 1, -1, -1):
        shown = [c for c in columns if c.head not in heads or heads[c.head] in names[:kept]]
        if len(blocks(shown, width)) == 1:
            break
    return shown, names[kept:]


def _with_coloured_bars(
    columns: Sequence[TextColumn], group: GroupTable, table: DepthTable, known: Scales
) -> list[TextColumn]:
    """Return *columns* with a last row of sparklines under the scores."""
    if not table.columns:
        return list(columns)
    bars = {column_head(name, c.unit): trend_bars(group, name, known) for name, c in table.columns.items()}
    rows = {"depth": "trend", **bars}
    return [column(one.head, (*one.cells, rows.get(one.head, "")), left=one.left) for one in columns]


def _folded_columns(
    group: GroupTable, table: DepthTable, names: Sequence[str], known: Scales
) -> list[TextColumn]:
    """Return columns with a row for each of *names*."""
    totals: list[str] = []
    lowest: list[str] = []
    highest: list[str] = []
    for name in names:
        percent = table.columns[name].percent
        totals += score_cells([group.total.scores[name]], percent=percent, whole=False)
        values = [(v, row.depth or 0) for row in group.depths if (v := row.scores[name].value) is not None]
        for cells, ends in ((lowest, min(values, default=None)), (highest, max(values, default=None))):
            (cell,) = score_cells([Value(ends[0] if ends else None)], percent=percent, whole=False)
            cells.append(f"{cell} at {ends[1]}" if ends else NONE)
    return [
        column("score", (column_head(name, table.columns[name].unit) for name in names), left=True),
        column("all depths", totals, left=True),
        column("trend", (trend_bars(group, name, known) for name in names), left=True),
        column("lowest", lowest, left=True),
        column("highest", highest, left=True),
    ]


def _coloured_bars(line: str) -> Text:
    text = Text(line)
    text.highlight_regex(_INTERVAL, "dim")
    text.highlight_regex("[▁-█]+", "cyan")
    return text
