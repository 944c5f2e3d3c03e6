"""A comparison's report: for each pair changed checks, differences and turns that flipped; then notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from replay.report.depth_charts import difference_figures
from replay.report.document import (
    Block,
    Cases,
    CaseText,
    Inline,
    ItemList,
    Name,
    Paragraph,
    ReportDocument,
    ReportSection,
    Table,
    notes_section,
)
from replay.report.findings import changed_check_cases
from replay.report.notes import HAVE
from replay.report.numbers import count_text
from replay.report.printing import (
    NONE,
    IntervalValue,
    Layout,
    TextColumn,
    Value,
    column,
    column_head,
    depth_column,
    p_text,
    score_cells,
)
from replay.statistics.comparison import ComparedRow, Comparison, Flip
from replay.statistics.interval import METHOD_NAMES
from replay.statistics.run_comparison import ComparedPair, ComparisonReport

CHANCE_BELOW = 0.05
HOLM_BESIDE_INTERVAL = "which counts all that is tested here; the interval is of one number and may exclude 0"
"""Behind a p-value after Holm's correction that doesn't go with its interval."""


def comparison_document(
    report: ComparisonReport, *, flips: int = 0, gate: Sequence[str] = ()
) -> ReportDocument:
    """
    Return *report*; first *gate*, lines on what a build fails on.

    The turns that flipped are counted, and at most *flips* listed for each pair.
    """
    first, second = map(Name, report.runs)
    title: Inline = ("A: ", first) if first == second else ("A: ", first, ", B: ", second)
    sections = [ReportSection(name="gate", blocks=[ItemList(gate)])] if gate else []
    for pair in report.pairs:
        a, b = Name(pair.first), Name(pair.second)
        if pair.checks:
            summary = Paragraph([f"Checks: {pair.checks.summary}"])
            blocks: list[Block] = [summary, *changed_check_cases(pair.checks)]
            sections.append(
                ReportSection(name="checks", title=(b, " (B) against ", a, " (A)"), blocks=blocks)
            )
        table = Table(columns=lambda layout, pair=pair: comparison_columns(pair, layout), named=1)  # type: ignore[misc]
        sections.append(
            ReportSection(
                name="differences",
                title=(b, " (B) minus ", a, " (A), on the same turns"),
                blocks=[table, Paragraph([change_sentence(pair)])],
            )
        )
        sections += _flips(pair, flips)
    figures = difference_figures(report)
    sections += [ReportSection(name="figures", blocks=figures)] if figures else []
    notes = replace(notes_section(comparison_notes(report)), folded=True)
    return ReportDocument(title=title, sections=[*sections, notes])


def comparison_notes(report: ComparisonReport) -> list[str]:
    """Return sentences on what a reader should know beside the numbers."""
    return [*_pair_notes(report.pairs), *_notes(report)]


def comparison_columns(pair: ComparedPair, layout: Layout) -> list[TextColumn]:
    """Return columns with a row for each score, and for each depth where that was asked for."""
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


def _flips(pair: ComparedPair, limit: int) -> Iterator[ReportSection]:
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
    cases = []
    for (conversation, depth), flips in sorted(by_turn.items())[:limit]:
        verdicts = [
            f"{word} {', '.join(names)}"
            for word, won in (("won", True), ("lost", False))
            if (names := [one.score for one, flip in flips if one.won(flip) == won])
        ]
        flip = flips[0][1]
        texts = [("asked", flip.recorded), ("A", flip.first_answer), ("B", flip.second_answer)]
        cases.append(CaseText(f"{conversation}, depth {depth}: {'; '.join(verdicts)}", texts))
    rest = len(by_turn) - limit
    note = f"... and {rest} more; --flips shows more, --json all" if rest > 0 and limit else ""
    yield ReportSection(
        name="flips", title=f"Flipped turns: {', '.join(counted)}{more}", blocks=[Cases(cases, note)]
    )


def _pair_notes(pairs: Sequence[ComparedPair]) -> list[str]:
    """Return sentences about pairs; one that fits all of them is said once."""
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
    paired = f"{count_text(pair.conversations, 'conversation')} paired"
    said = [f"{', '.join([paired, *alone])}."]
    for name, (before, after) in pair.changes.items():
        said.append(f"the signature of {name} differs: {before or NONE} -> {after or NONE}.")
    for one in pair.comparisons:
        for count, what in (
            (one.one_sided, "a score on one side only"),
            (one.unlike, "another question or other gold answers"),
        ):
            if count:
                said.append(f"{one.score}: {count_text(count, 'turn', HAVE)} {what}; left out.")
        said += [f"{one.score}: {text}" for text in _without_interval(one)]
    return said


def holm_note(report: ComparisonReport) -> str:
    """Return a sentence on the number of tests that p Holm is corrected for."""
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


def change_sentence(pair: ComparedPair) -> str:
    """
    Return what the second side of *pair* does better and worse than the first, over all depths.

    A difference counts where Holm's correction leaves less than 5 % to chance.
    """
    better: list[str] = []
    worse: list[str] = []
    for one in pair.comparisons:
        row = one.total
        if row.adjusted_p is None or row.adjusted_p > CHANCE_BELOW or not row.difference.value:
            continue
        (worse if (row.difference.value > 0) == one.lower_is_better else better).append(_change_text(one))
    said = [f"{how} in {', '.join(which)}" for how, which in (("better", better), ("worse", worse)) if which]
    if all(one.total.adjusted_p is None for one in pair.comparisons):
        return "No difference was tested, so that each could be chance."
    if said:
        return f"B is {' and '.join(said)}; any other difference could be chance."
    return "No score is better or worse in B by more than could be chance."


def _change_text(one: Comparison) -> str:
    value = one.total.difference.value or 0.0
    return f"{one.score} ({100 * value:+.1f} points)" if one.percent else f"{one.score} ({value:+.3g})"
