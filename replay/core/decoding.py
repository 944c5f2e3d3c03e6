"""
JSON and plain values as objects of a type, whichever threads ask for it.

msgspec works out what a struct or a dataclass is made of when one is first decoded, and lets other threads
see it half done: two that decode the first of a kind at the same time end the process with a segmentation
fault (msgspec 0.22). So kinds are worked out one at a time, here and nowhere else.

JSON values compared as such: ``true`` is no 1, as it is in Python, and 1 is 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_known: set[Any] = set()
_working = RLock()


def decoder_of(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return a JSON decoder for the given type."""
    with _working:
        return msgspec.json.Decoder(kind)


def decode_as(data: bytes | str | msgspec.Raw, kind: type[T]) -> T:
    """
    Decode JSON *data* as an object of the type *kind*.

    Raises:
        msgspec.DecodeError: *data* is no JSON, or of another kind (``ValidationError``).
        UnicodeEncodeError: a text has half a surrogate pair.
        RecursionError: it is nested too deeply.
    """
    prepare_decoder(kind)
    return msgspec.json.decode(data, type=kind)


def convert_to(plain: Any, kind: type[T], *, strict: bool = True) -> T:
    """
    Convert dicts, lists and plain values to an object of *kind*; unless *strict*, numbers may be texts.

    Raises:
        msgspec.ValidationError: *plain* is of another kind.
    """
    prepare_decoder(kind)
    return msgspec.convert(plain, kind, strict=strict)


def prepare_decoder(kind: Any) -> None:
    """Let any thread decode objects of that *kind* from now on."""
    if kind not in _known:
        with _working:
            msgspec.msgpack.Decoder(kind)
            _known.add(kind)


def same_json(one: Any, other: Any) -> bool:
    """Return whether both are the same JSON value; the order of an object's keys doesn't matter."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_json(value, other[key]) for key, value in one.items())
    return _alike(one, other, same_json)


def holds_json(whole: Any, part: Any) -> bool:
    """Return whether *whole* contains *part*: objects may have more keys, all else must be equal."""
    if isinstance(whole, Mapping) and isinstance(part, Mapping):
        return all(key in whole and holds_json(whole[key], value) for key, value in part.items())
    return _alike(whole, part, holds_json)


def _alike(one: Any, other: Any, items_alike: Any) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(items_alike, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)
