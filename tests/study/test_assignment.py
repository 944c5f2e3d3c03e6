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


def task(id, **more):
    return Task(id=id, kind="talk", content={}, conversation=f"c{id}", system=f"s{id}", **more)


def given(id, task, rater, state):
    return Assignment(id=id, task=task, rater=rater, state=state, given_at="2026-01-01", ended_at=None)


def test_a_task_set_aside_comes_up_for_others_at_once_and_for_whoever_set_it_aside_last_of_all():
    tasks = {one: task(one, raters=2) for one in (1, 2)}
    assignments = [given(1, 1, 1, "set-aside"), given(2, 2, 2, "done")]
    assert next_task(tasks, assignments, 1, seed=0).id == 2
    assert next_task(tasks, assignments, 3, seed=0).id == 1
    assignments.append(given(3, 2, 1, "done"))
    assert next_task(tasks, assignments, 1, seed=0).id == 1


def test_a_task_set_aside_that_nobody_else_may_have_comes_up_for_the_same_person():
    tasks = {1: task(1, only=(1,))}
    assert next_task(tasks, [given(1, 1, 1, "set-aside")], 1, seed=0).id == 1
    assert next_task(tasks, [given(1, 1, 1, "set-aside")], 2, seed=0) is None
