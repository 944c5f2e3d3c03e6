"""
Who is given which task next.

Least done first, so that all tasks come to their number of raters together and a study that ends early is
still balanced; of those, one of the system that this rater has met least, and then one of the system that
all have; of those, one about what this rater has not seen; the rest is drawn by the study's seed, in an order
of each rater's own. What is given back when somebody leaves counts no more, so its task comes up again. So
does one that was set aside since its system failed: for others at once, for whoever had it, last of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b

from replay.study.tasks import Assignment, Task

BEFORE_THE_END = ("set-aside", "given-back")
"""States in which a talk may have come to nothing before it showed a passage."""


def next_task(
    tasks: Mapping[int, Task], assignments: Iterable[Assignment], rater: int, *, seed: int
) -> Task | None:
    """
    Return the task that *rater* is given next, practice left out; None where there is none for them now.
    """
    by_task: Counter[int] = Counter()
    set_aside: Counter[int] = Counter()
    own: set[int] = set()
    own_systems: Counter[str | None] = Counter()
    systems: Counter[str | None] = Counter()
    seen: Counter[str] = Counter()
    knows: set[str] = set()
    for one in assignments:
        task = tasks[one.task]
        if task.practice is not None:
            continue
        if one.rater == rater and one.state != "given-back":
            if one.state == "set-aside":
                set_aside[task.id] += 1
            else:
                own.add(task.id)
            own_systems[task.system] += 1
            seen[task.conversation] += 1
        if one.rater == rater and not (task.unseen and one.state in BEFORE_THE_END and not one.talk_ended):
            knows.add(task.conversation)
        if one.state in ("open", "done"):
            by_task[task.id] += 1
            systems[task.system] += 1
    waiting = [
        task
        for task in tasks.values()
        if task.id not in own
        and is_for(task, rater, by_task[task.id])
        and not (task.unseen and task.conversation in knows)
    ]
    if not waiting:
        return None
    first = min(task.round for task in waiting)

    def rank(task: Task) -> tuple[object, ...]:
        return (
            set_aside[task.id],
            by_task[task.id],
            own_systems[task.system],
            systems[task.system],
            seen[task.conversation],
            draw_number(seed, rater if task.raters is None else 0, task.id),
        )

    return min((task for task in waiting if task.round == first), key=rank)


def is_for(task: Task, rater: int, given: int) -> bool:
    """Return whether *rater*, who hasn't got it yet, may be given *task*, which as many as *given* have."""
    return (
        task.practice is None
        and (task.raters is None or given < task.raters)
        and (task.only is None or rater in task.only)
        and rater not in task.never
    )


def draw_number(*parts: int) -> int:
    """Return a whole number in [0, 2**62) drawn for *parts*, the same on every machine."""
    digest = blake2b("|".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 2
