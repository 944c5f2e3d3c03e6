"""
Judgements for people: which assertions hold, which fail and by how much.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replay.report.printing import shorten
from replay.scenario.assertions.findings import AssertionResult, Finding

MOST = 5
"""Failed checks, and plays, that are named with an assertion; the report has more, and JSON all."""
LONGEST = 300
"""Characters of what is checked."""


def assertion_lines(results: Sequence[AssertionResult]) -> list[str]:
    """A heading, then a line for each assertion and one for each system and policy it speaks of."""
    return [assertion_count(results), *(line for one in results for line in lines_of(one))]


def assertion_count(results: Sequence[AssertionResult]) -> str:
    """Return how many failed, or that all were kept."""
    failed = sum(not one.holds for one in results)
    of = len(results)
    return f"Assertions: {failed} of {of} failed" if failed else f"Assertions: {of} of {of} kept"


def lines_of(one: AssertionResult) -> Iterator[str]:
    """The assertion, then what was found."""
    yield f"{'ok  ' if one.holds else 'FAIL'}  {one.assertion.title}"
    for finding in one.findings:
        mark = "" if finding.holds else "FAIL "
        yield f"      {mark}{finding.group}: {finding.summary}"
        yield from (f"        {line}" for line in lines_against(finding))


def lines_against(finding: Finding) -> Iterator[str]:
    """What fails *finding*: the first of its turns or conversations with several plays, and of its checks."""
    for named in (finding.cases_against, finding.failed_checks):
        yield from (shorten(one, LONGEST) for one in named[:MOST])
        if (rest := len(named) - MOST) > 0:
            yield f"and {rest:,} more"
