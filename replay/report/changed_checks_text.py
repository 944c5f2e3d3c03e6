"""
Checks that came out otherwise on two sides, for people.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from replay.report.checks_text import MOST
from replay.report.printing import heading, print_lines, shorten
from replay.statistics.changed_checks import ChangedCheck, ChangedChecks


def print_changed_checks(changed: ChangedChecks, console: Console) -> None:
    """Print what changed, what newly fails first, as wide as *console* is."""
    heading(console, f"Checks: {changed.summary}")
    for name, found in changed.changes.items():
        for one in found[:MOST]:
            print_lines(console, _lines(one, change_title(name, one), console.width))
        if (more := len(found) - MOST) > 0:
            print_lines(console, [f"... and {more:,} more {name}; --json has all"])
    print_lines(console, [""])


def change_title(name: str, one: ChangedCheck) -> str:
    """``newly failing (passed before): depth 2 of talk3: contains "refund"``, on a line."""
    return f"{name} ({one.before.verdict} before): {one.after.title}"


def change_texts(one: ChangedCheck) -> dict[str, str | None]:
    """What was asked, answered on either side, and found on the second, by name."""
    answers = {"asked": one.after.asked or one.before.asked, "A": one.before.answer, "B": one.after.answer}
    return {**answers, "found": one.after.evidence or one.after.reason}


def _lines(one: ChangedCheck, title: str, width: int) -> Iterator[str]:
    yield shorten(title, width)
    for said, text in change_texts(one).items():
        yield f"  {said:6} {shorten(text, width - 9)}"
