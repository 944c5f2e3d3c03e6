"""
Documents, readings and verdicts as bytes, which is how they go to worker processes and come back.

Pickling a document or a reading takes thirty times as long as msgpack does, and both sides pay for it.
"""

from __future__ import annotations

import json
from typing import Any, Generic, TypeVar, cast

import msgspec

from replay.core.decoding import convert_to, prepare_decoder

T = TypeVar("T")

_AS_JSON = b"{["
"""First bytes of JSON; in msgpack they are small numbers, which nothing packed here is."""


class Packer(Generic[T]):
    """Turns objects or lists of one type into bytes and back; equal values are equal bytes."""

    def __init__(self, kind: Any) -> None:
        """*kind* is the type, as msgspec reads it."""
        prepare_decoder(kind)
        self._kind = kind
        self._decoder = msgspec.msgpack.Decoder(kind)

    def pack(self, value: T) -> bytes:
        """
        Return *value* packed as bytes.

        Raises:
            TypeError: something in *value* is of a type of its own, such as a number of numpy's.
        """
        try:
            return msgspec.msgpack.encode(value)
        except UnicodeEncodeError:  # half a surrogate pair, which only JSON can write, escaped
            return json.dumps(msgspec.to_builtins(value)).encode()

    def unpack(self, data: bytes) -> T:
        """
        Return the value packed in *data*.

        Raises:
            msgspec.ValidationError: the packed value was of another type.
        """
        if data[0] in _AS_JSON:
            return cast(T, convert_to(json.loads(data), self._kind))
        return cast(T, self._decoder.decode(data))
