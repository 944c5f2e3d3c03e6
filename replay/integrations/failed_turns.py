"""The turns behind a failed test, in plain text: depth, question, answer, and why a question drifted."""

from __future__ import annotations

from collections.abc import Iterator

from replay.core.drift_evidence import Drift
from replay.core.expectation import CheckResult
from replay.core.terminal import escape_unprintable
from replay.report.drift_text import why_invalid
from replay.report.findings import check_title, turn_texts
from replay.report.printing import shorten
from replay.results.run import Run
from replay.scenario.assertions.findings import AssertionResult

MOST = 5
"""Turns of each system and policy that are shown."""
WIDTH = 300


def turns_against(run: Run, result: AssertionResult) -> Iterator[str]:
    """Yield the first turns that speak against each finding of *result* that fails."""
    against = {
        (conversation, finding.group.system, finding.group.policy, depth)
        for finding in result.findings
        for conversation, depth in (() if finding.holds else finding.against[:MOST])
    }
    checks: dict[tuple[str, str, str, int], list[CheckResult]] = {}
    for check in run.checks() if against else ():
        if check.passed is False and result.assertion.score in check.columns:
            key = check.conversation, check.system, check.policy, check.depth
            checks.setdefault(key, []).append(check)
    for record in run.records() if against else ():
        key = record.conversation, record.system, record.policy, record.depth
        if key not in against:
            continue
        conversation = escape_unprintable(record.conversation)
        yield f"  depth {record.depth} of {conversation} ({record.system}, {record.policy})"
        found = "; ".join(f"{check.rule}: {check.evidence}" for check in checks.get(key, ()))
        yield from _texts({"asked": record.asked, "answer": record.answer, "found": found}, record.drift)


def check_lines(check: CheckResult) -> Iterator[str]:
    """Yield a failed check with its turn."""
    yield escape_unprintable(f"FAIL  {check_title(check, names_group=True)}")
    yield from _texts(turn_texts(check), check.drift)


def _texts(texts: dict[str, str | None], drift: Drift | None) -> Iterator[str]:
    for name, text in {**texts, "drift": why_invalid(drift) if drift else None}.items():
        if text:
            yield escape_unprintable(f"      {name:6}  {shorten(text, WIDTH)}")
