"""Markdown that has to fit: whole lines of whole blocks, and what is missing is counted."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, strategies as st

from replay.report import LEAST_CHARS, MOST_CHARS
from replay.report.markdown import (
    Part,
    comparison_markdown,
    markdown_report,
    within,
)
from replay.scorers.word_overlap import em
from replay.statistics.checks import count_checks
from replay.statistics.depth_table import depth_table
from replay.statistics.failure_reasons import FailedTurns, failure_reasons
from replay.statistics.run_comparison import ComparisonSettings, ScoredRun, comparison_report
from replay.statistics.run_numbers import Report
from replay.statistics.score_column import score_columns
from tests.report.sample_checks import check
from tests.report.sample_report import report
from tests.report.test_markdown import HOSTILE, OURS, Page
from tests.scorers.turns import turn

TABLES = {"table", "thead", "tbody", "tr", "th", "td", "h3", "p", "ul", "li", "strong", "em"}
SIZES = st.lists(st.integers(0, 900), max_size=30)
BLOCKS = st.lists(st.tuples(st.sampled_from(["totals", "notes", "rows"]), SIZES), max_size=10)


@given(BLOCKS, st.integers(LEAST_CHARS, 30_000))
def test_it_fits_and_every_line_is_there_or_counted(sizes, most):
    blocks = [
        Part(
            name=name,
            head=[f"begin {n}"],
            items=[f"{n}.{at} {'x' * size}" for at, size in enumerate(items)],
            foot=[f"end {n}"],
        )
        for n, (name, items) in enumerate(sizes)
    ]
    lines = within(blocks, most, important=["totals"], where="elsewhere")

    assert sum(map(len, lines)) + len(lines) <= most
    dropped: Counter[str] = Counter()
    for n, block in enumerate(blocks):
        kept = [line for line in lines if line.startswith(f"{n}.")]
        if f"begin {n}" not in lines:
            dropped[block.name] += 1
            assert not {f"end {n}", *kept} & set(lines)
            continue
        first, last = lines.index(f"begin {n}"), lines.index(f"end {n}")
        rest = len(block.items) - len(kept)
        more = ["", f"_{rest:,} more lines of this were left out for room: elsewhere_", ""] if rest else []
        assert lines[first : last + 1] == [f"begin {n}", *block.items[: len(kept)], *more, f"end {n}"]
    names = [f"{name} ({count})" if count > 1 else name for name, count in dropped.items()]
    assert [one for one in lines if one.startswith("_Left out")] == (
        [f"_Left out for room: {', '.join(names)}. Elsewhere_"] if names else []
    )


@given(SIZES, st.integers(0, 9000))
def test_a_block_keeps_to_its_room(sizes, room):
    block = Part(name="rows", head=["head"], items=["x" * size for size in sizes], foot=["foot"])
    lines = list(block.within(room, where="elsewhere"))

    assert sum(map(len, lines)) + len(lines) <= room


def test_what_is_important_has_room_first():
    blocks = [Part(name=name, items=[name[0] * 99] * 50) for name in ("rows", "totals", "notes")]
    lines = within(blocks, 4_000, important=["totals", "notes"], where="elsewhere")
    shown = "".join(line[:1] for line in lines if len(line) == 99)

    assert list(dict.fromkeys(shown)) == ["r", "t", "n"], "in the page's order all the same"
    assert shown.count("t") > shown.count("n") > shown.count("r") > 0


def enormous() -> Report:
    """Five systems with names that try to be something else, 200 turns deep, 10,000 failed checks."""
    names = [name for name in HOSTILE if name.strip()][:5]
    turns = [
        turn("yes", "yes", system=name, policy="pred", conversation="c", depth=depth)
        for name in names
        for depth in range(1, 201)
    ]
    failed = [
        check("c", 1 + n % 200, "-", system=names[n % 5], position=n, evidence=HOSTILE[n % len(HOSTILE)])
        for n in range(10_000)
    ]
    broken = (FailedTurns("s", "timed-out", f"{name} " * 90, 1, "pred", name, 1) for name in names)
    scores = score_columns(turns, dict.fromkeys(names, em()))
    return Report(
        table=depth_table(turns, scores, {"c": 200}, resamples=0),
        failures=tuple(failure_reasons(broken)),
        signatures={name: name * 50 for name in names},
        remarks=tuple(names),
        checks=count_checks(failed),
    )


def test_ten_thousand_failed_checks_at_two_hundred_depths_fit_into_a_comment():
    found = markdown_report(enormous(), title="x" * 100_000)
    page = Page(found)

    assert 0.8 * MOST_CHARS < len(found) <= MOST_CHARS
    assert found.startswith(f"### `{'x' * 300}`\n")
    assert set(page.elements) <= OURS | TABLES
    assert page.elements.count("details") == found.splitlines().count("</details>") > 2
    rows = [line for line in found.splitlines() if line.startswith("|")]
    assert all(row.endswith(" |") for row in rows), "no row is cut"
    assert "more lines of this were left out for room: `replay report RUN` and its `--html` have all" in found
    assert all(name in page.text for name in ("All depths", "Failed checks", "Failures", "Notes"))


def test_a_short_limit_is_kept():
    assert len(markdown_report(report(), title="sample", most_chars=LEAST_CHARS)) <= LEAST_CHARS
    assert "left out" not in markdown_report(report(), title="sample")


def test_a_comparison_fits_too():
    turns = [turn("yes", "yes", conversation="c", depth=depth) for depth in range(1, 201)]
    run = ScoredRun(name="a" * 9999, records=turns, scores=score_columns(turns, {"em": em()}), signatures={})
    (group,) = run.groups()
    settings = ComparisonSettings(by_depth=True, resamples=0, permutations=10)
    compared = comparison_report(run, run, [(group, group)], settings=settings)
    found = comparison_markdown(compared, gate=["Gate: none"], most_chars=9_000)

    assert 4_000 < len(found) <= 9_000
    assert "more lines of this were left out for room: `replay compare`" in found
    assert "Gate: none" in found
