"""
JSON as data sets have it, one row decoded at a time: a row a line, or the items of one list.

A row that can't be decoded spoils only itself, and is named by its line and, in a list, its number.

The objects of one JSON list, read piece by piece: for files that are larger than the memory.

Only brackets and strings are looked at here, to find where an object ends; whoever decodes it checks the
rest.

The outline of a JSON file from its first bytes: which keys its first objects have.

Formats are told apart by keys. The head of a large file ends anywhere, so it can't be decoded; its
tokens can still be read, which is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import msgspec

from replay.core.decoding import decode_as, decoder_of
from replay.core.errors import DatasetError
from replay.datasets.data_file import (
    BYTE_ORDER_MARK,
    TOO_DEEP,
    SourceLocation,
    check_is_plain,
    decode,
    not_json,
    open_data,
    read_whole,
)

CHUNK_BYTES = 4 * 2**20
LONGEST_ITEM_BYTES = 256 * 2**20
"""A longer object is more likely a file that is broken."""

# The last alternative is a string whose end has not been read yet.
_MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]|"', re.DOTALL)


def stream_objects(path: Path) -> Iterator[tuple[SourceLocation, bytes]]:
    """
    Yield each object of the list that *path* is, as its bytes, with its place.

    Raises:
        DatasetError: the file can't be opened, is no such list, or ends before the list does.
    """
    with open_data(path) as stream:
        data = stream.read(CHUNK_BYTES)
        check_is_plain(data, path)
        begin = len(data) - len(data.removeprefix(BYTE_ORDER_MARK).lstrip())
        line = 1 + data.count(b"\n", 0, begin)
        if data[begin : begin + 1] != b"[":
            raise SourceLocation(path=path).error("is not a JSON list; is this file in another format?")
        seen = position = begin + 1
        item, depth = 1, 0
        while True:
            for token in _MARK.finditer(data, position):
                mark = token[0]
                if mark == b'"':
                    break
                position = token.end()
                if depth == 0:
                    between, seen = data[seen : token.start()], token.start()
                    _check_between(between, mark, SourceLocation(path=path, line=line, item=item))
                    line += between.count(b"\n")
                    if mark == b"]":
                        return
                depth += 1 if mark in b"[{" else -1 if mark in b"]}" else 0
                if depth == 0:
                    yield SourceLocation(path=path, line=line, item=item), data[seen:position]
                    line += data.count(b"\n", seen, position)
                    seen, item = position, item + 1
            more = stream.read(CHUNK_BYTES)
            place = SourceLocation(path=path, line=line, item=item)
            if not more:
                raise place.error("is not valid JSON: the file ends before the list does; fetch it again")
            if len(data) - seen > LONGEST_ITEM_BYTES:
                raise place.error(f"is longer than {LONGEST_ITEM_BYTES // 2**20} MiB; is its end missing?")
            data, position, seen = data[seen:] + more, position - seen, 0


def _check_between(between: bytes, mark: bytes, place: SourceLocation) -> None:
    """
    Make sure that *between* two objects, or around them, is what belongs there.

    Raises:
        DatasetError: it isn't, or *mark* begins no object.
    """
    is_last = mark == b"]"
    found = between.strip()
    expected = b"" if place.item == 1 or is_last else b","
    if found != expected or not (is_last or mark == b"{"):
        shown = (found + (b"" if is_last else mark)).strip(b" ,").decode(errors="replace")
        raise place.error(f'is not valid JSON: expected objects and commas between them, found "{shown:.40}"')


_KEY_OR_MARK = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:"]', re.DOTALL)

Outline = Mapping[str, frozenset[str]]
"""
Paths to keys. The first object at each path counts: ``""`` is the outermost value, ``.name`` a
member, ``[]`` an element, as in ``.data[].paragraphs[]``.
"""


@lru_cache(maxsize=4)  # every reader asks for the outline of the same head
def outline(head: bytes) -> Outline:
    """Return the outline of the JSON value that *head* begins with; empty when that is no object or list."""
    text = head.removeprefix(BYTE_ORDER_MARK).decode(errors="replace").lstrip()
    found: dict[str, set[str]] = {}
    opened: list[tuple[str, str, set[str]]] = []  # bracket, path, keys
    key, key_is_next = "", False
    if not text.startswith(("{", "[")):
        return {}
    for match in _KEY_OR_MARK.finditer(text):
        token = match[0]
        if token == '"':  # a string that the head cuts off
            break
        if token in "{[":
            path = "" if not opened else opened[-1][1] + ("[]" if opened[-1][0] == "[" else f".{key}")
            keys: set[str] = set()
            if token == "{":
                keys = keys if path in found else found.setdefault(path, keys)
            opened.append((token, path, keys))
            key_is_next = token == "{"
        elif token in "}]":
            opened.pop()
            if not opened:  # the first value is complete: in JSON Lines, the first line
                break
        elif token == ",":
            key_is_next = opened[-1][0] == "{"
        elif token.startswith('"') and key_is_next:
            key, key_is_next = token[1:-1], False
            opened[-1][2].add(key)
    return {path: frozenset(keys) for path, keys in found.items()}


def has_only(keys: frozenset[str] | None, *, required: set[str], optional: set[str]) -> bool:
    """
    Return whether *keys* holds all *required* names and no name beside them and the *optional* ones.

    Refusing other names is what keeps two formats from claiming the same file.
    """
    return keys is not None and required <= keys <= required | optional


T = TypeVar("T")

LONGEST_LINE_BYTES = 64 * 2**20
"""A longer line is an error: it is more likely a whole data set written as one JSON array."""


def rows_of_lines(path: Path, row_type: type[T]) -> Iterator[tuple[SourceLocation, T | DatasetError]]:
    """
    Yield each line of the JSON Lines in *path* as *row_type*, or why it can't be.

    Raises:
        DatasetError: as ``lines``.
    """
    return _decode_rows(lines(path), row_type)


def rows_of_any(path: Path, row_type: type[T]) -> Iterator[tuple[SourceLocation, T | DatasetError]]:
    """
    Yield each item of the list in *path*, or else as ``rows_of_objects``.

    Raises:
        DatasetError: as ``rows_of_list`` and ``rows_of_objects``.
    """
    return rows_of_list(path, row_type) if _is_list(path) else rows_of_objects(path, row_type)


def rows_of_stream(path: Path, row_type: type[T]) -> Iterator[tuple[SourceLocation, T | DatasetError]]:
    """
    Yield each object of the list in *path*, one of which is held at a time, or else as ``rows_of_objects``.

    Raises:
        DatasetError: as ``stream_objects`` and ``rows_of_objects``.
    """
    return _decode_rows(stream_objects(path), row_type) if _is_list(path) else rows_of_objects(path, row_type)


def _is_list(path: Path) -> bool:
    if not path.is_file():  # a pipe can't be read twice
        return False
    with open_data(path) as stream:
        return stream.read(1024).removeprefix(BYTE_ORDER_MARK).lstrip()[:1] == b"["


def rows_of_objects(path: Path, row_type: type[T]) -> Iterator[tuple[SourceLocation, T | DatasetError]]:
    """
    Yield each line of *path* as *row_type*; an object spread over all lines is a single row.

    Raises:
        DatasetError: as ``lines`` and ``read_whole``.
    """
    if _is_one_object(path):
        yield from _decode_rows([(SourceLocation(path=path), read_whole(path))], row_type)
    else:
        yield from rows_of_lines(path, row_type)


def _is_one_object(path: Path) -> bool:
    """
    Return whether the first line begins an object that goes on below.

    A line that was cut off is no such begin: a complete object is on the line after it.
    """
    if not path.is_file():  # a pipe can't be read twice
        return False
    with open_data(path) as stream:
        first, second = (stream.readline(LONGEST_LINE_BYTES).rstrip() for _ in range(2))
    is_cut_off = second.startswith(b"{") and second.endswith(b"}")
    return not first.endswith(b"}") and bool(second) and not is_cut_off


def rows_of_list(
    path: Path, row_type: type[T], *, key: str | None = None
) -> Iterator[tuple[SourceLocation, T | DatasetError]]:
    """
    Yield the items of the list in *path*, or under *key* in it, as *row_type*, or why it can't be.

    The file is read whole, but each item is decoded only when its turn comes.

    Raises:
        DatasetError: the file can't be read, is no JSON, or has no such list.
    """
    return _decode_rows(_items(path, key), row_type)


def partition_rows(
    rows: Iterable[tuple[SourceLocation, T | DatasetError]],
) -> tuple[list[tuple[SourceLocation, T]], list[DatasetError]]:
    """Return the *rows* that can be read and the errors of the others, for formats that need all at once."""
    found = list(rows)
    return (
        [(place, row) for place, row in found if not isinstance(row, DatasetError)],
        [row for _, row in found if isinstance(row, DatasetError)],
    )


def _decode_rows(
    found: Iterable[tuple[SourceLocation, bytes | msgspec.Raw | DatasetError]], row_type: type[T]
) -> Iterator[tuple[SourceLocation, T | DatasetError]]:
    decoder = decoder_of(row_type)
    for place, raw in found:
        row: T | DatasetError
        try:
            row = raw if isinstance(raw, DatasetError) else decode(decoder, raw, place)
        except DatasetError as error:
            row = error
        yield place, row


def lines(path: Path) -> Iterator[tuple[SourceLocation, bytes | DatasetError]]:
    """
    Yield the non-blank lines of *path* with their places, without line ends (LF or CRLF) or byte order mark.

    Holds one line at a time, and at most ``LONGEST_LINE_BYTES`` of it.

    Raises:
        DatasetError: the file can't be opened or is no plain UTF-8.
    """
    with open_data(path) as stream:
        number = 0
        while line := stream.readline(LONGEST_LINE_BYTES + 1):
            number += 1
            place = SourceLocation(path=path, line=number)
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


def check_is_json(data: bytes, path: Path) -> None:
    """
    Make sure that *data*, all of *path*, is JSON or JSON Lines if it begins like it.

    Raises:
        DatasetError: it is broken; names the line.
    """
    data = data.removeprefix(BYTE_ORDER_MARK)
    if not data.lstrip().startswith((b"{", b"[")):
        return
    try:
        decode_as(data.lstrip().partition(b"\n")[0], msgspec.Raw)
    except msgspec.DecodeError:
        try:
            decode_as(data, msgspec.Raw)
        except msgspec.DecodeError as error:
            raise _json_error(error, data, path) from error


def _json_error(error: msgspec.DecodeError, data: bytes, path: Path) -> DatasetError:
    found = re.search(r"\(byte (\d+)\)", str(error))
    line = data.count(b"\n", 0, int(found[1]) if found else len(data.rstrip())) + 1
    return SourceLocation(path=path, line=line).error(not_json(str(error), data))


def _items(path: Path, key: str | None) -> Iterator[tuple[SourceLocation, msgspec.Raw]]:
    """Yield the undecoded items of the list."""
    data = read_whole(path)
    items, position = _list_in(data, key, path)
    line = data.count(b"\n", 0, position) + 1
    for number, raw in enumerate(items, 1):
        # An item is a slice of the file, so the next place it is found at is where it stands.
        begin = data.find(memoryview(raw), position)
        line += data.count(b"\n", position, begin)
        yield SourceLocation(path=path, line=line, item=number), raw
        position = begin + len(memoryview(raw))
        line += data.count(b"\n", begin, position)


def _list_in(data: bytes, key: str | None, path: Path) -> tuple[list[msgspec.Raw], int]:
    """Return the list's items, and a place in *data* from which they can be found in order."""
    place = SourceLocation(path=path)
    wanted = "a JSON list" if key is None else f'a JSON object with a list under "{key}"'
    misfit = f"is not {wanted}; is this file in another format?"
    try:
        if key is None:
            return decode_as(data, list[msgspec.Raw]), 0
        within, begin = msgspec.Raw(data), 0
        for name in key.split("."):
            members = decode_as(within, dict[str, msgspec.Raw])
            if name not in members:
                raise place.error(f"{misfit} (found: {', '.join(members) or 'nothing'})")
            within = members[name]
            begin = data.find(memoryview(within), data.find(b'"' + name.encode() + b'"', begin))
        return decode_as(within, list[msgspec.Raw]), begin
    except msgspec.ValidationError as error:
        raise place.error(misfit) from error
    except RecursionError as error:
        raise place.error(TOO_DEEP) from error
    except msgspec.DecodeError as error:
        raise _json_error(error, data, path) from error
