"""
Judgements for people: which assertions hold, which fail and by how much.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replay.report.printing import shortened
from replay.scenario.assertions.findings import AssertionResult, Finding

MOST = 5
"""Failed checks that are named with an assertion; the report has more, and JSON all."""
LONGEST = 200
"""Characters of what is checked."""


def assertion_lines(results: Sequence[AssertionResult]) -> list[str]:
    """A heading, then a line for each assertion and one for each system and policy it speaks of."""
    return [assertion_count(results), *(line for one in results for line in lines_of(one))]


def assertion_count(results: Sequence[AssertionResult]) -> str:
    """How many failed, or that all were kept."""
    failed = sum(not one.holds for one in results)
    of = len(results)
    return f"Assertions: {failed} of {of} failed" if failed else f"Assertions: {of} of {of} kept"


def lines_of(one: AssertionResult) -> Iterator[str]:
    """The assertion, then what was found."""
    yield f"{'ok  ' if one.holds else 'FAIL'}  {one.assertion.title}"
    for finding in one.findings:
        mark = "" if finding.holds else "FAIL "
        yield f"      {mark}{finding.group}: {finding.said}"
        yield from (f"        {line}" for line in failed_check_lines(finding))


def failed_check_lines(finding: Finding) -> list[str]:
    """The first of the checks that fail *finding*, and how many more there are."""
    titles, rest = finding.failed_checks[:MOST], len(finding.failed_checks) - MOST
    return [*(shortened(one, LONGEST) for one in titles), *([f"and {rest:,} more"] if rest > 0 else [])]
