"""
The pieces of HTML that a notebook is shown, and their style.

Texts come from data and systems: each is escaped where it is put in, and written visibly, as on a terminal.
What is shown brings no script, loads nothing and has no colours of its own but those of curves, so that it is
as light or dark as the notebook.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from replay.core.terminal import escape_unprintable
from replay.report.columns import TextColumn

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
.convreplay .curves { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 0 0 .4em; }
.convreplay .legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 16px; padding: 0; }
.convreplay .legend li, .convreplay .legend svg { display: inline-flex; align-items: center; gap: 6px; }
.convreplay svg text { font-size: 11px; fill: currentColor; }
""".strip()


def display(parts: Iterable[str]) -> str:
    """All of it; a notebook's MathJax, which would set ``$...$`` of somebody's text, is kept out."""
    body = "\n".join(part for part in parts if part)
    style = f"<style>{STYLE}</style>"
    return f'<div class="convreplay tex2jax_ignore mathjax_ignore">\n{style}\n{body}\n</div>'


def text(said: str) -> str:
    """*said* as HTML, in which nothing hides."""
    return html.escape(escape_unprintable(said))


def table(columns: Sequence[TextColumn], caption: str, *, under_summary: bool = False) -> str:
    """*columns* with *caption*, which a summary above may say already; the first says what a row is about."""
    if not columns:
        return ""
    kinds = ["" if column.left else ' class="n"' for column in columns]
    heads = "".join(f'<th scope="col"{k}>{text(c.head)}</th>' for c, k in zip(columns, kinds, strict=True))
    rows = [_row(cells, kinds) for cells in zip(*(column.cells for column in columns), strict=True)]
    shown = "" if under_summary else f"<caption>{text(caption)}</caption>"
    label = f' aria-label="{text(caption)}"' if under_summary else ""
    return (
        f'<div class="wide" tabindex="0"><table{label}>{shown}'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _row(cells: Sequence[str], kinds: Sequence[str]) -> str:
    first, *others = (f"{kind}>{_alignment_padding(cell)}" for cell, kind in zip(cells, kinds, strict=True))
    return f'<tr><th scope="row"{first}</th>{"".join(f"<td{one}</td>" for one in others)}</tr>\n'


def _alignment_padding(cell: str) -> str:
    """Spaces that set a number's point below the others', as wide as a digit; HTML would drop them."""
    bare = cell.lstrip(" ")
    return "\u2007" * (len(cell) - len(bare)) + text(bare)


def heading(said: str) -> str:
    """No element of that name: what stands above it in a notebook is not known."""
    return f'<p class="head">{text(said)}</p>'


def bullet_list(items: Iterable[str]) -> str:
    found = "".join(f"<li>{text(item)}</li>\n" for item in items)
    return f"<ul>{found}</ul>" if found else ""


def details(summary: str, content: str, *, is_open: bool = False) -> str:
    """*content*, which is HTML, once somebody asks for it."""
    start = f"<details{' open' * is_open}><summary>{text(summary)}</summary>"
    return f"{start}{content}</details>" if content else ""
