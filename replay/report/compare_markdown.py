"""A comparison as GitHub's Markdown, for a comment on a pull request: what changed of checks comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from replay.report.changed_checks_text import change_texts, change_title
from replay.report.checks_text import MOST
from replay.report.columns import LAYOUTS
from replay.report.compare_text import comparison_columns, comparison_notes
from replay.report.markdown import (
    LONGEST,
    as_code,
    code,
    details_block,
    escape_markdown,
    markdown_table,
    table_block,
)
from replay.report.markdown_limit import MOST_CHARS, Block, within
from replay.report.printing import shorten
from replay.report.rewriting_text import change_sentence
from replay.statistics.changed_checks import ChangedChecks
from replay.statistics.run_comparison import ComparisonReport

IMPORTANT = ("heading", "differences", "checks")
WHERE = "`replay compare` without `--markdown` has all of it"


def comparison_markdown(
    report: ComparisonReport, *, gate: Sequence[str] = (), most_chars: int = MOST_CHARS
) -> str:
    """
    *report* under a heading that names both runs; first *gate*, lines on what the build fails on.

    Not longer than *most_chars*, at least 2,000; what had no room is counted in its place.
    """
    first, second = (name[:LONGEST] for name in report.runs)
    names = f"A: {code(first)}" if first == second else f"A: {code(first)}, B: {code(second)}"
    lines = [f"- {escape_markdown(line)}" for line in gate]
    blocks = [Block(name="heading", head=[f"### {names}", ""], items=lines, foot=[""])]
    for pair in report.pairs:
        a, b = code(str(pair.first)), code(str(pair.second))
        if pair.checks:
            head = [f"**{b} (B) against {a} (A)**", "", f"Checks: {escape_markdown(pair.checks.summary)}", ""]
            blocks.append(Block(name="checks", head=head, items=list(_checks(pair.checks)), foot=[""]))
        scores, *numbers = comparison_columns(pair, LAYOUTS[0])
        table = markdown_table([as_code(scores), *numbers], named=1)
        heading = f"**{b} (B) minus {a} (A), on the same turns**"
        said = ["", escape_markdown(change_sentence(pair)), ""]
        blocks.append(replace(table_block("differences", heading, table), foot=said))
    notes = [f"- {escape_markdown(sentence)}" for sentence in comparison_notes(report)]
    blocks.append(details_block("notes", "Notes", items=notes))
    return "\n".join(within(blocks, most_chars, important=IMPORTANT, where=WHERE))


def _checks(changed: ChangedChecks) -> Iterator[str]:
    for name, found in changed.changes.items():
        for one in found[:MOST]:
            yield f"- {escape_markdown(shorten(change_title(name, one), LONGEST))}"
            for said, text in change_texts(one).items():
                yield f"  - {said}: {escape_markdown(shorten(text, LONGEST))}"
        if (more := len(found) - MOST) > 0:
            yield f"- and {more:,} more {name}; `replay compare --json` has all"
