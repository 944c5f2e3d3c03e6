"""Markdown that has to fit: whole lines of whole blocks, and what is missing is counted."""

from __future__ import annotations

import os
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from markdown_it import MarkdownIt

from replay.report import LEAST_CHARS, MOST_CHARS
from replay.report.markdown import (
    Part,
    code,
    comparison_markdown,
    escape_markdown,
    markdown_report,
    within,
)
from replay.scorers.word_overlap import em
from replay.statistics.checks import count_checks
from replay.statistics.depth_table import depth_table
from replay.statistics.paired import policy_gaps
from replay.statistics.run_comparison import ComparisonSettings, ScoredRun, comparison_report
from replay.statistics.run_numbers import FailedTurns, Report, failure_reasons
from replay.statistics.score_column import score_columns
from tests.report.sample_checks import check
from tests.report.sample_report import columns, report
from tests.scenario.assertions.samples import answers, judge
from tests.scorers.turns import turn

GOLDEN = Path(__file__).parents[1] / "golden" / "report.md"
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](https://example.com)",
    "![pixel](https://example.com/p.png)",
    "https://example.com and www.example.com",
    "a|b",
    "a\\|b",
    "\\",
    "`code` and ``more``",
    "`",
    "**bold** _italic_ ~~gone~~",
    "# heading",
    "- item",
    "1. item",
    "> quoted",
    "line\nbreak\r\nand\u2028more",
    "</details></summary><h1>",
    "&lt;b&gt; &amp; &#64;",
    "\u202eevil\u202c \x00 \x1b[31m",
    "$x$ :smile: a:b",
    " ",
    "",
]
OURS = {"details", "summary", "code"}


class Page(HTMLParser):
    """Elements and text of a page."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.text = ""
        self.feed(
            MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown)
        )

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)

    def handle_data(self, data):
        self.text += data


def hostile_report(name: str) -> Report:
    turns = [
        turn("yes", "yes", system=name, policy=policy, conversation=f"c{n}")
        for policy in ("gold", name or "none")
        for n in range(2)
    ]
    scores = {name: columns(turns)["em"]}
    texts = {
        "kind": f"{name}1",
        "called": name or "none",
        **dict.fromkeys(("value", "answer", "evidence"), name),
    }
    return Report(
        table=depth_table(turns, scores, {"c0": 1, "c1": 1}, resamples=20),
        gaps=tuple(policy_gaps(turns, scores, resamples=20)),
        signatures={name: name},
        remarks=(name,),
        checks=count_checks(
            [check(name, 1, "-", system=name, policy=policy, **texts) for policy in ("gold", "pred")]
        ),
    )


def test_the_report_is_the_one_agreed_on():
    """After a wanted change, run once with UPDATE_GOLDEN=1 and read what changed."""
    run = answers("+-", "++")
    results = [judge(run, min=0.5), judge(run, min=0.9)]
    found = markdown_report(report(), title="sample", results=results)
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(found, encoding="utf-8")

    assert found == GOLDEN.read_text(encoding="utf-8")


def test_tables_gaps_failures_and_folded_signatures_are_there():
    page = Page(markdown_report(report(), title="sample"))

    assert page.elements.count("table") == 1 + 1 + 4 + 1, "totals, gaps, policies, survival"
    assert page.elements.count("details") == 4 + 1
    assert "2 timed-out" in page.text
    assert "policy:rewrite|coref:embedded-1|window:2|convreplay:0.1.0" in page.text


def test_a_short_depth_table_is_not_folded():
    turns = [turn("yes", "yes", conversation=f"c{n}") for n in range(3)]
    table = depth_table(turns, columns(turns), {f"c{n}": 1 for n in range(3)}, resamples=20)

    assert "<details><summary>By depth" not in markdown_report(Report(table=table), title="x")


@pytest.mark.parametrize("name", HOSTILE)
def test_names_make_nothing_happen(name):
    """Only our own elements come out, whatever a system, a policy, a score or a remark is called."""
    usual = Page(markdown_report(hostile_report("plain"), title="plain"))
    page = Page(markdown_report(hostile_report(name), title=name))

    def shape(elements):
        return [tag for tag in elements if tag != "code"]

    assert shape(page.elements) == shape(usual.elements)


def hostile_comparison(name: str) -> str:
    turns = [turn("yes", "yes", system=name, policy="pred", conversation=f"c{n}") for n in range(2)]
    texts = dict.fromkeys(("kind", "value", "answer", "evidence"), name)
    runs = [
        ScoredRun(
            name=name,
            records=turns,
            scores={name: columns(turns)["em"]},
            signatures={"pred": name},
            checks=[check("c0", 1, verdict, system=name, **texts)],
        )
        for verdict in "+-"
    ]
    groups = runs[0].groups()
    settings = ComparisonSettings(resamples=10, permutations=10)
    found = comparison_report(*runs, list(zip(groups, groups, strict=True)), settings=settings)
    return comparison_markdown(found, gate=[name])


@pytest.mark.parametrize("name", HOSTILE)
def test_names_make_nothing_happen_in_a_comparison(name):
    usual, page = (Page(hostile_comparison(one)) for one in ("plain", name))

    assert "newly failing (passed before)" in page.text
    assert [t for t in page.elements if t != "code"] == [t for t in usual.elements if t != "code"]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_shown_as_they_are(name):
    for made in (code(name), code(name, cell=True), escape_markdown(name)):
        text = Page(made).text.strip()
        assert "".join(text.split()) == "".join(_visible(name).split()), made


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="\\|`*_{}[]()<>#+-.!~&:@$^=\"'/ \n\tab1w.&;x", max_size=12))
def test_whatever_a_name_holds_it_is_shown_as_it_is(name):
    """Alone, in a cell of a table and in a sentence of a list, and nothing but it comes out."""
    sentence = Page(f"- {escape_markdown(f'x {name} y')}")
    at_start = Page(f"- {escape_markdown(name)}")
    table = Page(f"| a | b |\n| - | - |\n| {code(name, cell=True)} | end |")

    assert set(sentence.elements) <= {"ul", "li"}
    assert set(at_start.elements) <= {"ul", "li"}
    assert table.elements.count("td") == 2
    assert set(table.elements) <= {"table", "thead", "tbody", "tr", "th", "td", "code"}
    assert _squeezed(sentence.text) == _squeezed(f"x{name}y")
    assert _squeezed(at_start.text) == _squeezed(name)
    assert _squeezed(table.text) == _squeezed(f"ab{name}end")
    assert _squeezed(Page(code(name)).text) == _squeezed(name)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _visible(name: str) -> str:
    spaced = " ".join(name.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in spaced)


def test_nobody_is_mentioned_and_no_issue_is_linked():
    """GitHub finds these in what is rendered, but not in code and not across a comment."""
    assert escape_markdown("thanks @octocat, see #123") == "thanks @<!-- -->octocat, see #<!-- -->123"
    assert code("@octocat #123") == "`@octocat #123`"


def test_a_run_without_turns_says_so():
    empty = Report(table=depth_table([], {}, {}))

    assert "No turn has been asked yet." in markdown_report(empty, title="x")


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
