"""The owner takes a task out of somebody's hands, or says who is to do it."""

from __future__ import annotations

from replay.core.errors import InputError
from replay.study.store import StudyStore
from replay.study.tasks import Rater


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
