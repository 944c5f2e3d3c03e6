"""
What an assertion on a column of checks has to say beside the number: what could not be looked at, and which
checks failed.

The number is a share of the turns that were looked at, so a system that answers three turns and then breaks
down could have all of them. What could not be looked at therefore fails the assertion, unless the scenario
says of how large a share that may hold (``max_unchecked``): of questions that the policy ``filter`` skips.
Times of answers that came from a cache are not among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from replay.core.check_result import NO_TIMES, CheckResult
from replay.scenario.assertions.findings import Finding
from replay.scenario.assertions.section import Assertion
from replay.statistics.checks import CheckCounts, reasons_text
from replay.statistics.group import Group


def with_checks(finding: Finding, one: Assertion, checks: Iterable[CheckResult]) -> Finding:
    """
    Return *finding* with the failed checks behind it, and with those that could not be made.

    It no longer holds if more checks were not made than ``max_unchecked`` allows.

    Args:
        one: The finding's assertion.
        checks: All checks of the run; those of other columns, groups and depths are ignored.
    """
    held = [
        check
        for check in checks
        if one.score in check.columns
        and check.depth in one.depth
        and Group(check.system, check.policy) == finding.group
    ]
    against = set(finding.against)
    failed = tuple(
        _title(check)
        for check in held
        if check.passed is False and (check.conversation, check.depth) in against
    )
    counts = CheckCounts()
    for check in held:
        counts.add(check)
    unchecked = counts.unchecked.total()
    if not unchecked:
        return replace(finding, failed_checks=failed)
    # Whoever has answers kept from run to run wants no times of them: said, and no breakdown.
    too_many = (unchecked - counts.unchecked[NO_TIMES]) / counts.all > one.max_unchecked
    said = f"{unchecked:,} of {counts.all:,} checks could not be looked at ({reasons_text(counts.unchecked)})"
    if too_many:
        said += f", more than max_unchecked allows ({one.max_unchecked:g})"
    return replace(
        finding,
        holds=finding.holds and not too_many,
        unchecked=unchecked,
        remark=said if finding.remark is None else f"{finding.remark}; {said}",
        failed_checks=failed,
    )


def _title(check: CheckResult) -> str:
    """Return the check's title; of one of calls with what was called, or nobody sees what went wrong."""
    called = (check.evidence or "").partition("; expected ")[0]
    return f"{check.title}; {called}" if check.kind == "calls" and called else check.title
