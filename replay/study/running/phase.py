"""
Whether a study is open, paused or closed, whether its pilot is still on, and who comes in meanwhile.

What the owner says of it is kept in the database. People of a platform come by one link for all, which holds
each one's id there: whoever has the link and somebody's id is that person. A study that needs more has no
platform and gives each rater a link of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Literal, get_args

from replay.core.errors import InputError
from replay.study.running.study_file import PlatformSection, StudyFile
from replay.study.store import StudyStore
from replay.study.tasks import Rater, Task

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


_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,99}", re.ASCII)


def platform_id(platform: PlatformSection, address: Mapping[str, str]) -> str | None:
    """Return the id in an *address*; None where there is none, or a placeholder that the platform left."""
    given = address.get(platform.id, "").strip()
    return given if _ID.fullmatch(given) else None


def join(store: StudyStore, platform: PlatformSection, id: str) -> Rater | str:
    """
    Let in whoever is called *id* on the platform, as the one they were if they come again.

    Returns:
        The rater; or, in words for people, why there is none.
    """
    with store.writing():
        known = next((one for one in store.raters() if one.name == id), None)
        if known is not None:
            # The owner's own raters have links of their own; nobody becomes one of them by a name.
            return known if known.joined_at else "This id can't be used in this study."
        if (phase := phase_of(store)) != "open":
            return "This study is over." if phase == "closed" else "This study is paused. Come back later."
        taken = sum(one.joined_at is not None and one.takes_part for one in store.raters())
        if taken >= platform.places:
            return "All places in this study are taken."
        return store.add_rater(id, joined_at=store.now())
