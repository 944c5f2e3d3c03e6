"""
``pass^3(check)`` as an assertion's metric: how often all of three plays of a turn pass.

``pass@3(check)``: how often any of them does. ``pass^3(check, conversations)`` speaks of whole conversations,
as that row of a report does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:  # it calculates with numpy, which a run that isn't scored has no need of
    from replay.statistics.pass_curves import PassKind

_FORM = re.compile(r"pass([\^@])([0-9]{1,3})\((.*?)(, conversations)?\)")
WAYS = "pass^3(SCORE), pass@3(SCORE) or pass^3(SCORE, conversations)"


class PassMetric(NamedTuple):
    """What is asked of several plays."""

    kind: PassKind
    k: int
    score: str
    """A score that is 0 or 1."""
    whole: bool
    """Of whole conversations."""


def is_pass_metric(metric: str) -> bool:
    """Return whether *metric* is meant as one."""
    return metric.startswith(("pass^", "pass@"))


def pass_metric(metric: str) -> PassMetric | None:
    """Parse *metric*, such as ``pass^3(check)``; return None if it has no valid form."""
    found = _FORM.fullmatch(metric)
    if found is None or int(found[2]) < 1:
        return None
    return PassMetric(cast("PassKind", found[1]), int(found[2]), found[3], bool(found[4]))
