"""Recorded against now: the verdicts by depth, the turns that are worse, and what a build fails on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from replay.report.columns import TextColumn, column, depth_column
from replay.report.document import Block, Cases, CaseText, ItemList, ReportSection, Table
from replay.report.findings import MOST_TURNS
from replay.report.numbers import count_text
from replay.report.printing import shorten
from replay.statistics.recorded import VERDICTS, RecordedNumbers, RecordedRow, RecordedTurn, WorseLimit

RECORDED_TITLE = "Recorded against now"
DIFFERS_NOTE = "Differs: not shown to be the same, and nothing says which answer is better."
LONG = 12
"""A table with more rows is folded, so that a comment stays short."""
MOST_FAILED = 5
"""Turns that are named where a build fails; the report has more."""


def recorded_sections(recorded: RecordedNumbers) -> Iterator[ReportSection]:
    """Yield the verdicts by system, policy and depth, with what decided, and the first worse turns."""
    decided = [
        f"{row.group}: decided by {', '.join(f'{name} {count:,}' for name, count in row.by.items())}"
        for row in recorded.totals
    ]
    blocks: list[Block] = [
        Table(columns=lambda layout: recorded_columns(recorded.rows), named=2),
        ItemList([*decided, DIFFERS_NOTE]),
    ]
    yield ReportSection(
        name="recorded", title=RECORDED_TITLE, blocks=blocks, folded=len(recorded.rows) > LONG
    )
    # What several systems and policies have in common stands once.
    worse: dict[tuple[object, ...], list[RecordedTurn]] = {}
    for one in recorded.turns:
        if one.verdict == "worse":
            worse.setdefault((one.conversation, one.depth, *one.texts), []).append(one)
    if worse:
        more = len(worse) - MOST_TURNS
        cases = [CaseText(_turn_title(alike), alike[0].texts) for alike in islice(worse.values(), MOST_TURNS)]
        rest = f"and {count_text(more, 'more turn')}; `replay report --json` has all" if more > 0 else ""
        yield ReportSection(name="worse turns", title="Worse than recorded", blocks=[Cases(cases, rest)])


def recorded_columns(rows: Sequence[RecordedRow]) -> list[TextColumn]:
    """Return a row for each depth of each group, and all depths last: turns by verdict, with their share."""
    return [
        column("system", (row.group.system for row in rows), left=True),
        column("policy", (row.group.policy for row in rows), left=True),
        depth_column(row.depth for row in rows),
        column("turns", (f"{row.turns:,}" for row in rows)),
        *(
            column(name, (f"{row.counts[name]:,} ({100 * row.share(name):.0f} %)" for row in rows))
            for name in VERDICTS
        ),
    ]


def _turn_title(alike: Sequence[RecordedTurn]) -> str:
    """Return ``depth 2 of talk3 (bot, gold; bot, pred)``."""
    groups = "; ".join(str(one.group) for one in alike)
    return f"depth {alike[0].depth} of {alike[0].conversation} ({groups})"


def worse_lines(recorded: RecordedNumbers, limit: WorseLimit) -> list[str]:
    """Return a line for each system and policy, whether it keeps *limit*, with the first turns that don't."""
    lines = [f"Worse than recorded, at most {limit} allowed:"]
    for row in recorded.totals:
        mark = "ok  " if limit.holds(row) else "FAIL"
        lines.append(f"{mark}  {row.group}: {row.counts['worse']:,} of {count_text(row.turns, 'turn')}")
        if not limit.holds(row):
            worse = [one for one in recorded.turns if one.group == row.group and one.verdict == "worse"]
            lines += [
                f"        depth {one.depth} of {one.conversation}: {shorten(one.evidence, 200)}"
                for one in worse[:MOST_FAILED]
            ]
            more = len(worse) - MOST_FAILED
            lines += [f"        and {more:,} more"] if more > 0 else []
    return lines
