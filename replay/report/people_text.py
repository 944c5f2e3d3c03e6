"""What people said in a study, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from rich.console import Console

from replay.core.terminal import on_one_line
from replay.report.columns import GAP, TextColumn, blocks, column, score_cells
from replay.report.printing import heading, put_items, put_lines, put_table
from replay.scorers.scorer import SHARE
from replay.statistics.people import Number, People, Table

MOST_ROWS = 24
"""Longer tables, of all scores under all policies, are for files and pages."""


def print_people(people: People, console: Console) -> None:
    """Print all tables of *people*, as wide as the console is."""
    raters = f"{people.raters} rater{'' if people.raters == 1 else 's'}"
    heading(console, f'People: {raters}, study "{people.study}"')
    put_lines(console, [""])
    for table in people.shown:
        print_table(table, console)


def print_table(table: Table, console: Console) -> None:
    """Print *table* with its title, and what is to be said of it."""
    heading(console, table.title)
    if table.rows:
        columns = list(table_columns(table, table.rows[:MOST_ROWS]))
        put_table(console, _named_together(columns, _names(table), console.width), below=())
    else:
        put_lines(console, ["nothing yet"])
    if (more := len(table.rows) - MOST_ROWS) > 0:
        put_lines(console, [f"{more:,} more rows; --json and --html have them"])
    put_items(console, [one for one in (table.caption, *_notes(table)) if one])
    put_lines(console, [""])


def table_columns(
    table: Table, rows: Sequence[Sequence[str | int | float | Number | None]]
) -> Iterator[TextColumn]:
    """*table*'s columns over some of its *rows*."""
    for place, head in enumerate(table.columns):
        cells = [row[place] for row in rows]
        numbers = [
            Number(value=cell) if isinstance(cell, float) else cell
            for cell in cells
            if cell is None or isinstance(cell, float | Number)
        ]
        if len(numbers) == len(cells):
            percent = any(one.unit == SHARE for one in numbers if one)
            shown = score_cells(numbers, percent=percent, whole=False)
            yield column(f"{head} %" if percent else head, shown, left=True)
        else:
            counts = all(isinstance(cell, int) for cell in cells)
            yield column(head, map(cell_text, cells), left=not counts)


def _named_together(columns: Sequence[TextColumn], names: int, width: int) -> list[TextColumn]:
    """
    *columns* as they are where they fit *width*; else those that name a row as one, which each block repeats.

    The first *names* of them name it, as far as they leave half of the width to the others.
    """
    while names and sum(one.width + len(GAP) for one in columns[:names]) > width / 2:
        names -= 1
    if names < 2 or len(blocks(columns, width)) == 1:
        return list(columns)
    head, *cells = (GAP.join(row) for row in zip(*(one.padded() for one in columns[:names]), strict=True))
    return [column(head, cells, left=True), *columns[names:]]


def _names(table: Table) -> int:
    """How many columns come before the first with numbers of which some may be missing."""
    kinds = zip(*table.rows, strict=True)
    return len(list(takewhile(lambda cells: all(isinstance(one, str | int) for one in cells), kinds)))


def cell_text(cell: str | int | float | Number | None) -> str:
    """One cell by itself."""
    if isinstance(cell, float | Number) or cell is None:
        number = Number(value=cell) if isinstance(cell, float) else cell
        percent = number is not None and number.unit == SHARE
        (text,) = score_cells([number], percent=percent, whole=False)
        return f"{text} %" if percent and number and number.value is not None else text
    return f"{cell:,}" if isinstance(cell, int) else on_one_line(cell)


def _notes(table: Table) -> list[str]:
    """Why numbers are missing, each reason once."""
    cells = (cell for row in table.rows for cell in row)
    found = dict.fromkeys(
        cell.note for cell in cells if isinstance(cell, Number) and cell.note and cell.value is None
    )
    return [f"no number: {note}." for note in found]
