"""
A document in a notebook: HTML without scripts that loads nothing, and figures as Plotly shows them there.

Texts come from data and systems: each is escaped where it is put in, and written visibly, as on a terminal.
The HTML has no colours of its own, so that it is as light or dark as the notebook.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any

from replay.core.terminal import escape_unprintable
from replay.report.charts import with_colors
from replay.report.document import (
    Block,
    Cases,
    ChartFigure,
    Item,
    ItemList,
    Pairs,
    Paragraph,
    PlainLines,
    ReportDocument,
    ReportSection,
    Table,
    plain_text,
    with_remarks,
)
from replay.report.printing import LAYOUTS, TextColumn

ORDER = (
    "gate", "totals", "load", "limits", "conclusions", "differences", "recorded", "worse turns", "checks",
    "failures", "scores", "depth table", "turn groups", "survival", "interventions", "simulations",
    "server times", "nothing", "goals", "notes", "signatures",
)  # fmt: skip
"""The sections that are shown."""
FOLDED = (
    "depth table", "turn groups", "survival", "interventions", "server times", "notes", "signatures",
)  # fmt: skip
MOST_SECTIONS = 8
"""Systems and policies with a depth table, and pairs that are compared."""
MOST_ROWS = 60
"""Rows of a table, beside that of all depths."""

STYLE = """
.convreplay { font-size: 13px; line-height: 1.45; color: inherit; }
.convreplay .head { margin: .6em 0 .3em; font-size: 14px; font-weight: bold; }
.convreplay .wide { overflow-x: auto; }
.convreplay table { border-collapse: collapse; margin: 0 0 .8em; font-variant-numeric: tabular-nums; }
.convreplay table caption { text-align: left; padding: .2em 0; caption-side: top; color: inherit; }
.convreplay table th, .convreplay table td {
  padding: .15em .9em .15em 0; text-align: left; white-space: nowrap; color: inherit; background: none;
  border: 0; border-bottom: 1px solid rgba(128, 128, 128, .3);
}
.convreplay table .n { text-align: right; }
.convreplay tbody th { font-weight: normal; }
.convreplay summary { cursor: pointer; }
.convreplay ul { margin: .2em 0 .6em; padding-left: 1.4em; }
""".strip()


def document_html(document: ReportDocument, *, all_at: str) -> str:
    """
    Return *document* as HTML.

    Args:
        document: What is shown; its figures are not.
        all_at: The call that gives what there is no room for, as ``run.depth_table()``.
    """
    sections = document.select(ORDER)
    remarks = [remark for section in sections for remark in section.remarks]
    body = [f'<p class="head">{_text(plain_text(document.title))}</p>']
    left_out: list[str] = []
    for name in ORDER:
        found = [section for section in sections if section.name == name]
        body += [_section(with_remarks(one, remarks), len(found) == 1) for one in found[:MOST_SECTIONS]]
        if (more := len(found) - MOST_SECTIONS) > 0:
            left_out.append(f"{more:,} more {name}s")
        longest = max((_rows(one) for one in found), default=0)
        if longest > MOST_ROWS + 1:
            left_out.append(f"{longest - MOST_ROWS - 1:,} more rows of {name}s")
    if left_out:
        body.append(_list([f"{', '.join(left_out)}: {all_at} has all."]))
    # A notebook's MathJax, which would set ``$...$`` of somebody's text, is kept out.
    shown = "\n".join(part for part in body if part)
    style = f"<style>{STYLE}</style>"
    return f'<div class="convreplay tex2jax_ignore mathjax_ignore">\n{style}\n{shown}\n</div>'


def figures_of(document: ReportDocument) -> list[dict[str, Any]]:
    """Return the figures of *document* with colours that can be seen on light and on dark ground."""
    blocks = [block for section in document.sections for block in section.blocks]
    return [with_colors(block.title, block.figure) for block in blocks if isinstance(block, ChartFigure)]


def show(bundle: dict[str, str], document: ReportDocument) -> None:
    """Show *bundle*, then the figures of *document*, in the notebook that runs this."""
    from IPython.display import display

    display(bundle, raw=True)
    if not (figures := figures_of(document)):
        return
    if find_spec("nbformat") is None:
        display({"text/plain": "for charts, Plotly needs nbformat: pip install nbformat"}, raw=True)
        return
    import plotly.io  # type: ignore[import-untyped]

    for figure in figures:
        plotly.io.show(figure, validate=False)


def _rows(section: ReportSection) -> int:
    tables = [block.columns(LAYOUTS[0]) for block in section.blocks if isinstance(block, Table)]
    return max((len(columns[0].cells) for columns in tables if columns), default=0)


def _section(section: ReportSection, alone: bool) -> str:
    title = section.lead + plain_text(section.title)
    content = "".join(_block(block, title) for block in section.blocks)
    if section.name in FOLDED:
        is_open = " open" * (alone and section.name == "depth table")
        return f"<details{is_open}><summary>{_text(title)}</summary>{content}</details>"
    return f'<p class="head">{_text(title)}</p>{content}' if title else content


def _block(block: Block, title: str) -> str:
    match block:
        case Paragraph():
            return "".join(f"<p>{_text(sentence)}</p>" for sentence in block.sentences)
        case PlainLines():
            return _list(block.lines)
        case ItemList():
            return _list(block.items)
        case Pairs():
            return _list(f"{name}: {text}" for name, text in block.texts.items())
        case Cases():
            cases = [Item(one.title, [f"{n}: {text or ''}" for n, text in one.texts]) for one in block.cases]
            return _list([*cases, *([Item(block.more)] if block.more else [])])
        case Table():
            return _table(block.columns(LAYOUTS[0]), title)
        case ChartFigure():
            return ""


def _text(text: str) -> str:
    """Return *text* as HTML, in which nothing hides."""
    return html.escape(escape_unprintable(text))


def _list(items: Iterable[str | Item]) -> str:
    found = "".join(
        f"<li>{_text(str(item))}{_list(item.below) if isinstance(item, Item) else ''}</li>\n"
        for item in items
    )
    return f"<ul>{found}</ul>" if found else ""


def _table(columns: Sequence[TextColumn], label: str) -> str:
    """Return *columns*, the first of which says what a row is about; of very many rows the first and last."""
    kinds = ["" if column.left else ' class="n"' for column in columns]
    heads = "".join(f'<th scope="col"{k}>{_text(c.head)}</th>' for c, k in zip(columns, kinds, strict=True))
    rows = list(zip(*(column.cells for column in columns), strict=True))
    if len(rows) > MOST_ROWS + 1:
        rows[MOST_ROWS:-1] = []
    body = "".join(_row(cells, kinds) for cells in rows)
    return (
        f'<div class="wide" tabindex="0"><table aria-label="{_text(label)}">'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def _row(cells: Sequence[str], kinds: Sequence[str]) -> str:
    first, *others = (f"{kind}>{_alignment_padding(cell)}" for cell, kind in zip(cells, kinds, strict=True))
    return f'<tr><th scope="row"{first}</th>{"".join(f"<td{one}</td>" for one in others)}</tr>\n'


def _alignment_padding(cell: str) -> str:
    """Return spaces that set a number's point below the others', as wide as a digit; HTML would drop them."""
    bare = cell.lstrip(" ")
    return "\u2007" * (len(cell) - len(bare)) + _text(bare)
