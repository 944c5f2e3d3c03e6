"""A comparison as GitHub's Markdown, for a comment on a pull request: what changed of checks comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replay.report.changed_checks_text import change_texts, change_title
from replay.report.checks_text import MOST
from replay.report.columns import LAYOUTS, column
from replay.report.compare_text import compared_columns, comparison_notes
from replay.report.markdown import LONGEST, code, escaped, folded, markdown_table
from replay.report.printing import shortened
from replay.statistics.changed_checks import ChangedChecks
from replay.statistics.run_comparison import ComparisonReport


def comparison_markdown(report: ComparisonReport, *, gate: Sequence[str] = ()) -> str:
    """*report* under a heading that names both runs; first *gate*, lines on what the build fails on."""
    first, second = report.runs
    names = f"A: {code(first)}" if first == second else f"A: {code(first)}, B: {code(second)}"
    lines = [f"### {names}", "", *(f"- {escaped(line)}" for line in gate), ""]
    for pair in report.pairs:
        lines += [
            f"**{code(str(pair.second))} (B) minus {code(str(pair.first))} (A), on the same turns**",
            "",
        ]
        if pair.checks:
            lines += [*_checks(pair.checks), ""]
        scores, *numbers = compared_columns(pair, LAYOUTS[0])
        named = column("score", (code(cell, cell=True) for cell in scores.cells), left=True)
        lines += [*markdown_table([named, *numbers], named=1), ""]
    notes = [f"- {escaped(sentence)}" for sentence in comparison_notes(report)]
    return "\n".join([*lines, *folded("Notes", notes)])


def _checks(changed: ChangedChecks) -> Iterator[str]:
    yield f"Checks: {escaped(changed.said)}"
    yield ""
    for name, found in changed.changes.items():
        for one in found[:MOST]:
            yield f"- {escaped(shortened(change_title(name, one), LONGEST))}"
            for said, text in change_texts(one).items():
                yield f"  - {said}: {escaped(shortened(text, LONGEST))}"
        if (more := len(found) - MOST) > 0:
            yield f"- and {more:,} more {name}; `replay compare --json` has all"
