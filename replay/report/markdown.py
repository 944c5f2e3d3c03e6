"""
A document as GitHub's Markdown, for a comment on a pull request.

Names come from scenarios, data and systems, so none of their characters may mean anything: alone they
stand in code spans, within sentences they are escaped. In a code span nothing is a link, a mention, an
issue's number or HTML (GitHub Flavored Markdown, section 6.3).

A comment has to fit: GitHub takes 65,536 characters of one, and 1 MiB of a summary. It is made of parts, and
a part of lines that mean something by themselves: rows, items of a list. Only whole ones are left out, from
a part's end, so that no table, fold or escape is cut; how many, and where they are, is said in their place.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from replay.core.terminal import on_one_line
from replay.report import MOST_CHARS
from replay.report.compare_document import comparison_document
from replay.report.document import (
    Block,
    Cases,
    Inline,
    Item,
    ItemList,
    Name,
    Pairs,
    Paragraph,
    PlainLines,
    ReportDocument,
    ReportSection,
    Table,
    with_remarks,
)
from replay.report.printing import LAYOUTS, TextColumn, shorten
from replay.report.run_document import run_document
from replay.scenario.assertions.findings import AssertionResult
from replay.statistics.recorded import VERDICTS
from replay.statistics.run_comparison import ComparisonReport
from replay.statistics.run_numbers import Report

LONGEST = 300
"""Characters of a question, an answer, a finding or a run's name."""
RUN_ORDER = (
    "assertions", "totals", "conclusions", "failures", "recorded", "worse turns", "checks", "failed checks",
    "differences", "depth table", "turn groups", "survival", "interventions", "simulations", "server times",
    "plays", "nothing", "notes", "signatures",
)  # fmt: skip
COMPARISON_ORDER = ("gate", "checks", "differences", "notes")
"""The sections that are shown. Pairs stay in their order: what changed of the checks of each comes first."""
RUN_IMPORTANT = (
    "heading", "totals", "conclusions", "assertions", "failures", "recorded", "worse turns", "checks",
    "failed checks", "differences", "notes",
)  # fmt: skip
"""What is shown first where not all has room."""
COMPARISON_IMPORTANT = ("heading", "gate", "differences", "checks")
RUN_WHERE = "`replay report RUN` and its `--html` have all of it"
COMPARISON_WHERE = "`replay compare` without `--markdown` has all of it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
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
        """
        Yield as many lines as fit into *room* characters; none if not even one item fits.

        Args:
            where: Named in the line that counts omitted items: where they can be found.
        """
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


def within(blocks: Sequence[Part], most_chars: int, *, important: Sequence[str], where: str) -> list[str]:
    """
    Return the lines of *blocks*, at most *most_chars* characters of them with their line breaks.

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


def markdown_report(
    report: Report, *, title: str, results: Sequence[AssertionResult] = (), most_chars: int = MOST_CHARS
) -> str:
    """
    Return *report* under a heading that names *title*; what became of assertions comes first.

    Not longer than *most_chars*, at least 2,000; what had no room is counted in its place.
    """
    document = run_document(report, title=title, results=results)
    parts = _parts(document.title, document.select(RUN_ORDER))
    return "\n".join(within(parts, most_chars, important=RUN_IMPORTANT, where=RUN_WHERE))


def comparison_markdown(
    report: ComparisonReport, *, gate: Sequence[str] = (), most_chars: int = MOST_CHARS
) -> str:
    """
    Return *report* under a heading that names both runs; first *gate*, lines on what the build fails on.

    Not longer than *most_chars*, at least 2,000; what had no room is counted in its place.
    """
    document = comparison_document(report, gate=gate)
    parts = _parts(document.title, [one for one in document.sections if one.name in COMPARISON_ORDER])
    return "\n".join(within(parts, most_chars, important=COMPARISON_IMPORTANT, where=COMPARISON_WHERE))


def document_markdown(document: ReportDocument) -> str:
    """Return all of *document* under its title."""
    parts = _parts(document.title, document.sections)
    return "\n".join(line for part in parts for line in (*part.head, *part.items, *part.foot))


def _parts(title: Inline, sections: Sequence[ReportSection]) -> list[Part]:
    remarks = [remark for section in sections for remark in section.remarks]
    heading = Part(name="heading", head=[f"### {_inline(title)}", ""])
    return [heading, *(_part(with_remarks(section, remarks)) for section in sections)]


def _part(section: ReportSection) -> Part:
    """Return *section*: its first table or list may be cut short, and lists that follow a table at once."""
    head: list[str] = []
    items: list[str] = []
    foot: list[str] = []
    title = section.lead + _inline(section.title, folded=section.folded)
    if section.folded:
        # The empty lines make what is inside Markdown again.
        head = [f"<details><summary>{title}</summary>", ""]
    elif title:
        head = [f"**{title}**", ""]
    for block in section.blocks:
        lines = _lines(block)
        if isinstance(block, Paragraph | PlainLines):
            text = [part for line in lines for part in (line, "")]
            if items:
                foot += ["", *text[:-1]]
            else:
                head += text
        elif isinstance(block, Table):
            head += lines[:2]
            items += lines[2:]
        else:
            items += [*([""] if items and items[-1].startswith("|") else []), *lines]
    if section.folded:
        foot += ["", "</details>"]
    return Part(name=section.name, head=head, items=items, foot=[*foot, ""] if items or foot else foot)


def _lines(block: Block) -> list[str]:
    match block:
        case Paragraph():
            return [escape_markdown(sentence) for sentence in block.sentences]
        case PlainLines():
            return [escape_markdown(line) for line in block.lines]
        case ItemList():
            return [line for item in block.items for line in _item(item)]
        case Pairs():
            return [f"- {code(name)}: {code(text)}" for name, text in block.texts.items()]
        case Cases():
            lines = []
            for case in block.cases:
                lines.append(f"- {escape_markdown(shorten(case.title, LONGEST))}")
                lines += [
                    f"  - {name}: {escape_markdown(shorten(text, LONGEST))}" for name, text in case.texts
                ]
            return [*lines, *([f"- {escape_markdown(block.more)}"] if block.more else [])]
        case Table():
            columns = block.columns(LAYOUTS[0])
            named = [as_code(one) for one in columns[: block.named]]
            return markdown_table([*named, *columns[block.named :]], named=block.named)
        case _:
            return []


def _item(item: str | Item, indent: str = "") -> Iterator[str]:
    if isinstance(item, str):
        yield f"{indent}- {escape_markdown(item)}"
        return
    mark = f"{'**FAILED**' if item.mark == 'FAILED' else item.mark}: " if item.mark else ""
    yield f"{indent}- {mark}{escape_markdown(item.text)}"
    for below in item.below:
        yield from _item(below, f"{indent}  ")


def _inline(text: Inline, *, folded: bool = False) -> str:
    """Return a title, names in it as code; of a fold as HTML, which is not looked at for Markdown."""
    write = _html if folded else code
    parts = (text,) if isinstance(text, str) else text
    return "".join(write(one[:LONGEST]) if isinstance(one, Name) else one for one in parts)


def code(text: str, *, cell: bool = False) -> str:
    """Return *text* as a code span, which shows it letter by letter; also in the *cell* of a table."""
    shown = on_one_line(text)
    if cell and "|" in shown:
        # It would end the cell even in a code span, and escaped by a backslash after another one.
        return f"<code>{re.sub(r'[^a-zA-Z0-9 ]', lambda found: f'&#{ord(found[0])};', shown)}</code>"
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    edge = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) or not shown else ""
    return f"{ticks}{edge}{shown}{edge}{ticks}"


def escape_markdown(text: str) -> str:
    """Return *text* within a sentence; it looks as it is and makes nothing happen."""
    shown = re.sub(r"([\\`*_{}\[<|~&$]|:(?=\S))", r"\\\1", on_one_line(text).strip())
    # Mentions and issue numbers are found after escapes are gone; a comment within breaks them.
    shown = re.sub(r"[@#]", lambda found: f"{found[0]}<!-- -->", shown)
    shown = re.sub(r"\b(www)\.", r"\1\\.", shown, flags=re.IGNORECASE)
    return re.sub(r"^([-+>]|[0-9]+(?=[.)]))", lambda found: _opening(found[0]), shown)


def _opening(mark: str) -> str:
    """Return *mark*, the beginning of a line, escaped so that it begins no list or quotation."""
    return f"\\{mark}" if mark in "-+>" else f"{mark}<!-- -->"


def as_code(named: TextColumn) -> TextColumn:
    """Return a column of names, made Markdown."""
    return replace(named, cells=tuple(code(cell, cell=True) for cell in named.cells))


def _html(text: str) -> str:
    """Return *text* as HTML that is not looked at for Markdown, mentions or links."""
    return f"<code>{html.escape(on_one_line(text))}</code>"


def markdown_table(columns: Sequence[TextColumn], *, named: int = 0) -> list[str]:
    """Return *columns* as a table; the first *named* columns hold Markdown already, the others text."""
    rows = zip(*(column.cells for column in columns), strict=True)
    heads = [_head(column.head) for column in columns]
    lines = [_row(heads), _row([":--" if column.left else "--:" for column in columns])]
    for row in rows:
        lines.append(
            _row(cell if at < named else _format_name(cell, columns[at]) for at, cell in enumerate(row))
        )
    return lines


def _head(name: str) -> str:
    counts = ("turns", "invalid %", "edited %", "failed", "unreached", "passed", "not looked at")
    compared = ("score", "A", "B", "B - A", "p", "p Holm")
    data = ("Size", "Kinds of questions", "Question words", "Left out, by reason", "References")
    columns = ("figures", "words", "anaphora %", "ellipsis %", "leaning %")
    times = ("latency", "TTFT", "queue", "prefill", "decode", "server", "server %")
    own = ("depth", "system", "policy", "checks", "cases", "incomplete", *VERDICTS)
    ours = (*own, *counts, *compared, *data, *columns, *times)
    return name if name in ours else code(name, cell=True)


def _format_name(cell: str, column: TextColumn) -> str:
    text = " ".join(cell.split())
    return code(text, cell=True) if column.head == "policy" else text.replace("[", r"\[")


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
