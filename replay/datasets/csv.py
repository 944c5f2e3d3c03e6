"""
Tables: one turn a row, the rows of a conversation one after another.

Columns are called as their fields are (``conversation``, ``question``, ``answer``, ...) unless the
setting ``columns`` says otherwise. What is expected of a turn is in columns ``expect.KIND``, or
``expect.KIND.NAME`` for one that counts in a column of its own, and of a conversation's end in
``expect.end.KIND``. The file is streamed, so a conversation whose rows are scattered over it can't be put
together and is an error.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from replay.core.conversation import Conversation, Passage, Turn
from replay.core.errors import DatasetError
from replay.core.settings.faults import nearest
from replay.datasets.data_file import BYTE_ORDER_MARK, SourceLocation
from replay.datasets.expected import COLUMN, of_end, read_cells, unfit_column
from replay.datasets.reader import conversations
from replay.datasets.tables import csv_rows, delimiter_of

if TYPE_CHECKING:
    import pandas as pd

_REQUIRED = ("conversation", "question")
_OF_TURN = ("turn", "answer", "standalone", "fact", "passage")
_OF_CONVERSATION = ("title", "section", "background")
LONGEST_NUMBER = 100
"""Characters; no conversation has as many turns, and Python refuses numbers of thousands."""

FIELDS = (*_REQUIRED, *_OF_TURN, *_OF_CONVERSATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CsvRow:
    place: SourceLocation
    cells: Mapping[str, Sequence[str]]
    """The row's non-blank cells by field, or by column where it says what is expected; several only for
    ``answer``."""

    def cell(self, name: str) -> str | None:
        return next(iter(self.cells.get(name, ())), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvReader:
    """Reads tables with a header. An empty ``answer`` cell is an unknown answer."""

    columns: Mapping[str, str | list[str]] = field(default_factory=dict)
    """Headers by field, where they differ from the field's name; ``answer`` may have several."""
    delimiter: str | None = None
    """One character; by default the one of comma, semicolon, tab and bar that the header shows."""

    def __post_init__(self) -> None:
        for name, header in self.columns.items():
            if name not in FIELDS:
                known = ", ".join(FIELDS)
                raise ValueError(f"columns.{name} is not a field{nearest(name, FIELDS)} (allowed: {known})")
            if name != "answer" and not isinstance(header, str):
                raise ValueError(f"columns.{name} names several columns; only answer can have several")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(f"delimiter is {self.delimiter!r}; expected one character")

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether a .csv or .tsv has columns conversation, question and answer (or ``expect.``)."""
        if path.suffix.lower() not in (".csv", ".tsv"):
            return False
        line = head.removeprefix(BYTE_ORDER_MARK).decode(errors="replace").split("\n", 1)[0].strip()
        if line.startswith(("{", "[")):  # JSON, whatever it is called
            return False
        try:
            names = next(csv.reader([line], delimiter=self.delimiter or delimiter_of(line)), [])
        except csv.Error:
            return False
        found = {name.strip() for name in names}
        has_answers = "answer" in found or any(name.startswith(COLUMN) for name in found)
        return {"conversation", "question"} <= found and has_answers

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """
        Yield one conversation for each run of rows with the same ``conversation``.

        Raises:
            DatasetError: the file can't be opened, has no usable header, or from some row on is no
                UTF-8 or no CSV, after which no row can be trusted.
        """
        yield from conversations(_runs(self._rows(csv_rows(path, self.delimiter), path)), _build)

    def read_frame(self, frame: pd.DataFrame, name: str) -> Iterator[Conversation | DatasetError]:
        """
        Yield the conversations of a table in memory; *name* stands for it in messages; rows count from 1.

        Raises:
            DatasetError: a column is missing.
        """
        cells = frame.astype(object).where(frame.notna(), "").map(str)
        table = [list(map(str, frame.columns)), *cells.itertuples(index=False, name=None)]
        path = Path(name)
        rows = ((SourceLocation(path=path, line=number), list(row)) for number, row in enumerate(table))
        yield from conversations(_runs(self._rows(rows, path)), _build)

    def _rows(
        self, lines: Iterable[tuple[SourceLocation, Sequence[str]]], path: Path
    ) -> Iterator[tuple[SourceLocation, _CsvRow | DatasetError]]:
        header: list[str] = []
        indices: Mapping[str, Sequence[int]] = {}
        for place, cells in lines:
            if not header:
                header = [cell.strip() for cell in cells]
                indices = self._indices(header, place)
            elif len(cells) != len(header):
                yield place, place.error(f"has {len(cells)} cells, expected {len(header)} as in the header")
            else:
                filled = {name: [cells[i] for i in at if cells[i].strip()] for name, at in indices.items()}
                row = _CsvRow(place=place, cells=filled)
                if row.cell("conversation") is None:
                    message = "is empty; every row names its conversation"
                    yield place, place.error(message, "conversation")
                else:
                    yield place, row
        if not header:
            raise DatasetError("is empty; expected a header and rows", path=str(path))

    def _indices(self, header: Sequence[str], place: SourceLocation) -> Mapping[str, Sequence[int]]:
        """
        Return the indices in a row of each field's cells.

        Raises:
            DatasetError: a column is missing or can't be used.
        """
        found = {}
        for name in FIELDS:
            if name not in self.columns and name not in header and name not in _REQUIRED:
                continue
            wanted = self.columns.get(name, name)
            found[name] = [
                _index(column, header, name, place)
                for column in ([wanted] if isinstance(wanted, str) else wanted)
            ]
        for column in header:
            if column.startswith(COLUMN):
                if why := unfit_column(column, header):
                    raise place.error(why, column)
                found[column] = [header.index(column)]
        return found


def _index(column: str, header: Sequence[str], name: str, place: SourceLocation) -> int:
    if header.count(column) != 1:
        how_many = "no column" if column not in header else f"{header.count(column)} columns"
        raise place.error(
            f'the header has {how_many} "{column}"{nearest(column, header) if column not in header else ""} '
            f"(found: {', '.join(header)}); say which column holds it in the setting columns.{name}",
            name,
        )
    return header.index(column)


@dataclass(slots=True)
class _RowRun:
    """Consecutive rows of one conversation, and what is wrong with the first bad one."""

    name: str
    place: SourceLocation
    rows: list[_CsvRow] = field(default_factory=list)
    fault: DatasetError | None = None


def _runs(
    rows: Iterator[tuple[SourceLocation, _CsvRow | DatasetError]],
) -> Iterator[tuple[SourceLocation, list[_CsvRow] | DatasetError]]:
    """Yield the rows of one conversation together, or why they can't be used."""
    began: dict[str, int | None] = {}
    run: _RowRun | None = None
    stray: DatasetError | None = None  # a bad row that may belong to the run before or after it
    for place, row in rows:
        if isinstance(row, DatasetError):
            stray = row
            if run is None or run.fault:
                yield place, row
            else:
                run.fault = row
            continue
        name = row.cell("conversation") or ""
        if run is None or name != run.name:
            if run:
                yield run.place, run.fault or run.rows
            run = _RowRun(name, place, fault=_why_not(name, place, began, stray))
            began.setdefault(name, place.line)
        run.rows.append(row)
        stray = None
    if run:
        yield run.place, run.fault or run.rows


def _why_not(
    name: str, place: SourceLocation, began: Mapping[str, int | None], stray: DatasetError | None
) -> DatasetError | None:
    """Return why the conversation *name* that begins at *place* can't be used; None if it can."""
    if name in began:
        return place.error(
            f'"{name}" was over at an earlier row (it began on line {began[name]}); sort the file so that '
            "a conversation's rows stand together",
            "conversation",
        )
    if stray:
        return place.error(f'"{name}" may have lost a turn: the row before it can\'t be read', "conversation")
    return None


def _build(rows: list[_CsvRow], place: SourceLocation) -> Conversation:
    name = rows[0].cell("conversation") or ""
    passages: dict[str, Passage] = {}
    turns = []
    previous = 0
    for number, row in enumerate(rows, 1):
        previous = _turn_number(row, previous)
        question = row.cell("question")
        if question is None:
            raise row.place.error("is empty; there is nothing to ask", "question")
        turn_id = f"{name}#{number}"
        text = row.cell("passage")
        passage = passages.setdefault(text, Passage(id=turn_id, text=text)) if text else None
        turns.append(
            Turn(
                id=turn_id,
                question=question,
                gold_answers=tuple(row.cells.get("answer", ())),
                standalone=row.cell("standalone"),
                gold_passages=(passage.id,) if passage else (),
                fact=row.cell("fact"),
                expect=read_cells(
                    {name: row.cell(name) for name in row.cells if not of_end(name)}, row.place
                ),
            )
        )
    ends = [name for name in rows[0].cells if of_end(name)]
    return Conversation(
        id=name,
        turns=tuple(turns),
        title=_shared_value(rows, "title"),
        section=_shared_value(rows, "section"),
        background=_shared_value(rows, "background"),
        passages=tuple(passages.values()),
        expect=read_cells({name: _shared_value(rows, name) for name in ends}, place),
    )


def _turn_number(row: _CsvRow, previous: int) -> int:
    """Return the row's ``turn``, which only has to rise: it guards against rows in the wrong order."""
    cell = row.cell("turn")
    if cell is None:
        return previous
    if not cell.strip().isdecimal() or len(cell) > LONGEST_NUMBER:
        raise row.place.error(f'is "{cell}", expected a whole number', "turn")
    if int(cell) <= previous:
        raise row.place.error(f"is {int(cell)} after {previous}; the rows of a conversation go up", "turn")
    return int(cell)


def _shared_value(rows: Sequence[_CsvRow], name: str) -> str:
    """
    Return the value that all *rows* share in the column *name*; a row may leave it empty.

    Raises:
        DatasetError: two rows differ.
    """
    said = ""
    for row in rows:
        cell = row.cell(name)
        if cell and said and cell != said:
            raise row.place.error(f'is "{cell}", but an earlier row of the conversation has "{said}"', name)
        said = said or cell or ""
    return said
