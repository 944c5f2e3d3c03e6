"""A task that was set aside comes up again."""

from __future__ import annotations

from replay.study.tasks import Assignment, Task, next_task


def task(id, **more):
    return Task(id=id, kind="talk", content={}, conversation=f"c{id}", system=f"s{id}", **more)


def given(id, task, rater, state):
    return Assignment(id=id, task=task, rater=rater, state=state, given_at="2026-01-01", ended_at=None)


def test_for_others_at_once_and_for_whoever_set_it_aside_last_of_all():
    tasks = {one: task(one, raters=2) for one in (1, 2)}
    assignments = [given(1, 1, 1, "set-aside"), given(2, 2, 2, "done")]
    assert next_task(tasks, assignments, 1, seed=0).id == 2
    assert next_task(tasks, assignments, 3, seed=0).id == 1
    assignments.append(given(3, 2, 1, "done"))
    assert next_task(tasks, assignments, 1, seed=0).id == 1


def test_one_that_nobody_else_may_have_comes_up_for_the_same_person():
    tasks = {1: task(1, only=(1,))}
    assert next_task(tasks, [given(1, 1, 1, "set-aside")], 1, seed=0).id == 1
    assert next_task(tasks, [given(1, 1, 1, "set-aside")], 2, seed=0) is None
