"""What people said in a study, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from rich.console import Console

from replay.core.terminal import on_one_line
from replay.report.columns import GAP, TextColumn, blocks, column, score_cells
from replay.report.printing import heading, print_items, print_lines, print_table
from replay.scorers.scorer import SHARE
from replay.statistics.people import HumanNumber, HumanScores, HumanTable

MOST_ROWS = 24
"""Longer tables, of all scores under all policies, are for files and pages."""


def print_people(people: HumanScores, console: Console) -> None:
    """Print all tables of *people*, as wide as the console is."""
    raters = f"{people.raters} rater{'' if people.raters == 1 else 's'}"
    heading(console, f'People: {raters}, study "{people.study}"')
    print_lines(console, [""])
    for table in people.shown:
        print_study_table(table, console)


def print_study_table(table: HumanTable, console: Console) -> None:
    """Print *table* with its title, and what is to be said of it."""
    heading(console, table.title)
    if table.rows:
        columns = list(table_columns(table, table.rows[:MOST_ROWS]))
        print_table(console, _fit_columns(columns, _names(table), console.width), below=())
    else:
        print_lines(console, ["nothing yet"])
    if (more := len(table.rows) - MOST_ROWS) > 0:
        print_lines(console, [f"{more:,} more rows; --json and --html have them"])
    print_items(console, [one for one in (table.caption, *_notes(table)) if one])
    print_lines(console, [""])


def table_columns(
    table: HumanTable, rows: Sequence[Sequence[str | int | float | HumanNumber | None]]
) -> Iterator[TextColumn]:
    """*table*'s columns over some of its *rows*."""
    for place, head in enumerate(table.columns):
        cells = [row[place] for row in rows]
        numbers = [
            HumanNumber(value=cell) if isinstance(cell, float) else cell
            for cell in cells
            if cell is None or isinstance(cell, float | HumanNumber)
        ]
        if len(numbers) == len(cells):
            percent = any(one.unit == SHARE for one in numbers if one)
            shown = score_cells(numbers, percent=percent, whole=False)
            yield column(f"{head} %" if percent else head, shown, left=True)
        else:
            counts = all(isinstance(cell, int) for cell in cells)
            yield column(head, map(cell_text, cells), left=not counts)


def _fit_columns(columns: Sequence[TextColumn], names: int, width: int) -> list[TextColumn]:
    """
    *columns* as they are where they fit *width*; else those that name a row as one, which each block repeats.

    The first *names* of them name it, as far as they leave half of the width to the others.
    """
    while names and sum(one.width + len(GAP) for one in columns[:names]) > width / 2:
        names -= 1
    if names < 2 or len(blocks(columns, width)) == 1:
        return list(columns)
    head, *cells = (GAP.join(row) for row in zip(*(one.pad() for one in columns[:names]), strict=True))
    return [column(head, cells, left=True), *columns[names:]]


def _names(table: HumanTable) -> int:
    """Return how many columns come before the first with numbers of which some may be missing."""
    kinds = zip(*table.rows, strict=True)
    return len(list(takewhile(lambda cells: all(isinstance(one, str | int) for one in cells), kinds)))


def cell_text(cell: str | int | float | HumanNumber | None) -> str:
    """One cell by itself."""
    if isinstance(cell, float | HumanNumber) or cell is None:
        number = HumanNumber(value=cell) if isinstance(cell, float) else cell
        percent = number is not None and number.unit == SHARE
        (text,) = score_cells([number], percent=percent, whole=False)
        return f"{text} %" if percent and number and number.value is not None else text
    return f"{cell:,}" if isinstance(cell, int) else on_one_line(cell)


def _notes(table: HumanTable) -> list[str]:
    """Why numbers are missing, each reason once."""
    cells = (cell for row in table.rows for cell in row)
    found = dict.fromkeys(
        cell.note for cell in cells if isinstance(cell, HumanNumber) and cell.note and cell.value is None
    )
    return [f"no number: {note}." for note in found]
