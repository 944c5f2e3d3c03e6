from __future__ import annotations

import os
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from markdown_it import MarkdownIt

from replay.report.markdown import code, comparison_markdown, escape_markdown, markdown_report
from replay.statistics.checks import count_checks
from replay.statistics.depth_table import depth_table
from replay.statistics.paired import policy_gaps
from replay.statistics.run_comparison import ComparisonSettings, ScoredRun, comparison_report
from replay.statistics.run_numbers import Report
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
