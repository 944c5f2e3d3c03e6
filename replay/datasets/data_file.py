"""
Opening a data file, with errors that say what to do when that fails, and where in it something stands, so
that every complaint can name it.

Parquet, and Arrow as Hugging Face's ``save_to_disk`` writes it, are read as JSON Lines: a row a line. So
every format that is a conversation a line can lie in such a file too, as most published sets do. What is null
is left out, since a column has a value in every row, whether it says anything or not.
"""

from __future__ import annotations

import io
import json
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

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
