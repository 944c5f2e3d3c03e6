"""Who is given what, apart from everything else."""

from __future__ import annotations

import pytest

from replay.study.tasks import Assignment, Task, next_task

TASKS = {
    1: Task(id=1, kind="talk", content={}, conversation="a", unseen=True),
    2: Task(id=2, kind="talk", content={}, conversation="a", unseen=True),
}


def had(task: int, state: str, *, talk_ended: bool = False) -> Assignment:
    return Assignment(id=1, task=task, rater=1, state=state, given_at="", ended_at="", talk_ended=talk_ended)


@pytest.mark.parametrize(
    ("before", "may"),
    [
        (had(1, "done", talk_ended=True), False),
        (had(1, "set-aside"), True),
        (had(1, "given-back"), True),
        (had(1, "given-back", talk_ended=True), False),
    ],
)
def test_what_nobody_may_have_seen_is_kept_from_those_who_have(before, may):
    """A talk that came to nothing has shown no passage; one that was over when it was given back has."""
    assert (next_task(TASKS, [before], 1, seed=0) is not None) is may
    assert next_task(TASKS, [before], 2, seed=0) is not None
