"""A document as the synthesis sees it, whatever file it came from, and how readers build one part by part."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from replay.synthesis.documents.prose import (
    IMAGE,
    TextPiece,
    fragment,
    item_sentences,
    leans_on_shown,
    only_links,
    plain,
    sentences,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSentence:
    """One sentence, or the text of one cell."""

    text: str
    """Plain text: no markup, one space between words."""
    start: int
    """Offset of its first character in the section's text."""
    literals: tuple[tuple[int, int], ...] = ()
    """Ranges of *text* that stood as code in the source: names of options, files, commands."""

    @property
    def end(self) -> int:
        """Return the offset after its last character in the section's text."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceParagraph:
    """Sentences that stand together; at least one."""

    sentences: tuple[SourceSentence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceList:
    """A list of at least one item, bulleted, numbered or a term with its definition."""

    items: tuple[SourceParagraph, ...]
    """A definition list's item is ``term: definition``."""
    ordered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """A table with a header; each row has as many cells as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[SourceSentence, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSection:
    """What stands under one heading, up to the next heading: a passage."""

    id: str
    """Unique within all documents: the file's path and the section's number, ``guide.md#3``."""
    headings: tuple[str, ...]
    """The heading and those above it, outermost first; empty before the first heading."""
    text: str
    """All its sentences, items and rows, joined by line breaks between blocks; no code blocks, no markup."""
    start: int
    """Offset in the file's text, in characters."""
    end: int
    blocks: tuple[SourceParagraph | SourceList | SourceTable, ...]

    @property
    def sentences(self) -> Iterator[SourceSentence]:
        """Yield those of paragraphs and items, in order."""
        for block in self.blocks:
            for paragraph in paragraphs_of(block):
                yield from paragraph.sentences


def paragraphs_of(block: SourceParagraph | SourceList | SourceTable) -> tuple[SourceParagraph, ...]:
    """Return the paragraphs of *block*: a list's items, of a table none."""
    if isinstance(block, SourceTable):
        return ()
    return block.items if isinstance(block, SourceList) else (block,)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDocument:
    """One file, or one record of a file that holds several."""

    path: str
    title: str
    sections: tuple[SourceSection, ...]


_NAVIGATION = re.compile(
    r"(?:see also|what['’]?s next|next steps?|further (?:reading|information|resources)|related(?: \w+){0,3}"
    r"|(?:additional |external |useful |more |other |helpful )?(?:links|resources)|(?:table of )?contents|toc"
    r"|learn more|more (?:info|information|reading|about.*)|navigation|bibliography|credits|contributors"
    r"|acknowledge?ments|authors?|indices and tables|index|sources|footnotes|(?:notes and )?references"
    r"|licen[cs]e)[:.]?",
    re.IGNORECASE,
)
"""Headings of sections that point elsewhere."""


@dataclass(frozen=True, slots=True)
class _Items:
    items: tuple[list[TextPiece], ...]
    ordered: bool


@dataclass(frozen=True, slots=True)
class _Rows:
    header: tuple[str, ...]
    rows: tuple[tuple[TextPiece, ...], ...]


class DocumentBuilder:
    """
    A document whose parts come in one by one.

    Texts are marked (see ``prose``); offsets are in the file's text.

    A paragraph's last sentence that ends with a colon introduces what follows. If that is no list and no
    table (code, a picture), the sentence is left out with it.
    """

    def __init__(self, path: str, *, title: str = "") -> None:
        """*path* is the document's, from which its sections' ids are made."""
        self._path = path
        self._title = title
        self._headings: list[tuple[int, str]] = []
        self._sections: list[SourceSection] = []
        self._blocks: list[list[TextPiece] | _Items | _Rows] = []
        self._shown = False
        self._number = 1
        self._start = 0

    def set_title(self, title: str) -> None:
        """Call the document *title*, unless it has a title already."""
        self._title = self._title or plain(title)

    def heading(self, level: int, text: str, start: int) -> None:
        """Begin a section under a heading of *level*, 1 being the outermost, at offset *start*."""
        self._shown = False
        self._end_section(start)
        heading = plain(text)
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        if heading:
            self._headings.append((level, heading))
        if level == 1:
            self.set_title(text)

    def continue_section(self, start: int) -> None:
        """Begin another section under the same headings at offset *start*."""
        self._end_section(start)

    def skip_shown(self) -> None:
        """Leave out code or a picture, and with it the next sentence if it seems to speak of it."""
        self._shown = True

    def paragraph(self, text: str) -> None:
        """Add a paragraph."""
        pieces = sentences(text)
        if self._shown and pieces and leans_on_shown(pieces[0]):
            del pieces[0]
        if pieces:
            self._blocks.append(pieces)
        self._shown = text.rstrip().endswith(IMAGE)

    def item_list(self, items: Sequence[Sequence[str]], *, ordered: bool = False) -> None:
        """
        Add a list of items of some paragraphs each.

        Left out if it is navigation, most of its items being links and nothing else, or if most of what it
        lists is code.
        """
        if 2 * sum(all(map(only_links, item)) for item in items) > len(items):
            return
        kept = [pieces for item in items if (pieces := _item(item))]
        if 2 * len(kept) > len(items):
            self._blocks.append(_Items(tuple(kept), ordered))

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table, its rows cut or filled to the header's length; without a header it is left out."""
        names = tuple(map(plain, header))
        if not any(names):
            return
        kept = []
        for row in rows:
            cells = [fragment(cell) or TextPiece(text=plain(cell)) for cell in row[: len(names)]]
            cells += [TextPiece(text="")] * (len(names) - len(cells))
            if any(cell.text for cell in cells):
                kept.append(tuple(cells))
        if kept:
            self._blocks.append(_Rows(names, tuple(kept)))

    def finish(self, end: int) -> SourceDocument:
        """Return the document, whose text ends at offset *end*."""
        self._end_section(end)
        return SourceDocument(path=self._path, title=self._title, sections=tuple(self._sections))

    def _end_section(self, end: int) -> None:
        headings = tuple(text for _, text in self._headings)
        navigation = any(_NAVIGATION.fullmatch(heading) for heading in headings)
        laid_out = None if navigation else _lay_out(self._blocks)
        if laid_out:
            text, blocks = laid_out
            self._sections.append(
                SourceSection(
                    id=f"{self._path}#{self._number}",
                    headings=headings,
                    text=text,
                    start=self._start,
                    end=end,
                    blocks=blocks,
                )
            )
        self._number += bool(self._headings or self._blocks)
        self._blocks = []
        self._start = end


def line_offsets(source: str) -> list[int]:
    """Return the offset of each line of *source*, and its length."""
    return [0, *accumulate(len(line) + 1 for line in source.split("\n"))]


def _item(paragraphs: Sequence[str]) -> list[TextPiece]:
    first, *rest = paragraphs or [""]
    pieces = _without_lead_in(item_sentences(first))
    for paragraph in rest if pieces else ():
        pieces += _without_lead_in(sentences(paragraph))
    return pieces


def _without_lead_in(pieces: list[TextPiece]) -> list[TextPiece]:
    return pieces[:-1] if pieces and pieces[-1].text.endswith(":") else pieces


def _lay_out(
    parts: Sequence[list[TextPiece] | _Items | _Rows],
) -> tuple[str, tuple[SourceParagraph | SourceList | SourceTable, ...]] | None:
    """Return the section's text and its blocks, sentences with their offsets in it; None if it is empty."""
    lines: list[str] = []
    offset = 0

    def line(pieces: Sequence[TextPiece], between: str) -> tuple[SourceSentence, ...]:
        nonlocal offset
        placed = []
        for piece in pieces:
            placed.append(SourceSentence(text=piece.text, start=offset, literals=piece.literals))
            offset += len(piece.text) + len(between)
        offset += 1 - len(between)
        lines.append(between.join(piece.text for piece in pieces))
        return tuple(placed)

    blocks: list[SourceParagraph | SourceList | SourceTable] = []
    for part, following in zip(parts, [*parts[1:], None], strict=False):
        if isinstance(part, _Items):
            items = [SourceParagraph(sentences=line(item, " ")) for item in part.items]
            blocks.append(SourceList(items=tuple(items), ordered=part.ordered))
        elif isinstance(part, _Rows):
            line([TextPiece(text=name) for name in part.header], CELL_BREAK)
            rows = tuple(line(row, CELL_BREAK) for row in part.rows)
            blocks.append(SourceTable(header=part.header, rows=rows))
        else:
            pieces = part if isinstance(following, _Items | _Rows) else _without_lead_in(part)
            if pieces:
                blocks.append(SourceParagraph(sentences=line(pieces, " ")))
    return ("\n".join(lines), tuple(blocks)) if blocks else None


CELL_BREAK = "; "
