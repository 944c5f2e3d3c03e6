"""
A comparison on a terminal: a table for each pair, the turns that flipped, then notes.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap

from rich.console import Console

from replay.core.terminal import escape_unprintable
from replay.report.changed_checks_text import print_changed_checks
from replay.report.columns import (
    NONE,
    IntervalValue,
    Layout,
    TextColumn,
    Value,
    column,
    column_head,
    depth_column,
    fitting,
    score_cells,
)
from replay.report.printing import heading, print_lines, print_table, section, shorten
from replay.report.rewriting_text import change_sentence
from replay.statistics.comparison import ComparedRow, Comparison, Flip
from replay.statistics.interval import METHOD_NAMES
from replay.statistics.run_comparison import ComparedPair, ComparisonReport

HOLM_BESIDE_INTERVAL = "which counts all that is tested here; the interval is of one number and may exclude 0"
"""Behind a p-value after Holm's correction that doesn't go with its interval."""


def print_comparison(report: ComparisonReport, console: Console, *, flips: int = 0) -> None:
    """Print *report*; the turns that flipped are counted, and at most *flips* listed for each pair."""
    first, second = report.runs
    heading(console, f"A: {first}" if first == second else f"A: {first}, B: {second}")
    print_lines(console, [""])
    for pair in report.pairs:
        heading(console, f"{pair.second} (B) minus {pair.first} (A), on the same turns")
        if pair.checks:
            print_changed_checks(pair.checks, console)
        layout = fitting(console.width, lambda layout, pair=pair: [comparison_columns(pair, layout)])  # type: ignore[misc]
        print_table(console, comparison_columns(pair, layout))
        print_lines(console, [*wrap(escape_unprintable(change_sentence(pair)), console.width), ""])
        _flips(console, pair, flips)
    section(console, "Notes", comparison_notes(report), break_words=False)


def comparison_notes(report: ComparisonReport) -> list[str]:
    """What to know beside the numbers."""
    return [*_pair_notes(report.pairs), *_notes(report)]


def comparison_columns(pair: ComparedPair, layout: Layout) -> list[TextColumn]:
    """A row for each score, and for each depth where that was asked for."""
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
        column("p", (p_text(row.test.p if row.test else None) for _, row in rows)),
        column("p Holm", (p_text(row.adjusted_p) for _, row in rows)),
    ]


def _cells(
    comparisons: Sequence[Comparison],
    pick: Callable[[ComparedRow], IntervalValue],
    layout: Layout,
    *,
    signed: bool = False,
) -> list[str]:
    cells: list[str] = []
    for one in comparisons:
        cells += score_cells(map(pick, one.rows), percent=one.percent, whole=layout.whole, signed=signed)
    return cells


def p_text(p: float | None) -> str:
    """``.012``, ``<.001``; a dash where nothing was tested."""
    return NONE if p is None else "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _flips(console: Console, pair: ComparedPair, limit: int) -> None:
    by_turn: dict[tuple[str, int], list[tuple[Comparison, Flip]]] = {}
    counted = []
    for one in pair.comparisons:
        for flip in one.flips or ():
            by_turn.setdefault((flip.conversation, flip.depth), []).append((one, flip))
        if one.flips:
            won = sum(map(one.won, one.flips))
            counted.append(f"{one.score} {won} won and {len(one.flips) - won} lost")
    if not by_turn:
        return
    more = "" if limit else "; --flips 10 lists them"
    heading(console, f"Flipped turns: {', '.join(counted)}{more}")
    for (conversation, depth), flips in sorted(by_turn.items())[:limit]:
        verdicts = [
            f"{word} {names}"
            for word, won in (("won", True), ("lost", False))
            if (names := _names(flips, won=won))
        ]
        flip = flips[0][1]
        print_lines(
            console,
            [
                f"{conversation}, depth {depth}: {'; '.join(verdicts)}",
                f"  asked  {shorten(flip.recorded, console.width - 9)}",
                f"  A      {shorten(flip.first_answer, console.width - 9)}",
                f"  B      {shorten(flip.second_answer, console.width - 9)}",
            ],
        )
    if len(by_turn) > limit > 0:
        print_lines(console, [f"... and {len(by_turn) - limit} more; --flips shows more, --json all"])
    print_lines(console, [""])


def _names(flips: Sequence[tuple[Comparison, Flip]], *, won: bool) -> str:
    return ", ".join(one.score for one, flip in flips if one.won(flip) == won)


def _pair_notes(pairs: Sequence[ComparedPair]) -> list[str]:
    """Sentences about pairs; one that fits all of them is said once."""
    who: dict[str, list[str]] = {}
    for pair in pairs:
        for sentence in _row_notes(pair):
            who.setdefault(sentence, []).append(f"{pair.second} minus {pair.first}")
    return [s if len(names) == len(pairs) else f"{'; '.join(names)}: {s}" for s, names in who.items()]


def _row_notes(pair: ComparedPair) -> list[str]:
    alone = [
        f"{count} only in {side}"
        for count, side in ((pair.only_first, "A"), (pair.only_second, "B"))
        if count
    ]
    said = [f"{', '.join([f'{pair.conversations} conversations paired', *alone])}."]
    for name, (before, after) in pair.changes.items():
        said.append(f"the signature of {name} differs: {before or NONE} -> {after or NONE}.")
    for one in pair.comparisons:
        if one.one_sided:
            said.append(f"{one.score}: {one.one_sided} turns have a score on one side only; left out.")
        if one.unlike:
            said.append(
                f"{one.score}: {one.unlike} turns have another question or other gold answers; left out."
            )
        said += [f"{one.score}: {text}" for text in _without_interval(one)]
    return said


def holm_note(report: ComparisonReport) -> str:
    """What was corrected for, and how that goes with an interval."""
    totals, depths = report.tests["totals"], report.tests["depths"]
    apart = f", and that of a depth for the {depths:,} depths" if depths else ""
    rows = [row for pair in report.pairs for one in pair.comparisons for row in one.rows]
    beside = f"; go by p Holm, {HOLM_BESIDE_INTERVAL}" if any(map(_parts, rows)) else ""
    return f"p Holm: corrected for the {totals:,} totals compared{apart}{beside}."


def _parts(row: ComparedRow) -> bool:
    """Return whether the interval leaves out 0 and p Holm doesn't rule out chance."""
    low, high = row.difference.low, row.difference.high
    leaves_out_0 = low is not None and high is not None and (low > 0 or high < 0)
    return leaves_out_0 and row.adjusted_p is not None and row.adjusted_p > 0.05


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
            f"{holm_note(report)}"
        )
    said += [f"{name} is not compared: {why}." for name, why in report.left_out.items()]
    return said
