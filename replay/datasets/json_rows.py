"""
JSON as data sets have it, one row decoded at a time: a row a line, or the items of one list.

A row that can't be decoded spoils only itself, and is named by its line and, in a list, its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from replay.core.decoding import decoded, decoder_of
from replay.core.errors import DatasetError
from replay.datasets.data_file import BYTE_ORDER_MARK, check_is_plain, open_data, read_whole
from replay.datasets.place import Place
from replay.datasets.typed_json import TOO_DEEP, decode, not_json

T = TypeVar("T")

LONGEST_LINE_BYTES = 64 * 2**20
"""A longer line is an error: it is more likely a whole data set written as one JSON array."""


def rows_of_lines(path: Path, row_type: type[T]) -> Iterator[tuple[Place, T | DatasetError]]:
    """
    Each line of the JSON Lines in *path* as *row_type*, or why it can't be.

    Raises:
        DatasetError: as ``lines``.
    """
    return _decoded(lines(path), row_type)


def rows_of_either(path: Path, row_type: type[T]) -> Iterator[tuple[Place, T | DatasetError]]:
    """
    Each item of the list that *path* is, or each of its lines where it is none.

    Raises:
        DatasetError: as ``lines`` and ``rows_of_list``.
    """
    return rows_of_list(path, row_type) if _is_list(path) else rows_of_lines(path, row_type)


def rows_of_any(path: Path, row_type: type[T]) -> Iterator[tuple[Place, T | DatasetError]]:
    """
    Each item of the list that *path* is, or else as ``rows_of_objects``.

    Raises:
        DatasetError: as ``rows_of_list`` and ``rows_of_objects``.
    """
    return rows_of_list(path, row_type) if _is_list(path) else rows_of_objects(path, row_type)


def _is_list(path: Path) -> bool:
    if not path.is_file():  # a pipe can't be read twice
        return False
    with open_data(path) as stream:
        return stream.read(1024).removeprefix(BYTE_ORDER_MARK).lstrip()[:1] == b"["


def rows_of_objects(path: Path, row_type: type[T]) -> Iterator[tuple[Place, T | DatasetError]]:
    """
    Each line of *path* as *row_type*; where the first line is no whole object, the file is the one row.

    Raises:
        DatasetError: as ``lines`` and ``read_whole``.
    """
    first = b""
    if path.is_file():  # a pipe can't be read twice
        with open_data(path) as stream:
            first = stream.readline(LONGEST_LINE_BYTES).rstrip()
    if path.is_file() and not first.endswith(b"}"):
        yield from _decoded([(Place(path=path), read_whole(path))], row_type)
    else:
        yield from rows_of_lines(path, row_type)


def rows_of_list(
    path: Path, row_type: type[T], *, key: str | None = None
) -> Iterator[tuple[Place, T | DatasetError]]:
    """
    Each item of the list that *path* is, or has under *key*, as *row_type*, or why it can't be.

    The file is read whole, but each item is decoded only when its turn comes.

    Raises:
        DatasetError: the file can't be read, is no JSON, or has no such list.
    """
    return _decoded(_items(path, key), row_type)


def parted(
    rows: Iterable[tuple[Place, T | DatasetError]],
) -> tuple[list[tuple[Place, T]], list[DatasetError]]:
    """The *rows* that can be read, and what is wrong with the others; for formats that need all at once."""
    found = list(rows)
    return (
        [(place, row) for place, row in found if not isinstance(row, DatasetError)],
        [row for _, row in found if isinstance(row, DatasetError)],
    )


def _decoded(
    found: Iterable[tuple[Place, bytes | msgspec.Raw | DatasetError]], row_type: type[T]
) -> Iterator[tuple[Place, T | DatasetError]]:
    decoder = decoder_of(row_type)
    for place, raw in found:
        row: T | DatasetError
        try:
            row = raw if isinstance(raw, DatasetError) else decode(decoder, raw, place)
        except DatasetError as error:
            row = error
        yield place, row


def lines(path: Path) -> Iterator[tuple[Place, bytes | DatasetError]]:
    """
    The non-blank lines of *path* with their places, without line ends (LF or CRLF) or byte order mark.

    Holds one line at a time, and at most ``LONGEST_LINE_BYTES`` of it.

    Raises:
        DatasetError: the file can't be opened or is no plain UTF-8.
    """
    with open_data(path) as stream:
        number = 0
        while line := stream.readline(LONGEST_LINE_BYTES + 1):
            number += 1
            place = Place(path=path, line=number)
            if number == 1:
                check_is_plain(line, path)
                line = line.removeprefix(BYTE_ORDER_MARK)
            if len(line) > LONGEST_LINE_BYTES:
                while line and not line.endswith(b"\n"):
                    line = stream.readline(LONGEST_LINE_BYTES)
                megabytes = LONGEST_LINE_BYTES // 2**20
                yield place, place.error(f"is longer than {megabytes} MiB; put one conversation on each line")
            elif line := line.strip(b" \t\r\n"):
                yield place, line


def _items(path: Path, key: str | None) -> Iterator[tuple[Place, msgspec.Raw]]:
    """The undecoded items of the list."""
    data = read_whole(path)
    items, position = _list_in(data, key, path)
    line = data.count(b"\n", 0, position) + 1
    for number, raw in enumerate(items, 1):
        # An item is a slice of the file, so the next place it is found at is where it stands.
        begin = data.find(memoryview(raw), position)
        line += data.count(b"\n", position, begin)
        yield Place(path=path, line=line, item=number), raw
        position = begin + len(memoryview(raw))
        line += data.count(b"\n", begin, position)


def _list_in(data: bytes, key: str | None, path: Path) -> tuple[list[msgspec.Raw], int]:
    """The list's items, and a place in *data* from which they can be found in order."""
    place = Place(path=path)
    wanted = "a JSON list" if key is None else f'a JSON object with a list under "{key}"'
    misfit = f"is not {wanted}; is this file in another format?"
    try:
        if key is None:
            return decoded(data, list[msgspec.Raw]), 0
        members = decoded(data, dict[str, msgspec.Raw])
        if key not in members:
            raise place.error(misfit)
        begin = data.find(memoryview(members[key]), data.find(b'"' + key.encode() + b'"'))
        return decoded(members[key], list[msgspec.Raw]), begin
    except msgspec.ValidationError as error:
        raise place.error(misfit) from error
    except RecursionError as error:
        raise place.error(TOO_DEEP) from error
    except msgspec.DecodeError as error:
        found = re.search(r"\(byte (\d+)\)", str(error))
        broken = data.count(b"\n", 0, int(found[1])) + 1 if found else None
        raise Place(path=path, line=broken).error(not_json(str(error), data)) from error
