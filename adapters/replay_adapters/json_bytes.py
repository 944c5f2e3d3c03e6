"""
JSON as bytes, by msgspec; by the standard library where msgspec is stricter than servers and data are.

Texts of data sets and systems may hold lone surrogates. They travel as JSON escapes, which only the
standard library writes and reads.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def encode_json(value: Any) -> bytes:
    """
    Return *value* as JSON in UTF-8.

    Raises:
        TypeError, ValueError: *value* is not JSON.
    """
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def decode_json(content: bytes) -> Any:
    """
    Return the value of the JSON *content*.

    Raises:
        ValueError: *content* is not JSON, or nested too deeply.
    """
    try:
        return _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def whole_text(pieces: Sequence[str]) -> str:
    """Return *pieces* together; halves of a character that came in two of them are one again."""
    text = "".join(pieces)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
