"""
The tables of a run's report as LaTeX, for a paper: the depth tables, all depths, and the differences to gold.

Rules are those of the package booktabs. Names come from scenarios and data, so every character that means
something to TeX is escaped. What one has to know to read the numbers, and the signatures that name all
settings behind them, stand beside the tables as comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from replay import __version__
from replay.core.terminal import on_one_line
from replay.report.document import BARS, NO_BAR, ItemList, Pairs, ReportSection, Table, plain_text
from replay.report.printing import LAYOUTS, TextColumn
from replay.report.run_document import run_document
from replay.statistics.run_numbers import Report

TABLES = ("totals", "differences", "depth table", "turn groups")
"""The sections that are shown, in this order."""
SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}

BARS_BEHIND = re.compile(rf" [{BARS}{NO_BAR}]+$")
"""A trend, for which TeX's fonts have no characters."""


def escape_latex(text: str) -> str:
    """Return *text* on one line; TeX sets each of its characters as it is."""
    return "".join(SPECIAL.get(character, character) for character in on_one_line(text))


def latex_report(report: Report, *, title: str) -> str:
    """
    Return the tables of *report*, of the run called *title*, as floats of LaTeX.

    Labels are ``tab:TITLE-1`` and so on, with hyphens in place of the title's other characters than letters
    and digits.
    """
    document = run_document(report, title=title)
    name = re.sub(r"[^A-Za-z0-9]+", "-", title).strip("-") or "run"
    lines = [
        f"% {on_one_line(title)}: replay report --latex, convreplay {__version__}.",
        r"% The preamble needs \usepackage[T1]{fontenc} and \usepackage{booktabs}.",
    ]
    for section in document.select(("notes", "signatures")):
        lines += [f"% {on_one_line(line)}" for line in _comments(section)]
    number = 0
    for section in document.select(TABLES):
        for block in section.blocks:
            if isinstance(block, Table):
                number += 1
                lines += ["", *_float(section, block, f"tab:{name}-{number}")]
    return "\n".join(lines)


def _comments(section: ReportSection) -> Iterator[str]:
    for block in section.blocks:
        if isinstance(block, ItemList):
            yield from map(str, block.items)
        elif isinstance(block, Pairs):
            yield from (f"{name}: {text}" for name, text in block.texts.items())


def _float(section: ReportSection, table: Table, label: str) -> Iterator[str]:
    columns = [
        one
        if place < table.named
        else replace(one, cells=tuple(BARS_BEHIND.sub("", cell) for cell in one.cells))
        for place, one in enumerate(table.columns(LAYOUTS[0]))
    ]
    yield from (
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{escape_latex(section.lead + plain_text(section.title))}}}",
        rf"  \label{{{label}}}",
        rf"  \begin{{tabular}}{{{''.join('l' if one.left else 'r' for one in columns)}}}",
        r"    \toprule",
        f"    {_row([one.head for one in columns])}",
        r"    \midrule",
    )
    rows = [f"    {_row(row)}" for row in _cells(columns)]
    if table.total and len(rows) > 1:
        rows.insert(-1, r"    \midrule")
    yield from rows
    yield from (r"    \bottomrule", r"  \end{tabular}", r"\end{table}")


def _cells(columns: Sequence[TextColumn]) -> Iterator[Sequence[str]]:
    return zip(*(one.cells for one in columns), strict=True)


def _row(cells: Sequence[str]) -> str:
    # A star or bracket behind the end of the row before it would belong to that; an empty group parts them.
    return " & ".join(f"{{}}{_cell(cell)}" if cell[:1] in "*[" else _cell(cell) for cell in cells) + r" \\"


def _cell(text: str) -> str:
    """Return *text*, a minus before a number as one and not as a hyphen."""
    return re.sub(r"(?<![^\s\[])-(?=[0-9.])", "$-$", escape_latex(" ".join(text.split())))
