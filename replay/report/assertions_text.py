"""
Judgements for people: which assertions hold, which fail and by how much.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replay.scenario.assertions.findings import AssertionResult


def assertion_lines(results: Sequence[AssertionResult]) -> list[str]:
    """A heading, then a line for each assertion and one for each system and policy it speaks of."""
    failed = sum(not one.holds for one in results)
    of = len(results)
    count = f"{failed} of {of} failed" if failed else f"{of} of {of} kept"
    return [f"Assertions: {count}", *(line for one in results for line in lines_of(one))]


def lines_of(one: AssertionResult) -> Iterator[str]:
    """The assertion, then what was found."""
    yield f"{'ok  ' if one.holds else 'FAIL'}  {one.assertion.title}"
    for finding in one.findings:
        mark = "" if finding.holds else "FAIL "
        yield f"      {mark}{finding.group}: {finding.said}"
