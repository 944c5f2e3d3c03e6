"""
A page of Markdown that has to fit: GitHub takes 65,536 characters of a comment, and 1 MiB of a summary.

A page is made of blocks, and a block of lines that mean something by themselves: rows, items of a list. Only
whole ones are left out, from a block's end, so that no table, fold or escape is cut; how many, and where they
are, is said in their place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MOST_CHARS = 65_000
"""What a comment on GitHub takes, with some room for what others put around it."""
LEAST_CHARS = 2_000
"""A heading and what was left out fit into less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of a page."""

    name: str
    """What it is, in our own words: ``depth table``."""
    head: Sequence[str] = ()
    items: Sequence[str] = ()
    """Lines of which any may be left out."""
    foot: Sequence[str] = ()

    @property
    def size(self) -> int:
        """Characters of the whole block."""
        return _size([*self.head, *self.items, *self.foot])

    def within(self, room: int, *, where: str) -> Iterator[str]:
        """As many lines as *room* has characters for; none, if that is not even one item."""
        if self.size <= room:
            yield from (*self.head, *self.items, *self.foot)
            return
        left = room - _size([*self.head, *self._more(len(self.items), where), *self.foot])
        kept = []
        for item in self.items:
            if (left := left - _size([item])) < 0:
                break
            kept.append(item)
        if kept:
            more = self._more(len(self.items) - len(kept), where)
            yield from (*self.head, *kept, *more, *self.foot)

    def _more(self, count: int, where: str) -> list[str]:
        return ["", f"_{count:,} more lines of this were left out for room: {where}_", ""]


def within(blocks: Sequence[Block], most_chars: int, *, important: Sequence[str], where: str) -> list[str]:
    """
    The lines of *blocks*, at most *most_chars* characters of them with their line breaks.

    Where not all has room, blocks whose names are in *important* come first, in that order; each may take
    half of what is left, and then the first of them the rest. *where* says where everything is.
    """
    if sum(block.size for block in blocks) <= most_chars:
        return [line for block in blocks for line in (*block.head, *block.items, *block.foot)]
    ranks = {name: rank for rank, name in enumerate(important)}
    order = sorted(range(len(blocks)), key=lambda n: ranks.get(blocks[n].name, len(ranks)))
    names = sorted({block.name for block in blocks})
    room = most_chars - _size(_omission_lines(Counter(dict.fromkeys(names, len(blocks))), where))
    given: dict[int, int] = {}
    for n in order:
        given[n] = min(blocks[n].size, room // 2)
        room -= given[n]
    for n in order:
        more = min(blocks[n].size - given[n], room)
        given[n] += more
        room -= more
    shown = [list(block.within(given[n], where=where)) for n, block in enumerate(blocks)]
    dropped = Counter(block.name for block, lines in zip(blocks, shown, strict=True) if not lines)
    return [*(line for lines in shown for line in lines), *_omission_lines(dropped, where)]


def _omission_lines(names: Counter[str], where: str) -> list[str]:
    if not names:
        return []
    said = ", ".join(f"{name} ({count:,})" if count > 1 else name for name, count in names.items())
    return ["", f"_Left out for room: {said}. {where[:1].upper()}{where[1:]}_", ""]


def _size(lines: Sequence[str]) -> int:
    return sum(map(len, lines)) + len(lines)
