"""
What a build fails on, in words.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

from replay.report.checks_text import MOST
from replay.report.columns import Value, score_cells
from replay.report.compare_text import p_text
from replay.scorers.scorer import SHARE
from replay.statistics.changed_checks import ChangedCheck
from replay.statistics.comparison_gate import CHECKS, ComparisonGate, Regression


def gate_lines(found: ComparisonGate) -> list[str]:
    """A heading, a line for each loss, and which scores could not have been significant."""
    lines = [_heading(found), *(line for loss in found.losses for line in _failed_check_lines(loss))]
    for one in found.powerless:
        enough = "draw more --permutations" if one.needed is None else f"{one.needed} would be enough"
        lines.append(
            f"UNDECIDED  {one.score}, {one.group}: too few conversations ({one.conversations}) for any "
            f"difference to be significant: p Holm can't be below {p_text(one.least_p)}; {enough}"
        )
    if not found.is_decided:
        lines.append(
            "so this gate could not have failed. Compare more conversations, name fewer scores, policies or "
            f"systems, gate on --fail-on {CHECKS}, or assert bounds in the scenario"
        )
    return lines


def _heading(found: ComparisonGate) -> str:
    of = f"{found.looked_at:,} comparison{'' if found.looked_at == 1 else 's'} of {', '.join(found.scores)}"
    level = f"significantly worse (p Holm at most {found.alpha:g})"
    if found.scores == (CHECKS,):
        level = "newly failing, or no longer looked at"
    elif CHECKS in found.scores:
        level += ", or a check that newly fails or is no longer looked at"
    if not found.is_decided:
        return f"Gate: UNDECIDED: none of {of} is {level}, and not all could have been"
    if found.losses:
        lost = sum(len(loss.checks) or 1 for loss in found.losses)
        return f"Gate: {lost:,} of {of} {level}"
    return f"Gate: none of {of} is {level}"


def _failed_check_lines(loss: Regression) -> list[str]:
    if not loss.checks:
        return [_loss(loss)]
    shown = [f"FAIL  check, {loss.group}: {one.after.title}: {_change(one)}" for one in loss.checks[:MOST]]
    more = len(loss.checks) - MOST
    return [
        *shown,
        *([f"FAIL  and {more:,} more checks of {loss.group}; --json has all"] if more > 0 else []),
    ]


def _change(one: ChangedCheck) -> str:
    now = "fails now" if one.after.passed is False else "is no longer looked at"
    return f"{now}, {one.before.verdict} before"


def _loss(loss: Regression) -> str:
    who = f"{loss.score}, {loss.group}" if loss.score else str(loss.group)
    row = loss.row
    if row is None:
        return f"FAIL  {who}: not compared: {loss.reason}"
    percent = loss.unit == SHARE
    first, second = (
        score_cells([Value(value)], percent=percent, whole=False)[0].strip()
        for value in (row.first, row.second)
    )
    change = score_cells([row.difference], percent=percent, whole=False, signed=True)[0].strip()
    unit = " %" if percent else f" {loss.unit}" if loss.unit else ""
    depth = "" if row.difference.depth is None else f", depth {row.difference.depth}"
    return (
        f"FAIL  {who}{depth}: {first} -> {second}{unit}, {change}, p Holm {p_text(row.adjusted_p)}, on "
        f"{row.difference.turns:,} turns of {row.difference.conversations:,} conversations"
    )
