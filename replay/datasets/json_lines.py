"""
JSON Lines: one value a line, read one line at a time.

Lines may end in LF or CRLF, blank lines are passed over, and a byte order mark is. A line that can't
be read spoils only itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from replay.core.errors import DatasetError
from replay.datasets.data_file import BYTE_ORDER_MARK, check_is_plain, open_data
from replay.datasets.place import Place
from replay.datasets.typed_json import decode

T = TypeVar("T")

LONGEST_LINE_BYTES = 64 * 2**20
"""A longer line is an error: it is more likely a whole data set written as one JSON array."""


def lines(path: Path) -> Iterator[tuple[Place, bytes | DatasetError]]:
    """
    The non-blank lines of *path* with their places, without line ends.

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


def rows(path: Path, row_type: type[T]) -> Iterator[tuple[Place, T | DatasetError]]:
    """
    Each line decoded as *row_type*, or why it can't be.

    Raises:
        DatasetError: as ``lines``.
    """
    decoder = msgspec.json.Decoder(row_type)
    for place, line in lines(path):
        if isinstance(line, DatasetError):
            yield place, line
            continue
        try:
            yield place, decode(decoder, line, place)
        except DatasetError as error:
            yield place, error
