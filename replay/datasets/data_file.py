"""
Opening a data file and decoding what is in it, with errors that name the place, what was found and what to do
about it.

JSON is decoded straight into typed rows. msgspec checks each value while it decodes, so nothing is checked
twice; its messages are turned into a field path (``turns[0].question``), what was found and what was
expected.

Parquet, and Arrow as Hugging Face's ``save_to_disk`` writes it, are read as JSON Lines: a row a line. So
every format that is a conversation a line can lie in such a file too, as most published sets do. What is null
is left out, since a column has a value in every row, whether it says anything or not.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from replay.core.decoding import decode_as
from replay.core.errors import DatasetError, PluginError
from replay.core.extras import extra_module
from replay.core.settings.faults import nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLocation:
    """A line of a file; in files that are one JSON array, also the item that begins there."""

    path: Path
    line: int | None = None
    """1-based."""
    item: int | None = None
    """1-based."""

    def error(self, message: str, field: str = "") -> DatasetError:
        """Return an error with *message* about *field* at this place."""
        parts = [] if self.item is None else [f"item {self.item}"]
        parts += [field] if field else []
        return DatasetError(
            message, path=str(self.path), line=self.line, field=", ".join(parts) if parts else None
        )


BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# First bytes that tell what a file is when it is not plain UTF-8, and what to do about it.
_FOREIGN = (
    (b"\xff\xfe", "is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8 FILE > NEW_FILE"),
    (b"\xfe\xff", "is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8 FILE > NEW_FILE"),
    (b"\x1f\x8b", "is compressed with gzip; unpack it first: gunzip FILE"),
    (b"PK\x03\x04", "is a zip archive (or a spreadsheet); unpack it, or save it as CSV, first"),
    (b"(\xb5/\xfd", "is compressed with zstd; unpack it first: unzstd FILE"),
)


def open_data(path: Path) -> BinaryIO:
    """
    Return *path*, open for reading bytes; Parquet and Arrow as JSON Lines.

    Raises:
        DatasetError: there is no such file, it is a folder, or it may not be read.
        PluginError: it is Parquet or Arrow, and pyarrow is not installed.
    """
    try:
        stream = path.open("rb")
        return as_json_lines(stream, path) if is_of_columns(stream.peek(8)[:8]) else stream
    except FileNotFoundError as error:
        raise DatasetError(missing(path), path=str(path)) from error
    except IsADirectoryError as error:
        raise DatasetError(is_folder(path), path=str(path)) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise DatasetError(
            f"can't be opened ({reason}); check the file's permissions", path=str(path)
        ) from error


def missing(path: Path) -> str:
    """Return a message about a missing file, with the nearest name in its folder."""
    if not path.parent.is_dir():
        return f'there is no such file, nor a folder "{path.parent}"; check the path'
    names = [entry.name for entry in path.parent.iterdir()]
    return f"there is no such file{nearest(path.name, names) or '; check the path'}"


def is_folder(path: Path) -> str:
    """Return a message about a folder in place of a file."""
    return f"is a folder; name the files in it, for example {path.name}/*.jsonl"


def check_is_plain(head: bytes, path: Path) -> None:
    """
    Make sure that a file whose first bytes are *head* can be UTF-8 text.

    Raises:
        DatasetError: it is in another encoding, or compressed.
    """
    for mark, message in _FOREIGN:
        if head.startswith(mark):
            raise DatasetError(message, path=str(path))


def read_whole(path: Path) -> bytes:
    """
    Return all of *path*, without a byte order mark. For formats that are one JSON value.

    Raises:
        DatasetError: as ``open_data``, or the file is empty or no plain UTF-8.
    """
    with open_data(path) as stream:
        data = stream.read()
    check_is_plain(data[:4], path)
    data = data.removeprefix(BYTE_ORDER_MARK)
    if not data.strip():
        raise DatasetError("is empty; check that it was written or downloaded completely", path=str(path))
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DatasetError(not_utf8(data[error.start]), path=str(path), line=line) from error
    return data


def not_utf8(byte: int) -> str:
    """Return a message about a byte that is not UTF-8."""
    return f"is not UTF-8: found the byte 0x{byte:02x}; save the file as UTF-8"


_PARQUET, _FILE, _STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
ROWS_AT_ONCE = 256


def is_of_columns(head: bytes) -> bool:
    """Return whether a file that begins with *head* is Parquet or Arrow."""
    return head.startswith((_PARQUET, _FILE, _STREAM))


def as_json_lines(stream: BinaryIO, path: Path) -> BinaryIO:
    """
    Return the rows of *stream*, which is *path*, as JSON Lines; reading it holds ``ROWS_AT_ONCE`` of them.

    Raises:
        PluginError: pyarrow is not installed.
    """
    try:
        pyarrow = extra_module("pyarrow", "parquet", f"reading {path}, Parquet or Arrow,")
    except PluginError:
        stream.close()
        raise
    return io.BufferedReader(_JsonLines(stream, path, pyarrow))


def without_nulls(value: Any) -> Any:
    """Return *value*, of JSON's kinds, without the members of objects that are null."""
    if isinstance(value, dict):
        return {name: without_nulls(one) for name, one in value.items() if one is not None}
    if isinstance(value, list):
        return [without_nulls(one) for one in value]
    return value


def dataset_files(folder: Path) -> list[Path]:
    """
    Return the files of a data set that ``save_to_disk`` wrote into *folder*, in order; empty for others.

    Raises:
        DatasetError: it holds several splits, of which one has to be named.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        names = [one["filename"] for one in json.loads((folder / "state.json").read_bytes())["_data_files"]]
        return [folder / name for name in names]
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads((folder / "dataset_dict.json").read_bytes())["splits"]
        splits = [f"{folder.name}/{name}" for name in found]
        raise DatasetError(
            f"is a data set of several splits; name one of them: {', '.join(splits)}", path=str(folder)
        )
    return []


class _JsonLines(io.RawIOBase):
    def __init__(self, stream: BinaryIO, path: Path, pyarrow: Any) -> None:
        self._stream = stream
        self._lines = _lines(stream, path, pyarrow)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = memoryview(next(self._lines, b""))
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count

    def close(self) -> None:
        self._lines.close()
        self._stream.close()
        super().close()


def _lines(stream: BinaryIO, path: Path, pyarrow: Any) -> Generator[bytes]:
    try:
        for batch in _batches(stream):
            for row in _rows(batch):
                yield msgspec.json.encode(without_nulls(row)) + b"\n" if isinstance(row, dict) else row
    except (pyarrow.ArrowException, OSError) as error:
        raise DatasetError(
            f"is Parquet or Arrow that can't be read ({error}); was it written or downloaded completely?",
            path=str(path),
        ) from error


def _rows(batch: Any) -> Iterator[dict[str, Any] | bytes]:
    """Yield the rows of *batch*; a row that is not UTF-8 is given as bytes, for its reader to refuse."""
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:
        if batch.num_rows > 1:
            for number in range(batch.num_rows):
                yield from _rows(batch.slice(number, 1))
        else:
            yield b"\xff\n"


def _batches(stream: BinaryIO) -> Iterator[Any]:
    from pyarrow import ipc, parquet  # type: ignore[import-untyped]

    head = stream.read(len(_FILE))
    stream.seek(0)
    if head.startswith(_PARQUET):
        yield from parquet.ParquetFile(stream).iter_batches(batch_size=ROWS_AT_ONCE)
    elif head.startswith(_FILE):
        reader = ipc.open_file(stream)
        yield from (reader.get_batch(number) for number in range(reader.num_record_batches))
    else:
        yield from ipc.open_stream(stream)


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
    path = f"{field}{within}" if within.startswith("[") else _join(field, within).rstrip(".")
    text = message[: at.start()] if at else message
    if found := _WRONG_TYPE.fullmatch(text):
        return place.error(
            f"found {_in_words(found['found'])}, expected {_in_words(found['expected'])}", path
        )
    if found := _MISSING.fullmatch(text):
        there = "" if within else _names_in(data)
        return place.error(f"is required but missing{there}", _join(path, found["name"]))
    if found := _UNKNOWN.fullmatch(text):
        name, allowed = found["name"], _fields_at(row_type, within)
        close = nearest(name, allowed)
        return place.error(f"is not a field here{close} (allowed: {', '.join(allowed)})", _join(path, name))
    return place.error(text[:1].lower() + text[1:], path)


def _names_in(data: bytes | msgspec.Raw) -> str:
    """Return the fields of the object that *data* is, for who called one otherwise; empty if it is broken."""
    try:
        names = list(decode_as(bytes(data), dict[str, msgspec.Raw]))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    shown = [*names[:8], "..."] if len(names) > 8 else names
    return f" (found: {', '.join(shown)})" if names else ""


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _in_words(types: str) -> str:
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
