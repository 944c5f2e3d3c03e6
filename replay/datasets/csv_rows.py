"""Tables as text, read row by row with their lines; the header tells what parts the cells."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from replay.datasets.data_file import BYTE_ORDER_MARK, check_is_plain, not_utf8, open_data
from replay.datasets.place import SourceLocation

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
        lines = _lines(stream, path)
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


def _lines(stream: BinaryIO, path: Path) -> Iterator[str]:
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
