"""
What somebody has in their hands when they leave, aren't seen for long, or the owner says so, goes to others.

What they had answered stays: if their task is still free when they come back, they go on where they were.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from replay.core.errors import InputError
from replay.study.assignment import is_for
from replay.study.store import StudyStore
from replay.study.tasks import Assignment, Rater


def leave(store: StudyStore, rater: int) -> None:
    """End the part of *rater* in the study; finished work stays and counts, an open task is given back."""
    with store.writing():
        store.mark_rater(rater, left_at=store.now())
        for one in store.assignments(rater):
            if one.state == "open":
                store.end(one.id, "given-back", "left")


def stop(store: StudyStore, rater: int) -> None:
    """End the part of *rater*, who failed too many attention items, and give all their work to others."""
    with store.writing():
        store.mark_rater(rater, stopped_at=store.now())
        discard_all(store, rater)


def discard_all(store: StudyStore, rater: int) -> None:
    """Discard the finished work of *rater*, and give that and their open task to others."""
    with store.writing():
        for one in store.assignments(rater):
            if one.state == "open":
                store.end(one.id, "given-back", "discarded")
            elif store.task(one.task).practice is None:
                store.discard(one.id)


def let_back(store: StudyStore, rater: int) -> None:
    """Let *rater*, who has left or was stopped, take part again; count again what was discarded of theirs."""
    with store.writing():
        store.mark_rater(rater, left_at=None, stopped_at=None)
        for one in store.assignments(rater):
            if one.state == "discarded":
                store.restore(one.id)


def give_back_idle(store: StudyStore, idle_h: float, *, but: int) -> None:
    """Take out of raters' hands what they haven't looked at for *idle_h* hours; *but* is one who is here."""
    before = datetime.fromisoformat(store.now()) - timedelta(hours=idle_h)
    tasks = store.tasks()
    for one, seen_at in store.seen_open():
        if datetime.fromisoformat(seen_at) < before and one.rater != but and tasks[one.task].practice is None:
            store.end(one.id, "given-back", "idle")


def take_up_again(store: StudyStore, rater: int) -> Assignment | None:
    """Reopen and return the last assignment that *rater* gave back and whose task nobody else has now."""
    tasks, given, own = store.tasks(), store.given(), store.assignments(rater)
    held = {one.task for one in own if one.state != "given-back"}
    for one in reversed(own):
        task = tasks[one.task]
        if one.state == "given-back" and one.task not in held and is_for(task, rater, given[task.id]):
            store.reopen(one.id)
            return store.assignment(one.id)
    return None


def give_to_others(store: StudyStore, assignment_id: int) -> None:
    """
    Take an assignment from its rater, be it done or open: it counts no more, and others get its task.

    Raises:
        InputError: there is none that counts.
    """
    with store.writing():
        found = store.assignment(assignment_id)
        if found is None or not found.counts:
            raise InputError("that isn't in anybody's hands any more; load the page again")
        if found.state == "open":
            store.end(found.id, "discarded", "reassigned")
        else:
            store.discard(found.id, "reassigned")


def give_to(store: StudyStore, task_id: int, rater: Rater) -> None:
    """
    Give a task that one person does to *rater*, who gets it when they look in next.

    Raises:
        InputError: there is no such task, several do it, *rater* has had it or may not have it.
    """
    with store.writing():
        task = store.tasks().get(task_id)
        if task is None or task.practice is not None or task.raters != 1:
            raise InputError("only a task that one person does can be given to somebody")
        given = [one for one in store.assignments() if one.task == task_id]
        if rater.id in task.never or any(
            one.rater == rater.id and one.state != "given-back" for one in given
        ):
            raise InputError(f"{rater.name} has had it, or would judge their own work; choose somebody else")
        for one in given:
            if one.counts:
                give_to_others(store, one.id)
        store.reserve(task_id, rater.id)
