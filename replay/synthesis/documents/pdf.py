"""PDF: paragraphs from lines, one section a page; what recurs on pages is left out."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence

from replay.synthesis.documents.builder import DocumentBuilder
from replay.synthesis.documents.document import Document
from replay.synthesis.documents.extra import extra_module
from replay.synthesis.documents.prose import without_marks


class UnreadablePdfError(ValueError):
    """A PDF without text that can be read; its message says why."""


def read_pdf(path: str, data: bytes, *, title: str) -> Document:
    """
    Return the PDF file *data* at *path*. Offsets are in the pages' text, joined by line breaks.

    Raises:
        UnreadablePdfError: it is encrypted, damaged, or holds pictures of text only.
    """
    pages = _without_recurring([page.split("\n") for page in _page_texts(data)])
    builder = DocumentBuilder(path)
    builder.set_title(title)
    start = 0
    carried = ""
    for number, lines in enumerate(pages, 1):
        if number > 1:
            builder.heading(1, "", start)
        paragraphs = _paragraphs(lines)
        if carried and paragraphs:
            paragraphs[0] = _join(carried, paragraphs[0])
            carried = ""
        if number < len(pages) and paragraphs and not _ENDS.search(paragraphs[-1]):
            carried = paragraphs.pop()
        for paragraph in paragraphs:
            builder.paragraph(paragraph)
        start += sum(len(line) + 1 for line in lines)
    if carried:
        builder.paragraph(carried)
    return builder.finish(start)


def _page_texts(data: bytes) -> list[str]:
    pypdf = extra_module("pypdf")
    errors = extra_module("pypdf.errors")
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadablePdfError("is an encrypted PDF; save it without a password first")
        texts = [without_marks(page.extract_text()) for page in reader.pages]
    except errors.DependencyError as error:
        raise UnreadablePdfError("is an encrypted PDF; save it without encryption first") from error
    except UnreadablePdfError:
        raise
    except (errors.PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, OSError) as error:
        # A damaged file can fail anywhere in its parser.
        raise UnreadablePdfError(f"is no PDF that can be read ({error or type(error).__name__})") from error
    if not any(text.strip() for text in texts):
        raise UnreadablePdfError("is a PDF without text, perhaps scanned; run OCR over it first")
    return texts


_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(r"[\W\d]*(?:page)?[\W\d]*(?:of)?[\W\d]*", re.IGNORECASE)


def _without_recurring(pages: Sequence[list[str]]) -> list[list[str]]:
    """Return the pages' lines without page numbers and lines at the edges of at least half of the pages."""
    edges = Counter(
        key
        for lines in pages
        for key in {_DIGITS.sub("0", line.strip()) for line in [*lines[:2], *lines[-2:]]}
    )
    recurring = {key for key, count in edges.items() if len(pages) >= 4 and 2 * count >= len(pages)}
    return [
        [
            line
            for line in lines
            if not line.strip()
            or (not _PAGE_NUMBER.fullmatch(line.strip()) and _DIGITS.sub("0", line.strip()) not in recurring)
        ]
        for lines in pages
    ]


_ENDS = re.compile(r"[.!?:][\"'”’)\]]*$")
_BULLET = re.compile(r"^\s*(?:[•▪◦●‣*–-]|\d{1,2}[.)])\s+")


def _paragraphs(lines: Sequence[str]) -> list[str]:
    """Return lines joined to paragraphs, each up to a blank line, a list's mark or a short line."""
    width = max((len(line.rstrip()) for line in lines), default=0)
    paragraphs: list[str] = []
    ended = True
    for line in lines:
        text = line.strip()
        if not text:
            ended = True
            continue
        if ended or _BULLET.match(line):
            paragraphs.append(_BULLET.sub("", text))
        else:
            paragraphs[-1] = _join(paragraphs[-1], text)
        short = len(line.rstrip()) < 0.75 * width
        ended = short and (bool(_ENDS.search(text)) or not text[-1].isalnum() or _is_heading(paragraphs[-1]))
    return paragraphs


def _is_heading(text: str) -> bool:
    words = text.split()
    return len(words) <= 8 and not any(word.islower() and len(word) > 4 for word in words[-1:])


def _join(before: str, after: str) -> str:
    """Return two lines as one, a word that was divided between them mended."""
    if before.endswith("-") and len(before) > 1 and before[-2].isalpha() and after[:1].islower():
        return before[:-1] + after
    return f"{before} {after}"
