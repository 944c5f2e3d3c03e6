"""
JSON and plain values as objects of a type, whichever threads ask for it.

msgspec works out what a struct or a dataclass is made of when one is first decoded, and lets other threads
see it half done: two that decode the first of a kind at the same time end the process with a segmentation
fault (msgspec 0.22). So kinds are worked out one at a time, here and nowhere else.
"""

from __future__ import annotations

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
