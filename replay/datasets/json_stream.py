"""
The objects of one JSON list, read piece by piece: for files that are larger than the memory.

Only brackets and strings are looked at here, to find where an object ends; whoever decodes it checks the
rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from replay.datasets.data_file import BYTE_ORDER_MARK, check_is_plain, open_data
from replay.datasets.place import SourceLocation

CHUNK_BYTES = 4 * 2**20
LONGEST_ITEM_BYTES = 256 * 2**20
"""A longer object is more likely a file that is broken."""

# The last alternative is a string whose end has not been read yet.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]|"', re.DOTALL)


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
            for token in _TOKEN.finditer(data, position):
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
