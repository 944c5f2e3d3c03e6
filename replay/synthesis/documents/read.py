"""Files, folders and patterns of names read as documents, records too, each that can't be with a reason."""

from __future__ import annotations

import csv
import glob
import hashlib
import io
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from replay.core.errors import DatasetError
from replay.synthesis.documents.document import DocumentBuilder, SourceDocument, SourceSection
from replay.synthesis.documents.html import read_html
from replay.synthesis.documents.markdown import read_markdown, read_plain_text
from replay.synthesis.documents.pdf import UnreadablePdfError, read_pdf
from replay.synthesis.documents.prose import english_words, without_marks
from replay.synthesis.documents.restructured_text import read_restructured_text

_ROWS_OF_A_SECTION = 100
TEXT_FIELDS = ("text", "content", "body")
_TITLE_FIELDS = ("title", "name", "heading")


def read_csv(path: str, source: str, *, title: str) -> SourceDocument:
    """Return a file of rows, the first of which names the columns, as tables of at most a hundred rows."""
    try:
        dialect: type[csv.Dialect] = csv.Sniffer().sniff(source[:10_000], ",;\t|")
    except csv.Error:
        dialect = csv.excel_tab if path.endswith(".tsv") else csv.excel
    lines = csv.reader(io.StringIO(source), dialect)
    builder = DocumentBuilder(path)
    builder.set_title(title)
    try:
        rows = [row for row in lines if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise DatasetError(
            f"is no table that can be read ({error})", path=path, line=lines.line_num
        ) from error
    if rows and _is_data(rows[0]):
        raise DatasetError("has no column names; expected them in the first row", path=path, line=1)
    for first in range(1, len(rows), _ROWS_OF_A_SECTION):
        if first > 1:
            builder.continue_section(0)
        builder.table(rows[0], rows[first : first + _ROWS_OF_A_SECTION])
    return builder.finish(len(source))


_NUMBER = re.compile(r"[-+]?[\d.,:/ %-]*\d[\d.,:/ %-]*")


def _is_data(names: list[str]) -> bool:
    """Return whether a row is no column names: numbers or dates are in it, or several cells are empty."""
    return any(_NUMBER.fullmatch(name.strip()) for name in names) or sum(not n.strip() for n in names) > 1


def read_json_lines(path: str, source: str) -> Iterator[SourceDocument | DatasetError]:
    """Yield each line's record, an object with a text, as a document of its own; a bad line is an error."""
    for number, line in enumerate(source.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            yield DatasetError(f"is no JSON ({error})", path=path, line=number)
            continue
        if not isinstance(record, dict):
            yield DatasetError("found no object; expected one with a text", path=path, line=number)
            continue
        text = next((record[name] for name in TEXT_FIELDS if isinstance(record.get(name), str)), None)
        if text is None:
            names = ", ".join(f'"{name}"' for name in TEXT_FIELDS)
            yield DatasetError(f"has no text; expected one of the fields {names}", path=path, line=number)
            continue
        title = next((record[name] for name in _TITLE_FIELDS if isinstance(record.get(name), str)), "")
        yield read_markdown(f"{path}:{number}", text, title=title)


_READERS: dict[str, Callable[..., SourceDocument]] = {
    **dict.fromkeys((".txt", ".text"), read_plain_text),
    **dict.fromkeys((".md", ".markdown", ".mdx"), read_markdown),
    **dict.fromkeys((".html", ".htm", ".xhtml"), read_html),
    ".rst": read_restructured_text,
    **dict.fromkeys((".csv", ".tsv"), read_csv),
}
SUFFIXES = (*_READERS, ".jsonl", ".pdf")


def read_documents(
    paths: Iterable[Path], *, largest_mb: float = math.inf, english_only: bool = True
) -> Iterator[SourceDocument | DatasetError]:
    """
    Yield the documents of *paths* in order, and a ``DatasetError`` for each that can't be used.

    Args:
        paths: Files of any name, folders (searched with those inside them for files whose names end as one of
            ``SUFFIXES``), and patterns such as ``docs/**/*.md``. A file is read once.
        largest_mb: Larger files, in millions of bytes, are left out; none by default.
        english_only: Leave out documents that aren't English.

    Raises:
        PluginError: the extra ``synthesis`` is not installed.
    """
    seen: set[tuple[int, int]] = set()
    for path in paths:
        for file in _files(path):
            if isinstance(file, DatasetError):
                yield file
                continue
            try:
                status = file.stat()
            except OSError as error:
                yield _unreadable(file, error)
                continue
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            try:
                documents = _documents(file, status, largest_mb)
                yield from (_check_content(found, english_only=english_only) for found in documents)
            except DatasetError as error:
                yield error


@dataclass(slots=True)
class DocumentReading:
    """What becomes of files that are read as documents, and a hash of *settings* and of their texts."""

    settings: bytes
    sources: list[str] = field(default_factory=list)
    """Paths of the documents."""
    unread: list[DatasetError] = field(default_factory=list)
    """Files that couldn't be used."""
    signature: str = ""
    """Known when all are read."""

    def documents(self, paths: Iterable[Path], largest_mb: float) -> Iterator[SourceDocument]:
        """Yield the documents of *paths*, as ``read_documents`` does."""
        digest = hashlib.sha256(self.settings)
        for found in read_documents(paths, largest_mb=largest_mb):
            if isinstance(found, DatasetError):
                self.unread.append(found)
                continue
            self.sources.append(found.path)
            digest.update("\0".join((found.path, *(section.text for section in found.sections))).encode())
            yield found
        self.signature = digest.hexdigest()[:12]


def _files(path: Path) -> Iterator[Path | DatasetError]:
    """Yield the files that *path* names, in the order of their names."""
    if path.is_dir():
        found = list(_inside(path, set()))
        yield from found
        if not found:
            yield DatasetError(f"holds no documents; looked for {', '.join(SUFFIXES)}", path=str(path))
    elif glob.has_magic(str(path)) and not path.exists():
        names = sorted(glob.glob(str(path), recursive=True))
        yield from (Path(name) for name in names if not os.path.isdir(name))
        if not names:
            yield DatasetError("no file has a name like this; check the pattern", path=str(path))
    else:
        yield path


def _inside(folder: Path, above: set[str]) -> Iterator[Path | DatasetError]:
    real = os.path.realpath(folder)
    if real in above:
        return  # a link back to where we came from
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield _unreadable(folder, error)
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith(".") or entry.name == "node_modules":
            continue
        if path.is_dir():
            yield from _inside(path, above | {real})
        elif path.suffix.lower() in SUFFIXES:
            yield path


def _unreadable(path: Path, error: OSError) -> DatasetError:
    if isinstance(error, FileNotFoundError):
        return DatasetError("there is no such file; check the path", path=str(path))
    return DatasetError(f"can't be opened ({error.strerror or error}); check it", path=str(path))


def _documents(
    file: Path, status: os.stat_result, largest_mb: float
) -> Iterator[SourceDocument | DatasetError]:
    """
    Yield what is in *file*.

    Raises:
        DatasetError: it can't be used.
    """
    path = file.as_posix()
    if not stat.S_ISREG(status.st_mode):
        raise DatasetError("is no regular file", path=path)
    if status.st_size == 0:
        raise DatasetError("is empty", path=path)
    if status.st_size > largest_mb * 1e6:
        raise DatasetError(
            f"has {status.st_size / 1e6:,.0f} MB, and files above {largest_mb:g} MB are left out; "
            "split it, or set a higher limit",
            path=path,
        )
    try:
        data = file.read_bytes()
    except OSError as error:
        raise _unreadable(file, error) from error
    title = file.stem.replace("_", " ").replace("-", " ")
    suffix = file.suffix.lower()
    if suffix == ".pdf" or data.startswith(b"%PDF-"):
        try:
            yield read_pdf(path, data, title=title)
        except UnreadablePdfError as error:
            raise DatasetError(str(error), path=path) from error
        return
    source = _text(data, path)
    if suffix == ".jsonl":
        yield from read_json_lines(path, source)
    else:
        yield _READERS.get(suffix, read_plain_text)(path, source, title=title)


def _text(data: bytes, path: str) -> str:
    if b"\0" in data[:100_000]:
        raise DatasetError("is binary, no text", path=path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError(
            f"is not UTF-8 (byte {data[error.start]:#04x} at offset {error.start:,}); save it as UTF-8 first",
            path=path,
        ) from error
    if not text.strip():
        raise DatasetError("is empty", path=path)
    return without_marks(text.replace("\r\n", "\n").replace("\r", "\n"))


_ENGLISH_SHARE = 0.12
_JUDGED_WORDS = 50


def _check_content(
    document: SourceDocument | DatasetError, *, english_only: bool
) -> SourceDocument | DatasetError:
    if isinstance(document, DatasetError):
        return document
    if not document.sections:
        return DatasetError("has no sentences, items or rows outside code and navigation", path=document.path)
    words = _prose_words(document.sections)
    share = english_words(words) / len(words) if words else 1.0
    if english_only and len(words) >= _JUDGED_WORDS and share < _ENGLISH_SHARE:
        return DatasetError(
            f"is not English: {share:.0%} of its words are English function words, in English it is above "
            f"{_ENGLISH_SHARE:.0%}",
            path=document.path,
        )
    return document


def _prose_words(sections: Iterable[SourceSection]) -> list[str]:
    """Return the first 3,000 words outside tables and code."""
    plain = (one.text for section in sections for one in section.sentences if not one.literals)
    return list(islice((word for text in plain for word in text.split()), 3_000))
