"""
A report as GitHub's Markdown, for a comment on a pull request: depth tables, gaps, failures, signatures.

Names come from scenarios, data and systems, so none of their characters may mean anything: alone they
stand in code spans, within sentences they are escaped. In a code span nothing is a link, a mention, an
issue's number or HTML (GitHub Flavored Markdown, section 6.3).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from replay.core.terminal import on_one_line
from replay.report.assertions_text import assertion_count, lines_against
from replay.report.checks_text import (
    MOST,
    by_group,
    failed_turns,
    group_count_columns,
    more_lines,
    unchecked_lines,
)
from replay.report.columns import LAYOUTS, TextColumn
from replay.report.depth_cells import (
    depth_columns,
    gap_columns,
    interval_note,
    latency_lines,
    scale_note,
    total_columns,
)
from replay.report.failure_text import failure_lines
from replay.report.interventions_text import intervention_columns
from replay.report.markdown_limit import MOST_CHARS, Block, within
from replay.report.notes import notes
from replay.report.passed_checks import without_passed_checks
from replay.report.printing import shorten
from replay.report.repeats_text import pass_columns, repeat_spread_columns
from replay.report.rewriting_text import conclusions
from replay.report.survival_text import TITLE, survival_columns
from replay.report.trends import trend_notes, with_trends
from replay.scenario.assertions.findings import AssertionResult
from replay.statistics.checks import Checks
from replay.statistics.repeats import RepeatNumbers
from replay.statistics.run_numbers import Report

LONGEST = 300
"""Characters of a question, an answer or a finding."""
MANY_ROWS = 12
"""A depth table with more rows is folded, so that a comment stays short."""


IMPORTANT = ("heading", "totals", "assertions", "failures", "checks", "failed checks", "differences", "notes")
"""What is shown first where not all has room."""
WHERE = "`replay report RUN` and its `--html` have all of it"


def markdown_report(
    report: Report,
    *,
    title: str,
    results: Sequence[AssertionResult] = (),
    most_chars: int = MOST_CHARS,
) -> str:
    """
    *report* under a heading that names *title*; what became of assertions comes first.

    Not longer than *most_chars*, at least 2,000; what had no room is counted in its place.
    """
    blocks = _blocks(without_passed_checks(report), title, results)
    return "\n".join(within(blocks, most_chars, important=IMPORTANT, where=WHERE))


def _blocks(report: Report, title: str, results: Sequence[AssertionResult]) -> list[Block]:
    blocks = [Block(name="heading", head=[f"### {code(title[:LONGEST])}", ""]), *_assertions(results)]
    if not report.table.groups:
        said = [f"- {escape_markdown(sentence)}" for sentence in report.remarks]
        nothing = ["No turn has been asked yet.", *([""] if said else [])]
        return [*blocks, Block(name="notes", head=nothing, items=said, foot=[""])]
    said = ["", *(line for one in conclusions(report) for line in (escape_markdown(one), ""))]
    totals = table_block("totals", "**All depths**", _totals(report))
    blocks.append(totals if report.gaps else replace(totals, foot=said))
    if report.failures:
        reasons = [f"- {escape_markdown(line)}" for line in failure_lines(report.failures)]
        blocks.append(Block(name="failures", head=["**Failures**", ""], items=reasons, foot=[""]))
    blocks += _checks(report.checks) if report.checks else []
    if report.gaps:
        baseline = ", ".join(dict.fromkeys(code(gap.first.policy) for gap in report.gaps))
        heading = f"**Against {baseline}, on the same turns**"
        table = table_block("differences", heading, markdown_table(gap_columns(report.gaps)))
        blocks.append(replace(table, foot=said))
    blocks += _depths(report)
    if report.survival:
        survival = markdown_table(survival_columns(report.survival))
        blocks.append(table_block("survival", f"**{TITLE}**", survival))
    for one in report.interventions:
        heading = f"**Interventions: {code(one.group.system)}, {code(one.group.policy)}**"
        blocks.append(table_block("interventions", heading, markdown_table(intervention_columns(one))))
    blocks += _repeats(report.repeats) if report.repeats else []
    said = [scale_note(report.table), interval_note(report.table), *trend_notes(report.table), *notes(report)]
    items = [f"- {escape_markdown(sentence)}" for sentence in said]
    blocks.append(Block(name="notes", head=["**Notes**", ""], items=items, foot=[""]))
    scores = {name: column.signature for name, column in report.table.columns.items()}
    rows = [f"- {code(name)}: {code(one)}" for name, one in {**scores, **report.signatures}.items()]
    return [*blocks, details_block("signatures", "Signatures", items=rows)]


def table_block(name: str, heading: str, table: Sequence[str]) -> Block:
    """A table, whose first two lines are its own heading."""
    return Block(name=name, head=[heading, "", *table[:2]], items=table[2:], foot=[""])


def details_block(
    name: str, summary: str, *, head: Sequence[str] = (), items: Sequence[str], foot: Sequence[str] = ()
) -> Block:
    """*items* between *head* and *foot*, shown once somebody asks for them."""
    *start, end, last = details(summary, [])
    return Block(name=name, head=[*start[:2], *head], items=items, foot=[*foot, "", end, last])


def code(text: str, *, cell: bool = False) -> str:
    """*text* as a code span, which shows it letter by letter; also in the *cell* of a table."""
    shown = on_one_line(text)
    if cell and "|" in shown:
        # It would end the cell even in a code span, and escaped by a backslash after another one.
        return f"<code>{re.sub(r'[^a-zA-Z0-9 ]', lambda found: f'&#{ord(found[0])};', shown)}</code>"
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    edge = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) or not shown else ""
    return f"{ticks}{edge}{shown}{edge}{ticks}"


def escape_markdown(text: str) -> str:
    """*text* within a sentence; it looks as it is and makes nothing happen."""
    shown = re.sub(r"([\\`*_{}\[<|~&$]|:(?=\S))", r"\\\1", on_one_line(text).strip())
    # Mentions and issue numbers are found after escapes are gone; a comment within breaks them.
    shown = re.sub(r"[@#]", lambda found: f"{found[0]}<!-- -->", shown)
    shown = re.sub(r"\b(www)\.", r"\1\\.", shown, flags=re.IGNORECASE)
    return re.sub(r"^([-+>]|[0-9]+(?=[.)]))", lambda found: _opening(found[0]), shown)


def _opening(mark: str) -> str:
    """What would begin a list or a quotation, at the beginning of a line."""
    return f"\\{mark}" if mark in "-+>" else f"{mark}<!-- -->"


def _assertions(results: Sequence[AssertionResult]) -> list[Block]:
    if not results:
        return []
    lines = []
    for one in sorted(results, key=lambda one: one.holds):
        lines.append(f"- {'ok' if one.holds else '**FAILED**'}: {escape_markdown(one.assertion.title)}")
        for finding in one.findings:
            lines.append(f"  - {escape_markdown(f'{finding.group}: {finding.summary}')}")
            lines += [f"    - {escape_markdown(line)}" for line in lines_against(finding)]
    head = [f"**{assertion_count(results)}**", ""]
    return [Block(name="assertions", head=head, items=lines, foot=[""])]


def _checks(checks: Checks) -> list[Block]:
    groups = by_group(checks)
    columns = group_count_columns(checks)
    table = markdown_table([*map(as_code, columns[:3]), *columns[3:]], named=3)
    reasons = [
        f"- {escape_markdown(f'{group}: {line}')}"
        for group, found in groups.items()
        for line in unchecked_lines(found)
    ]
    counts = Block(
        name="checks",
        head=["**Checks**", "", *table[:2]],
        items=[*table[2:], *([""] if reasons else []), *reasons],
        foot=[""],
    )
    turns = failed_turns(checks.failed)
    lines = []
    for one in turns[:MOST]:
        lines.append(f"- {escape_markdown(shorten(one.title(names_groups=len(groups) > 1), LONGEST))}")
        lines += [f"  - {name}: {escape_markdown(shorten(text, LONGEST))}" for name, text in one.texts]
    lines += [f"- {escape_markdown(line)}" for line in more_lines(turns)]
    if not turns:
        return [counts]
    return [counts, Block(name="failed checks", head=["**Failed checks**", ""], items=lines, foot=[""])]


def _totals(report: Report) -> list[str]:
    """One row for each system and policy: what a reviewer looks at first."""
    system, policy, turns, *others = total_columns(report.table)
    count = len(report.table.columns)
    scores = with_trends(others[:count], report.table)
    named = map(as_code, (system, policy))
    return markdown_table([*named, turns, *scores, *others[count:]], named=2)


def as_code(named: TextColumn) -> TextColumn:
    """A column of names, made Markdown."""
    return replace(named, cells=tuple(code(cell, cell=True) for cell in named.cells))


def _depths(report: Report) -> Iterator[Block]:
    for group in report.table.groups:
        table = markdown_table(depth_columns(group, report.table))
        below = ["", *latency_lines(group.total)]
        if _long(report):
            summary = f"By depth: {_html(str(group.group))}"
            yield details_block("depth table", summary, head=table[:2], items=table[2:], foot=below)
        else:
            heading = f"**By depth: {code(group.group.system)}, {code(group.group.policy)}**"
            head = [heading, "", *table[:2]]
            yield Block(name="depth table", head=head, items=table[2:], foot=[*below, ""])


def _repeats(repeats: RepeatNumbers) -> Iterator[Block]:
    for group in dict.fromkeys(row.group for row in repeats.spread):
        columns = (
            pass_columns(repeats, group, LAYOUTS[0]),
            repeat_spread_columns(repeats, group, LAYOUTS[0]),
        )
        first, *more = (markdown_table(one) for one in columns if one)
        summary = f"{repeats.times} plays of each conversation: {_html(str(group))}"
        foot = [line for table in more for line in ("", *table)]
        yield details_block("plays", summary, head=first[:2], items=first[2:], foot=foot)


def _long(report: Report) -> bool:
    return sum(len(group.rows) for group in report.table.groups) > MANY_ROWS


def details(summary: str, lines: Iterable[str]) -> list[str]:
    """*lines* that are shown once somebody asks for them."""
    # The empty lines make what is inside Markdown again.
    return [f"<details><summary>{summary}</summary>", "", *lines, "", "</details>", ""]


def _html(text: str) -> str:
    """*text* as HTML that is not looked at for Markdown, mentions or links."""
    return f"<code>{html.escape(on_one_line(text))}</code>"


def markdown_table(columns: Sequence[TextColumn], *, named: int = 0) -> list[str]:
    """*columns* as a table; the first *named* columns hold Markdown already, the others text."""
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
    ours = ("depth", "system", "policy", "checks", "cases", "incomplete", *counts, *compared)
    return name if name in ours else code(name, cell=True)


def _format_name(cell: str, column: TextColumn) -> str:
    text = " ".join(cell.split())
    return code(text, cell=True) if column.head == "policy" else text.replace("[", r"\[")


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
