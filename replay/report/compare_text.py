"""
A comparison on a terminal: a table for each pair, the turns that flipped, then notes.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from itertools import chain

from rich.console import Console
from rich.text import Text

from replay.report.columns import NONE, Layout, TextColumn, fitting, score_cells, table_lines
from replay.scorers.scorer import SHARE
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
        put_lines(console, [*table_lines(_columns(pair, layout), width=console.width, total=False), ""])
        _flips(console, pair, flips)
    notes = list(chain.from_iterable(_pair_notes(pair, report) for pair in report.pairs))
    section(console, "Notes", [*notes, *_notes(report)])


def _columns(pair: ComparedPair, layout: Layout) -> list[TextColumn]:
    rows = [(one, row) for one in pair.comparisons for row in one.rows]
    deep = any(row.difference.depth is not None for _, row in rows)
    columns = [TextColumn(head="score", cells=tuple(_label(one) for one, _ in rows), left=True)]
    if deep:
        depths = tuple("all" if r.difference.depth is None else str(r.difference.depth) for _, r in rows)
        columns.append(TextColumn(head="depth", cells=depths))
    columns += [
        TextColumn(head="turns", cells=tuple(str(row.difference.turns) for _, row in rows)),
        TextColumn(head="A", cells=_cells(pair.comparisons, lambda r: (r.first, None, None), layout, False)),
        TextColumn(head="B", cells=_cells(pair.comparisons, lambda r: (r.second, None, None), layout, False)),
        TextColumn(head="B - A", cells=_cells(pair.comparisons, _ends, layout, True), left=True),
        TextColumn(head="p", cells=tuple(_p(row.test.p if row.test else None) for _, row in rows)),
        TextColumn(head="p Holm", cells=tuple(_p(row.adjusted_p) for _, row in rows)),
    ]
    return columns


def _label(one: Comparison) -> str:
    return one.score if one.unit in (SHARE, "") else f"{one.score} ({one.unit})"


def _ends(row: ComparedRow) -> tuple[float | None, float | None, float | None]:
    return row.difference.value, row.difference.low, row.difference.high


def _cells(
    comparisons: Sequence[Comparison],
    pick: Callable[[ComparedRow], tuple[float | None, float | None, float | None]],
    layout: Layout,
    signed: bool,
) -> tuple[str, ...]:
    return tuple(
        cell
        for one in comparisons
        for cell in score_cells(
            [pick(row) for row in one.rows], percent=one.percent, whole=layout.whole, signed=signed
        )
    )


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


def heading(console: Console, text: str) -> None:
    console.print(Text(text, style="bold"), soft_wrap=True)


def put_lines(console: Console, lines: Sequence[str]) -> None:
    for line in lines:
        # Text, so that square brackets in a name or an interval are never taken for markup.
        console.print(Text(line), soft_wrap=True)


def section(console: Console, title: str, lines: Sequence[str]) -> None:
    heading(console, title)
    for line in lines:
        wrapper = textwrap.TextWrapper(console.width, initial_indent="- ", subsequent_indent="  ")
        wrapper.break_on_hyphens = False
        wrapper.break_long_words = False
        put_lines(console, wrapper.wrap(line))
