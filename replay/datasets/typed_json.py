"""
JSON decoded straight into typed rows, with complaints in our own words.

msgspec checks each value while it decodes, so nothing is checked twice; its messages are turned
into a field path (``turns[0].question``), what was found and what was expected.
"""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from replay.core.decoding import decode_as
from replay.core.errors import DatasetError
from replay.core.settings.faults import nearest
from replay.datasets.data_file import SourceLocation, not_utf8

T = TypeVar("T")

_AT = re.compile(r" - at `(?:key in )?\$\.?(?P<path>[^`]*)`\Z")
_WRONG_TYPE = re.compile(r"Expected `(?P<expected>[^`]*)`, got `(?P<found>[^`]*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>[^`]*)`")
_MALFORMED = re.compile(r"(?:JSON is malformed: )?(?P<what>.*?)(?: \(byte (?P<byte>\d+)\))?", re.DOTALL)

_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def decode(
    decoder: msgspec.json.Decoder[T], data: bytes | msgspec.Raw, place: SourceLocation, at: str = ""
) -> T:
    """
    Return *data*, the content of the field *at*, decoded as the decoder's type.

    Raises:
        DatasetError: it is not JSON or doesn't have that type; names the field.
    """
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise _misfit(str(error), decoder.type, data, place, at) from error
    except UnicodeDecodeError as error:
        raise place.error(not_utf8(error.object[error.start]), at) from error
    except msgspec.DecodeError as error:
        raise place.error(not_json(str(error), bytes(data)), at) from error
    except RecursionError as error:
        raise place.error(TOO_DEEP, at) from error


TOO_DEEP = "is nested too deeply; no data set needs hundreds of lists within lists"


def not_json(message: str, data: bytes) -> str:
    """Return a message that *data* is not JSON, from the decoder's own *message*."""
    if b"\0" in data:
        position = data.index(b"\0") + 1
        return f"is not JSON: found a NUL byte (byte {position}); the file was cut off, or is not UTF-8"
    found = _MALFORMED.fullmatch(message)
    what = found["what"] if found else message
    if what == "Input data was truncated":
        return (
            "is not valid JSON: it ends before it is complete. If the file was cut off, fetch it again or "
            "remove what is broken; if one value is spread over several lines, put it on one"
        )
    at = f" at byte {int(found['byte']) + 1}" if found and found["byte"] else ""
    return f"is not valid JSON: {what}{at}"


def _misfit(
    message: str, row_type: object, data: bytes | msgspec.Raw, place: SourceLocation, field: str
) -> DatasetError:
    at = _AT.search(message)
    within = at["path"] if at else ""
    path = f"{field}{within}" if within.startswith("[") else _joined(field, within).rstrip(".")
    text = message[: at.start()] if at else message
    if found := _WRONG_TYPE.fullmatch(text):
        return place.error(f"found {_named(found['found'])}, expected {_named(found['expected'])}", path)
    if found := _MISSING.fullmatch(text):
        there = "" if within else _names_in(data)
        return place.error(f"is required but missing{there}", _joined(path, found["name"]))
    if found := _UNKNOWN.fullmatch(text):
        name, allowed = found["name"], _fields_at(row_type, within)
        close = nearest(name, allowed)
        return place.error(f"is not a field here{close} (allowed: {', '.join(allowed)})", _joined(path, name))
    return place.error(text[:1].lower() + text[1:], path)


def _names_in(data: bytes | msgspec.Raw) -> str:
    """Return the fields of the object that *data* is, for who called one otherwise; empty if it is broken."""
    try:
        names = list(decode_as(bytes(data), dict[str, msgspec.Raw]))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    shown = [*names[:8], "..."] if len(names) > 8 else names
    return f" (found: {', '.join(shown)})" if names else ""


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _named(types: str) -> str:
    return " or ".join(_WORDS.get(part, part) for part in types.split(" | "))


def _fields_at(row_type: object, path: str) -> list[str]:
    """Return the fields of the struct that *path* leads to in *row_type*."""
    here: msgspec.inspect.Type = msgspec.inspect.type_info(row_type)
    for name in re.findall(r"[^.\[\]]+", re.sub(r"\[[^\]]*\]", "", path)):
        struct = _struct(here)
        members = {field.encode_name: field.type for field in struct.fields} if struct else {}
        if name not in members:
            return []
        here = members[name]
    struct = _struct(here)
    return [field.encode_name for field in struct.fields] if struct else []


def _struct(found: msgspec.inspect.Type) -> msgspec.inspect.StructType | None:
    """Return the struct that *found* is, lists or offers as one of several types."""
    if isinstance(found, msgspec.inspect.StructType):
        return found
    if isinstance(found, msgspec.inspect.ListType):
        return _struct(found.item_type)
    if isinstance(found, msgspec.inspect.UnionType):
        return next((s for s in map(_struct, found.types) if s), None)
    return None
