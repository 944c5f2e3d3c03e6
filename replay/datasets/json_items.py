"""
Files that are one JSON value: a list of items, on its own or under one key.

The file is read whole, but each item is decoded only when its turn comes, so that a bad one spoils
only itself and is named by its number and by the line it begins on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from replay.core.errors import DatasetError
from replay.datasets.data_file import read_whole
from replay.datasets.place import Place
from replay.datasets.typed_json import TOO_DEEP, decode, not_json

T = TypeVar("T")


def rows(
    path: Path, row_type: type[T], *, key: str | None = None
) -> Iterator[tuple[Place, T | DatasetError]]:
    """
    Each item of the list that *path* is, or has under *key*, as *row_type*, or why it can't be.

    Raises:
        DatasetError: the file can't be read, is no JSON, or has no such list.
    """
    data = read_whole(path)
    decoder = msgspec.json.Decoder(row_type)
    items, position = _items(data, key, path)
    line = data.count(b"\n", 0, position) + 1
    for number, raw in enumerate(items, 1):
        # An item is a slice of the file, so the next place it is found at is where it stands.
        begin = data.find(memoryview(raw), position)
        line += data.count(b"\n", position, begin)
        place = Place(path=path, line=line, item=number)
        try:
            yield place, decode(decoder, raw, place)
        except DatasetError as error:
            yield place, error
        position = begin + len(memoryview(raw))
        line += data.count(b"\n", begin, position)


def _items(data: bytes, key: str | None, path: Path) -> tuple[list[msgspec.Raw], int]:
    """The undecoded items of the list, and a place in *data* from which they can be found in order."""
    place = Place(path=path)
    wanted = "a JSON list" if key is None else f'a JSON object with a list under "{key}"'
    misfit = f"is not {wanted}; is this file in another format?"
    try:
        if key is None:
            return msgspec.json.decode(data, type=list[msgspec.Raw]), 0
        members = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        if key not in members:
            raise place.error(misfit)
        begin = data.find(memoryview(members[key]), data.find(b'"' + key.encode() + b'"'))
        return msgspec.json.decode(members[key], type=list[msgspec.Raw]), begin
    except msgspec.ValidationError as error:
        raise place.error(misfit) from error
    except RecursionError as error:
        raise place.error(TOO_DEEP) from error
    except msgspec.DecodeError as error:
        found = re.search(r"\(byte (\d+)\)", str(error))
        broken = data.count(b"\n", 0, int(found[1])) + 1 if found else None
        raise Place(path=path, line=broken).error(not_json(str(error), data)) from error
