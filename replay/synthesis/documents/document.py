"""A document as the synthesis sees it, whatever file it came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

LARGEST_MB = 20
"""Larger files are left out unless one says otherwise; millions of bytes."""


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
