"""Files of records: rows of a table, and JSON Lines with a text each."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator

from replay.core.errors import DatasetError
from replay.synthesis.documents.builder import DocumentBuilder
from replay.synthesis.documents.document import SourceDocument
from replay.synthesis.documents.markdown import read_markdown

_ROWS_OF_A_SECTION = 100
TEXT_FIELDS = ("text", "content", "body")
_TITLE_FIELDS = ("title", "name", "heading")


def read_csv(path: str, source: str, *, title: str) -> SourceDocument:
    """Return a file of rows, the first of which names the columns, as tables of at most a hundred rows."""
    try:
        dialect: type[csv.Dialect] = csv.Sniffer().sniff(source[:10_000], ",;\t|")
    except csv.Error:
        dialect = csv.excel_tab if path.endswith(".tsv") else csv.excel
    lines = csv.reader(io.StringIO(source), dialect)
    builder = DocumentBuilder(path)
    builder.set_title(title)
    try:
        rows = [row for row in lines if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise DatasetError(
            f"is no table that can be read ({error})", path=path, line=lines.line_num
        ) from error
    if rows and _is_data(rows[0]):
        raise DatasetError("has no column names; expected them in the first row", path=path, line=1)
    for first in range(1, len(rows), _ROWS_OF_A_SECTION):
        if first > 1:
            builder.continue_section(0)
        builder.table(rows[0], rows[first : first + _ROWS_OF_A_SECTION])
    return builder.finish(len(source))


_NUMBER = re.compile(r"[-+]?[\d.,:/ %-]*\d[\d.,:/ %-]*")


def _is_data(names: list[str]) -> bool:
    """Return whether a row is no column names: numbers or dates are in it, or several cells are empty."""
    return any(_NUMBER.fullmatch(name.strip()) for name in names) or sum(not n.strip() for n in names) > 1


def read_json_lines(path: str, source: str) -> Iterator[SourceDocument | DatasetError]:
    """Yield each line's record, an object with a text, as a document of its own; a bad line is an error."""
    for number, line in enumerate(source.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            yield DatasetError(f"is no JSON ({error})", path=path, line=number)
            continue
        if not isinstance(record, dict):
            yield DatasetError("found no object; expected one with a text", path=path, line=number)
            continue
        text = next((record[name] for name in TEXT_FIELDS if isinstance(record.get(name), str)), None)
        if text is None:
            names = ", ".join(f'"{name}"' for name in TEXT_FIELDS)
            yield DatasetError(f"has no text; expected one of the fields {names}", path=path, line=number)
            continue
        title = next((record[name] for name in _TITLE_FIELDS if isinstance(record.get(name), str)), "")
        yield read_markdown(f"{path}:{number}", text, title=title)
