"""
What a data file expects of turns and conversations: read, faulted where it stands, and written again.

``{"contains": "refund", "latency_below_s": 2}`` or a list of such mappings, which may have one kind several
times; ``as`` beside a single kind names a column of its own. In tables there is a column for each kind, as in
``expect.contains``, or ``expect.contains.NAME`` for one that counts in a column of its own; a cell that is a
JSON list or object is that, and any other a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from replay.core.expectation import Expectation
from replay.datasets.data_file import SourceLocation
from replay.scorers.checks.kinds import KINDS, BadExpectationError, check_of, unknown_kind

NAME = "as"
COLUMN = "expect."
"""What the columns of checks begin with."""
_END = "end."
"""What stands behind that in columns of a conversation's end."""
Written = dict[str, Any] | list[dict[str, Any]]


def read_expectations(written: Written, place: SourceLocation, field: str) -> tuple[Expectation, ...]:
    """
    Return the expectations in *field*; whether each can be checked is not examined.

    Raises:
        DatasetError: a name has no kind, or several, beside it.
    """
    found = []
    for entry in [written] if isinstance(written, Mapping) else written:
        kinds = {kind: value for kind, value in entry.items() if kind != NAME}
        called = entry.get(NAME)
        if called is not None and (len(kinds) != 1 or not isinstance(called, str)):
            raise place.error("is a text beside a single kind of check", f"{field}.{NAME}")
        if not kinds and not isinstance(written, Mapping):
            raise place.error("has an entry without a kind of check", field)
        found += [Expectation(kind=kind, value=value, called=called) for kind, value in kinds.items()]
    return tuple(found)


def write_expectations(expectations: Sequence[Expectation]) -> Written:
    """Return *expectations* in the form that ``read_expectations`` reads."""
    kinds = {one.kind: one.value for one in expectations}
    if len(kinds) == len(expectations) and not any(one.called for one in expectations):
        return kinds
    names = [{} if one.called is None else {NAME: one.called} for one in expectations]
    return [{one.kind: one.value, **name} for one, name in zip(expectations, names, strict=True)]


def read_cells(cells: Mapping[str, str | None], place: SourceLocation) -> tuple[Expectation, ...]:
    """
    Return the expectations in *cells*, by column; None and other columns are passed over.

    Raises:
        DatasetError: one can't be checked.
    """
    found = []
    for column, cell in cells.items():
        if column.startswith(COLUMN) and cell:
            kind, _, called = _name(column).partition(".")
            one = Expectation(kind=kind, value=_cell_value(cell), called=called or None)
            check_expectations([one], place, column.removesuffix(_name(column)).rstrip("."))
            found.append(one)
    return tuple(found)


def of_end(column: str) -> bool:
    """Return whether *column* says what is expected of a conversation's end."""
    return column.startswith(f"{COLUMN}{_END}")


def _name(column: str) -> str:
    return column.removeprefix(COLUMN).removeprefix(_END)


def unfit_column(column: str, header: Sequence[str]) -> str | None:
    """Return why *column* of *header* can't hold expectations; None if it can."""
    kind = _name(column).partition(".")[0]
    if kind not in KINDS:
        return unknown_kind(kind)
    if header.count(column) > 1:
        return f"is there {header.count(column)} times; several values stand in one cell, as a JSON list"
    return None


def _cell_value(cell: str) -> Any:
    if cell.strip()[:1] in ("[", "{"):
        with suppress(msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return msgspec.json.decode(cell)
    return cell


def check_expectations(expectations: Sequence[Expectation], place: SourceLocation, field: str) -> None:
    """
    Make sure that each of *expectations*, which stand in *field*, can be checked.

    Raises:
        DatasetError: there is no such kind, or its value doesn't fit.
    """
    kinds = [one.kind for one in expectations]
    for number, one in enumerate(expectations):
        try:
            check_of(one)
        except BadExpectationError as error:
            which = f"[{number}]" if kinds.count(one.kind) > 1 else ""
            path = "".join(f".{part}" for part in (one.kind, error.path) if part)
            raise place.error(str(error), f"{field}{which}{path}") from error
