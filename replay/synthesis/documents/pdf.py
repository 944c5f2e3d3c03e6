"""
PDF: lines put together to paragraphs by where they stand, and headings told by their size.

What recurs on pages is left out. A PDF says nothing of tables and lists: their lines come as paragraphs, of
which only sentences are kept.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from replay.core.extras import extra_module
from replay.synthesis.documents.document import DocumentBuilder, SourceDocument
from replay.synthesis.documents.prose import without_marks


class UnreadablePdfError(ValueError):
    """A PDF without text that can be read; its message says why."""


@dataclass(slots=True)
class _PdfLine:
    text: str
    x: float
    y: float
    """In points, upwards."""
    size: float
    """Of its letters, in points."""


def read_pdf(path: str, data: bytes, *, title: str) -> SourceDocument:
    """
    Return the PDF file *data* at *path*. Offsets are in the pages' lines, joined by line breaks.

    Raises:
        UnreadablePdfError: it is encrypted, damaged, or holds pictures of text only.
    """
    pages = _without_recurring(_pages(data))
    sizes = Counter(line.size for page in pages for line in page for _ in range(len(line.text)))
    body = sizes.most_common(1)[0][0]
    larger = sorted((size for size in sizes if size > 1.12 * body), reverse=True)
    builder = DocumentBuilder(path)
    offset, started, open_paragraph = 0, 0, ""
    for page in pages:
        for lines in _paragraphs(page):
            text = _join(lines)
            if lines[0].size in larger and len(text.split()) <= _HEADING_WORDS:
                builder.paragraph(open_paragraph)
                open_paragraph = ""
                builder.heading(1 + larger.index(lines[0].size), text, offset)
                started = offset
            elif open_paragraph and text[:1].islower():  # it goes on after a page's or column's end
                open_paragraph = _join_texts(open_paragraph, text)
            else:
                builder.paragraph(open_paragraph)
                open_paragraph = text
                if offset - started > _LONGEST_SECTION:
                    builder.continue_section(offset)
                    started = offset
            offset += sum(len(line.text) + 1 for line in lines)
    builder.paragraph(open_paragraph)
    builder.set_title(title)  # where no heading is one
    return builder.finish(offset)


_HEADING_WORDS = 14
_LONGEST_SECTION = 4_000
"""Characters after which a new section begins, under the same headings, where a PDF has none for long."""


def _pages(data: bytes) -> list[list[_PdfLine]]:
    pypdf = extra_module("pypdf", "synthesis", "reading documents")
    errors = extra_module("pypdf.errors", "synthesis", "reading documents")
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadablePdfError("is an encrypted PDF; save it without a password first")
        pages = [_lines(page) for page in reader.pages]
    except errors.DependencyError as error:
        raise UnreadablePdfError("is an encrypted PDF; save it without encryption first") from error
    except UnreadablePdfError:
        raise
    except (
        errors.PyPdfError,
        ArithmeticError,
        AttributeError,
        LookupError,
        OSError,
        RecursionError,
    ) as error:
        raise _damage_error(error) from error
    except (TypeError, ValueError) as error:  # a damaged file may fail anywhere in its parser
        raise _damage_error(error) from error
    if not any(pages):
        raise UnreadablePdfError("is a PDF without text, perhaps scanned; run OCR over it first")
    return pages


def _damage_error(error: Exception) -> UnreadablePdfError:
    return UnreadablePdfError(f"is no PDF that can be read ({str(error) or type(error).__name__})")


_LETTERS = {
    **{0xFB00 + number: text for number, text in enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"))},
    0x00: "",
    0x0A: " ",
}
"""Ligatures as the letters that they stand for; no line breaks."""


def _lines(page: Any) -> list[_PdfLine]:
    lines: list[_PdfLine] = []

    def visit(text: str, cm: Sequence[float], tm: Sequence[float], font: Any, size: float) -> None:
        text = without_marks(text.replace("\xad", "-").translate(_LETTERS))
        if not text.strip():
            if lines and text:
                lines[-1].text += " "
            return
        x = cm[0] * tm[4] + cm[2] * tm[5] + cm[4]
        y = cm[1] * tm[4] + cm[3] * tm[5] + cm[5]
        if lines and abs(lines[-1].y - y) < 2 and x >= lines[-1].x:
            lines[-1].text += text
        else:
            lines.append(_PdfLine(text=text, x=x, y=y, size=round(abs(size * tm[3] * cm[3]), 1)))

    page.extract_text(visitor_text=visit)
    for line in lines:
        line.text = " ".join(line.text.split())
    return lines


_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(r"(?:page )?\W*\d{1,4}\W*(?: ?(?:of|/) ?\d{1,4})?|[ivxl]{1,6}", re.IGNORECASE)


def _without_recurring(pages: Sequence[list[_PdfLine]]) -> list[list[_PdfLine]]:
    """Return the pages' lines without page numbers and what stands at the edges of half of the pages."""
    edges = [{_DIGITS.sub("0", line.text) for line in [*page[:2], *page[-2:]]} for page in pages]
    counts = Counter(text for texts in edges for text in texts)
    recurring = {text for text, count in counts.items() if len(pages) >= 4 and 2 * count >= len(pages)}
    return [
        [
            line
            for line in page
            if not _PAGE_NUMBER.fullmatch(line.text) and _DIGITS.sub("0", line.text) not in recurring
        ]
        for page in pages
    ]


_ENDS = re.compile(r"[.!?:][\"'”’)\]]*$")
_BULLET = re.compile(r"^(?:[•▪◦●‣*–-]|\d{1,2}[.)])(?:\s+|$)")


def _paragraphs(lines: Sequence[_PdfLine]) -> list[list[_PdfLine]]:
    """
    Return a page's lines by paragraph.

    One ends before a wider gap than most lines have, before letters of another size, another column or a
    list's mark, and after a sentence's end in a line that is shorter than others.
    """
    gaps = Counter(
        round(above.y - below.y, 1)
        for above, below in pairwise(lines)
        if above.size == below.size and above.y > below.y
    )
    usual = gaps.most_common(1)[0][0] if gaps else 0.0
    width = max((len(line.text) for line in lines), default=0)
    paragraphs: list[list[_PdfLine]] = []
    for line in lines:
        last = paragraphs[-1][-1] if paragraphs else None
        if (
            last is None
            or abs(last.size - line.size) > 0.5
            or not 0 < last.y - line.y <= max(1.3 * usual, 1.3 * line.size)
            or abs(last.x - line.x) > 60
            or _BULLET.match(line.text)
            or (_ENDS.search(last.text) and len(last.text) < 0.7 * width)
        ):
            paragraphs.append([])
        paragraphs[-1].append(line)
    return paragraphs


def _join(lines: Sequence[_PdfLine]) -> str:
    text = ""
    for line in lines:
        text = _join_texts(text, line.text) if text else _BULLET.sub("", line.text, count=1)
    return text


def _join_texts(before: str, after: str) -> str:
    """Return two lines as one, a word that was divided between them mended."""
    if before.endswith(("-", "‐")) and len(before) > 1 and before[-2].isalpha() and after[:1].islower():
        return before[:-1] + after
    return f"{before} {after}"
