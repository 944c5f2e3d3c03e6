"""How far a rater is, and how long what is left will take them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from replay.study.assignment import is_for
from replay.study.database import seconds_between
from replay.study.tasks import Assignment, Rater, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterProgress:
    """How far a rater is."""

    done: int
    """Tasks that are done."""
    left: int | None
    """Tasks that they will be given, the open one among them, as far as that is known."""
    minutes_left: int | None
    """By their own median time for a task; None before there is one."""


def progress_of(
    rater: Rater,
    tasks: Mapping[int, Task],
    given: Mapping[int, int],
    own: Sequence[Assignment],
    active: Collection[int],
    most: int | None,
    to_come: float | None = 0,
) -> RaterProgress:
    """
    How far *rater* is, with *own* assignments of real work; *active* are the raters who still take part.

    Work that any of several people may do is shared out evenly among them; *given* says how many have each
    task or have done it. Nobody is given more than *most*. Of tasks that aren't made yet probably *to_come*
    will be theirs; None where nobody can tell.
    """
    held = {one.task: one for one in own if one.state != "given-back"}
    done = [one for one in held.values() if one.state == "done"]
    is_open = any(one.state == "open" for one in held.values())
    share = sum(
        _share(task, rater.id, given[task.id], active) for task in tasks.values() if task.id not in held
    )
    # Thirds don't add up to one.
    left = None if to_come is None else is_open + math.ceil(share + to_come - 1e-9)
    if most is not None and left is not None:
        left = min(left, most - len(done))
    took_s = [
        seconds for one in done if (seconds := seconds_between(one.given_at, one.ended_at or "")) is not None
    ]
    minutes = math.ceil(left * median(took_s) / 60) if took_s and left else None
    return RaterProgress(done=len(done), left=left, minutes_left=minutes)


def _share(task: Task, rater: int, given: int, active: Collection[int]) -> float:
    """Of a task that *rater* hasn't been given: how much of it comes to them, in [0, 1]."""
    if not is_for(task, rater, given):
        return 0.0
    if task.raters is None:
        return 1.0
    if task.only is None:
        able = len(active) - len(task.never) - given
    else:
        able = len(set(task.only) & set(active)) - given
    return min(1.0, (task.raters - given) / max(1, able))
