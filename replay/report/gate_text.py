"""
What a build fails on, in words.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

from replay.report.columns import Value, score_cells
from replay.report.compare_text import p_text
from replay.scorers.scorer import SHARE
from replay.statistics.comparison_gate import Gate, Loss


def gate_lines(found: Gate) -> list[str]:
    """A heading, a line for each loss, and which scores are worse but could not have been significant."""
    names = ", ".join(found.scores)
    level = f"significantly worse (p Holm at most {found.alpha:g})"
    of = f"{found.looked_at} comparison{'' if found.looked_at == 1 else 's'} of {names}"
    lines = [
        f"Gate: {len(found.losses)} of {of} {level}" if found.losses else f"Gate: none of {of} is {level}"
    ]
    lines += [_loss(loss) for loss in found.losses]
    if found.powerless:
        needed = max(one.needed for one in found.powerless)
        few = ", ".join(f"{one.score} of {one.group} ({one.conversations} differ)" for one in found.powerless)
        lines.append(
            f"note  worse, but on too few conversations for any difference to be significant here: {few}; "
            f"{needed} that differ would be enough"
        )
    return lines


def _loss(loss: Loss) -> str:
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
