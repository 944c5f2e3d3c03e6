"""
Opening a data file, with errors that say what to do when that fails.

Where in a data file something stands, so that every complaint can name it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from replay.core.errors import DatasetError
from replay.core.settings.faults import nearest
from replay.datasets.arrow_rows import as_json_lines, is_of_columns


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
