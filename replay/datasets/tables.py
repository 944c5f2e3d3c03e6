"""
Plain tables in files: CSV, TSV, JSON Lines, a JSON list, or a spreadsheet's first sheet.

For files that people bring along and take away; conversations have readers of their own.

Those that are text are read row by row with their lines; the header tells what parts the cells.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from replay.core.errors import DatasetError, InputError, writing
from replay.core.extras import extra_module
from replay.datasets.data_file import (
    BYTE_ORDER_MARK,
    SourceLocation,
    check_is_plain,
    not_utf8,
    open_data,
    read_whole,
)

_DELIMITERS = ",;\t|"
_QUOTED = re.compile('"[^"]*"')


def delimiter_of(header: str) -> str:
    """
    Return what parts the names in a *header*: the most frequent of comma, semicolon, tab and bar.

    Spreadsheets save "CSV" with semicolons where the decimal point is a comma.
    """
    return max(_DELIMITERS, key=_QUOTED.sub("", header).count)


def csv_rows(path: Path, delimiter: str | None = None) -> Iterator[tuple[SourceLocation, list[str]]]:
    """
    Yield the rows of *path*, the header among them; those of blanks alone are passed over.

    Without a *delimiter* it is the one that the first line shows.

    Raises:
        DatasetError: the file can't be opened, or from some row on is no UTF-8 or no CSV, after which no
            row can be trusted.
    """
    with open_data(path) as stream:
        # Strict, since a broken quote otherwise swallows the rows after it without a word.
        lines = _text_lines(stream, path)
        first = next(lines, "")
        table = csv.reader(chain([first], lines), delimiter=delimiter or delimiter_of(first), strict=True)
        while True:
            place = SourceLocation(path=path, line=table.line_num + 1)
            try:
                cells = next(table)
            except StopIteration:
                return
            except csv.Error as error:
                raise place.error(
                    f"is not valid CSV: {error}; the rest of the file is not read (is a quote missing, or is "
                    "the delimiter another one?)"
                ) from error
            if any(cell.strip() for cell in cells):
                yield place, cells


def _text_lines(stream: BinaryIO, path: Path) -> Iterator[str]:
    for number, line in enumerate(stream, 1):
        place = SourceLocation(path=path, line=number)
        if number == 1:
            check_is_plain(line, path)
            line = line.removeprefix(BYTE_ORDER_MARK)
        if b"\0" in line:
            raise place.error("found a NUL byte; the file was cut off, or is not UTF-8")
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise place.error(not_utf8(line[error.start])) from error


SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".xlsx")
LONGEST_CELL = 32_767
"""Characters that a spreadsheet's cell holds; more would be cut off without a word."""
MOST_UNPACKED = 64 * 1024 * 1024
"""Bytes of a spreadsheet's XML: it packs a thousandfold, and each cell takes ten times as much in memory."""
MOST_CELLS = 2_000_000
"""Of a spreadsheet; a gap of a million rows takes two characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One row and where it stands."""

    place: SourceLocation
    cells: Mapping[str, Any]
    """By column. A cell that is missing, or blank in CSV or a spreadsheet, is None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTable:
    """A file's rows."""

    path: Path
    columns: tuple[str, ...]
    """In the file's order; of JSON, in the order in which they come first."""
    rows: tuple[TableRow, ...]


def read_table(path: Path) -> DataTable:
    """
    Return the table in *path*; its suffix says which kind of file it is.

    Cells of CSV are texts, those of the other kinds are what the file says they are.

    Raises:
        DatasetError: the file can't be read, or a row has more or fewer cells than the header.
        PluginError: it is a spreadsheet and openpyxl is not installed.
    """
    suffix = path.suffix.lower()
    if suffix == ".xlsx":
        rows = list(_rows_below_header(_spreadsheet_rows(path), path, may_be_short=True))
    elif suffix in (".csv", ".tsv"):
        rows = list(_rows_below_header(csv_rows(path), path, may_be_short=False))
    elif suffix in (".json", ".jsonl"):
        rows = list(_json_rows(path))
    else:
        raise DatasetError(f"is no table; expected a file called {', '.join(SUFFIXES)}", path=str(path))
    if not rows:
        raise DatasetError("holds a header and no row", path=str(path))
    columns = dict.fromkeys(name for row in rows for name in row.cells)
    return DataTable(path=path, columns=tuple(columns), rows=tuple(rows))


def write_table(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """
    Write *rows* to *path* as CSV, JSON Lines or a spreadsheet, as its suffix says; None is a blank cell.

    Raises:
        InputError: the suffix is another one, the file can't be written, or a text is too long for a
            spreadsheet's cell.
        PluginError: a spreadsheet is asked for and openpyxl is not installed.
    """
    writers = {".csv": _write_csv, ".jsonl": _write_jsonl, ".xlsx": _write_spreadsheet}
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise InputError(f'"{path}" doesn\'t say what to write; call it .csv, .xlsx or .jsonl')
    with writing(path):
        writer(path, columns, rows)


def check_can_write(path: Path) -> None:
    """
    Find out before the work is done whether ``write_table`` could write *path*.

    Raises:
        InputError, PluginError: as ``write_table``.
    """
    if path.suffix.lower() not in (".csv", ".jsonl", ".xlsx"):
        raise InputError(f'"{path}" doesn\'t say what to write; call it .csv, .xlsx or .jsonl')
    if not path.parent.is_dir():
        raise InputError(f'"{path}" can\'t be written: there is no folder "{path.parent}"')
    if path.suffix.lower() == ".xlsx":
        _openpyxl()


def _rows_below_header(
    found: Iterable[tuple[SourceLocation, Sequence[Any]]], path: Path, *, may_be_short: bool
) -> Iterator[TableRow]:
    header: list[str] = []
    for place, cells in found:
        filled = [cell if str(cell).strip() else None for cell in cells]
        if all(cell is None for cell in filled):
            continue
        if not header:
            header = _header(["" if cell is None else str(cell) for cell in filled], place)
        elif may_be_short and any(cell is not None for cell in filled[len(header) :]):
            raise place.error(f"has a cell right of the {len(header)} columns of the header")
        elif not may_be_short and len(cells) != len(header):
            raise place.error(f"has {len(cells)} cells, expected {len(header)} as in the header")
        else:
            filled += [None] * (len(header) - len(filled))
            yield TableRow(place=place, cells=dict(zip(header, filled, strict=False)))
    if not header:
        raise DatasetError("is empty; expected a header and rows", path=str(path))


def _refuse_constant(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which would stand there as a text that somebody answered."""
    raise ValueError(
        f"holds {constant:.40}, which is no number that JSON has (RFC 8259); write null for no value"
    )


def _finite(text: str) -> float:
    value = float(text)
    return value if isfinite(value) else _refuse_constant(text)


def _json_value(text: str, place: SourceLocation) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        at = SourceLocation(path=place.path, line=place.line or error.lineno)
        raise at.error(f"is not valid JSON: {error.msg}") from error
    except ValueError as error:
        raise place.error(str(error)) from error


def _json_rows(path: Path) -> Iterator[TableRow]:
    text = read_whole(path).decode()
    if text.lstrip().startswith("["):
        values = _json_value(text, SourceLocation(path=path))
        found = [(SourceLocation(path=path, item=number), value) for number, value in enumerate(values, 1)]
    else:
        places = ((SourceLocation(path=path, line=n), line) for n, line in enumerate(text.split("\n"), 1))
        found = [(place, _json_value(line, place)) for place, line in places if line.strip()]
    for place, value in found:
        if not isinstance(value, dict):
            raise place.error("is no JSON object; expected one row")
        yield TableRow(place=place, cells=value)
    if not found:
        raise DatasetError("is empty; expected rows", path=str(path))


def _spreadsheet_rows(path: Path) -> Iterator[tuple[SourceLocation, Sequence[Any]]]:
    openpyxl = _openpyxl()
    with open_data(path) as stream:
        data = stream.read()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > MOST_UNPACKED:
            raise ValueError(f"it unpacks to {unpacked:,} bytes, and at most {MOST_UNPACKED:,} are read")
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    except (
        OSError,
        ValueError,
        KeyError,
        zipfile.BadZipFile,
        openpyxl.utils.exceptions.InvalidFileException,
    ) as error:
        raise DatasetError(f"is no spreadsheet that can be read: {error}", path=str(path)) from error
    cells_before = 0
    try:
        for number, cells in enumerate(book.worksheets[0].iter_rows(values_only=True), 1):
            place = SourceLocation(path=path, line=number)
            cells_before += len(cells)
            if cells_before > MOST_CELLS:
                raise place.error(
                    f"is past the first {MOST_CELLS:,} cells, blank ones included; save it as .csv"
                )
            yield place, cells
    finally:
        book.close()


def _header(cells: Sequence[str], place: SourceLocation) -> list[str]:
    names = [cell.strip() for cell in cells]
    while names and not names[-1]:
        names.pop()
    for name in names:
        if names.count(name) > 1:
            raise place.error(f'the header has {names.count(name)} columns "{name}"')
    return names


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows([row.get(name) for name in columns] for row in rows)


def _write_jsonl(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
        for row in rows:
            stream.write(json.dumps({name: row.get(name) for name in columns}, ensure_ascii=False) + "\n")


def _write_spreadsheet(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    openpyxl = _openpyxl()
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(list(columns))
    for number, row in enumerate(rows, 2):
        for place, name in enumerate(columns, 1):
            value = row.get(name)
            if isinstance(value, str):
                value = ILLEGAL_CHARACTERS_RE.sub(lambda found: f"\\x{ord(found[0]):02x}", value)
                if len(value) > LONGEST_CELL:
                    raise InputError(
                        f'row {number - 1}, "{name}": {len(value):,} characters are more than a '
                        f"spreadsheet's cell holds ({LONGEST_CELL:,}); write .csv or .jsonl"
                    )
            cell = sheet.cell(number, place, value)
            if isinstance(value, str):
                cell.data_type = "s"  # an answer that starts with "=" is no formula
    book.save(path)


def _openpyxl() -> Any:
    return extra_module("openpyxl", "xlsx", "a spreadsheet", otherwise="or use .csv or .jsonl")
