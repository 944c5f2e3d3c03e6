"""
A comparison on a terminal: a table for each pair, the turns that flipped, then notes.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from itertools import chain

from rich.console import Console

from replay.report.columns import (
    NONE,
    Bounded,
    Layout,
    TextColumn,
    Value,
    column,
    column_head,
    depth_column,
    fitting,
    score_cells,
)
from replay.report.printing import heading, put_lines, put_table, section
from replay.statistics.comparison import ComparedRow, Comparison, Flip
from replay.statistics.interval import METHOD_NAMES
from replay.statistics.run_comparison import ComparedPair, ComparisonReport


def print_comparison(report: ComparisonReport, console: Console, *, flips: int = 10) -> None:
    """Print *report*; of the turns that flipped at most *flips* for each pair."""
    first, second = report.runs
    heading(console, f"A: {first}" if first == second else f"A: {first}, B: {second}")
    put_lines(console, [""])
    for pair in report.pairs:
        heading(console, f"{pair.second} (B) minus {pair.first} (A), on the same turns")
        layout = fitting(console.width, lambda layout, pair=pair: [_columns(pair, layout)])  # type: ignore[misc]
        put_table(console, _columns(pair, layout))
        _flips(console, pair, flips)
    notes = list(chain.from_iterable(_pair_notes(pair, report) for pair in report.pairs))
    section(console, "Notes", [*notes, *_notes(report)], break_words=False)


def _columns(pair: ComparedPair, layout: Layout) -> list[TextColumn]:
    rows = [(one, row) for one in pair.comparisons for row in one.rows]
    columns = [column("score", (column_head(one.score, one.unit) for one, _ in rows), left=True)]
    if any(row.difference.depth is not None for _, row in rows):
        columns.append(depth_column(row.difference.depth for _, row in rows))
    return [
        *columns,
        column("turns", (str(row.difference.turns) for _, row in rows)),
        column("A", _cells(pair.comparisons, lambda row: Value(row.first), layout)),
        column("B", _cells(pair.comparisons, lambda row: Value(row.second), layout)),
        column("B - A", _cells(pair.comparisons, lambda row: row.difference, layout, signed=True), left=True),
        column("p", (_p(row.test.p if row.test else None) for _, row in rows)),
        column("p Holm", (_p(row.adjusted_p) for _, row in rows)),
    ]


def _cells(
    comparisons: Sequence[Comparison],
    pick: Callable[[ComparedRow], Bounded],
    layout: Layout,
    *,
    signed: bool = False,
) -> list[str]:
    cells: list[str] = []
    for one in comparisons:
        cells += score_cells(map(pick, one.rows), percent=one.percent, whole=layout.whole, signed=signed)
    return cells


def _p(p: float | None) -> str:
    return NONE if p is None else "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _flips(console: Console, pair: ComparedPair, limit: int) -> None:
    by_turn: dict[tuple[str, int], list[tuple[str, Flip]]] = {}
    counted = []
    for one in pair.comparisons:
        for flip in one.flips or ():
            by_turn.setdefault((flip.conversation, flip.depth), []).append((one.score, flip))
        if one.flips:
            won = sum(flip.second > flip.first for flip in one.flips)
            counted.append(f"{one.score} {won} won and {len(one.flips) - won} lost")
    if not by_turn:
        return
    heading(console, f"Flipped turns: {', '.join(counted)}")
    for (conversation, depth), flips in sorted(by_turn.items())[:limit]:
        verdicts = [
            f"{word} {names}"
            for word, won in (("won", True), ("lost", False))
            if (names := _names(flips, won=won))
        ]
        flip = flips[0][1]
        put_lines(
            console,
            [
                f"{conversation}, depth {depth}: {'; '.join(verdicts)}",
                f"  asked  {_short(flip.recorded, console.width)}",
                f"  A      {_short(flip.first_answer, console.width)}",
                f"  B      {_short(flip.second_answer, console.width)}",
            ],
        )
    if len(by_turn) > limit:
        put_lines(console, [f"... and {len(by_turn) - limit} more; --flips shows more, --json all"])
    put_lines(console, [""])


def _names(flips: Sequence[tuple[str, Flip]], *, won: bool) -> str:
    return ", ".join(score for score, flip in flips if (flip.second > flip.first) == won)


def _short(text: str | None, width: int) -> str:
    return NONE if text is None else textwrap.shorten(text, max(20, width - 9), placeholder=" ...") or '""'


def _pair_notes(pair: ComparedPair, report: ComparisonReport) -> list[str]:
    alone = [
        f"{count} only in {side}"
        for count, side in ((pair.only_first, "A"), (pair.only_second, "B"))
        if count
    ]
    who = "" if len(report.pairs) == 1 else f"{pair.second} minus {pair.first}: "
    said = [f"{who}{', '.join([f'{pair.conversations} conversations paired', *alone])}."]
    for name, (before, after) in pair.changes.items():
        said.append(f"{who}the signature of {name} differs: {before or NONE} -> {after or NONE}.")
    for one in pair.comparisons:
        if one.one_sided:
            said.append(f"{who}{one.score}: {one.one_sided} turns have a score on one side only; left out.")
        if one.unlike:
            said.append(
                f"{who}{one.score}: {one.unlike} turns have another question or other gold answers; left out."
            )
        said += [f"{who}{one.score}: {text}" for text in _without_interval(one)]
    return said


def _without_interval(one: Comparison) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for row in one.rows:
        if row.difference.no_interval and row.difference.turns:
            depth = "all depths" if row.difference.depth is None else f"depth {row.difference.depth}"
            reasons.setdefault(row.difference.no_interval, []).append(depth)
    return [f"no interval for {', '.join(where)}: {reason}." for reason, where in reasons.items()]


def _notes(report: ComparisonReport) -> list[str]:
    settings = report.settings
    percent = dict.fromkeys(one.score for pair in report.pairs for one in pair.comparisons if one.percent)
    said = [f"in per cent: {', '.join(percent)}." if percent else "no score is in per cent."]
    if settings.resamples:
        said.append(
            f"in brackets: {100 * settings.confidence:g} % interval of the difference, "
            f"{METHOD_NAMES[settings.method]} over conversations, {settings.resamples:,} resamples, "
            f"seed {settings.seed}."
        )
    tests = [row.test for p in report.pairs for one in p.comparisons for row in one.rows if row.test]
    if tests:
        exact = sum(test.exact for test in tests)
        most = max((test.permutations for test in tests if not test.exact), default=0)
        how = [f"{exact} exact"] if exact else []
        how += [f"{len(tests) - exact} with up to {most:,} random swaps"] if most else []
        said.append(
            f"p: two-sided permutation test that swaps whole conversations ({', '.join(how)}); "
            f"p Holm: corrected for the {len(tests)} comparisons shown."
        )
    said += [f"{name} is not compared: {why}." for name, why in report.left_out.items()]
    return said
