"""
Judgements for people: which assertions hold, which fail and by how much.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replay.scenario.assertions.findings import AssertionResult


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
