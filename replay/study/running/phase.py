"""
Whether a study is open, paused or closed, and whether its pilot is still on: what its owner says while it
goes on, kept in its database.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Literal, get_args

from replay.core.errors import InputError
from replay.study.running.study_file import StudyFile
from replay.study.store import StudyStore
from replay.study.tasks import Task

Phase = Literal["open", "paused", "closed"]
"""``paused``: what is answered is kept, and nothing more is shown for now. ``closed``: nobody comes in or is
given anything more; what is in people's hands is finished."""


def phase_of(store: StudyStore) -> Phase:
    """Return what the owner said last; a study begins open."""
    phase: Phase = store.fact("phase") or "open"
    return phase


def set_phase(store: StudyStore, phase: str) -> None:
    """
    Open, pause or close a study.

    Raises:
        InputError: *phase* is none.
    """
    if phase not in get_args(Phase):
        raise InputError(f'"{phase}" is nothing that a study can be: {", ".join(get_args(Phase))}')
    store.keep_fact("phase", phase)


def is_pilot(file: StudyFile, store: StudyStore) -> bool:
    """Return whether only the first tasks are given as yet."""
    return file.study.pilot is not None and not store.fact("pilot_over")


def end_pilot(store: StudyStore) -> None:
    """Give all other tasks, too."""
    store.keep_fact("pilot_over", True)


def tasks_now(file: StudyFile, store: StudyStore) -> Mapping[int, Task]:
    """Return the tasks that are given at present: all, or those of the pilot and what comes of them."""
    tasks = store.tasks()
    if not is_pilot(file, store):
        return tasks
    first = (id for id, task in tasks.items() if task.practice is None and not task.sources)
    pilot = set(islice(first, file.study.pilot))
    return {id: one for id, one in tasks.items() if id in pilot or one.sources or one.practice is not None}
