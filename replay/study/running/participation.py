"""
Who takes part in a study and in what there is to do: as its owner, its platform and people themselves say.

Whether it is open, paused or closed, and whether its pilot is still on, is kept in the database. People of a
platform come by one link for all, which holds each one's id there: whoever has the link and somebody's id is
that person. A study that needs more has no platform and gives each rater a link of their own.

What somebody has in their hands when they leave, aren't seen for long, or the owner says so, goes to others.
What they had answered stays: if their task is still free when they come back, they go on where they were.

Of raters and items that come as CSV all rows are added or none: the first one that can't be taken is named
with its line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal, get_args

import msgspec

from replay.core.decoding import convert_to
from replay.core.errors import InputError
from replay.study.running.study_file import PlatformSection, StudyFile
from replay.study.store import StudyStore
from replay.study.tasks import Assignment, NewTask, Rater, Task, is_for

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
    tasks, given, own = store.tasks(), store.raters_per_task(), store.assignments(rater)
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


LONGEST_NAME = 100


def add_raters(store: StudyStore, text: str) -> None:
    """
    Add the raters in *text*: a column ``name``, or a name on each line.

    Raises:
        InputError: a row can't be taken; nobody was added.
    """
    head = text.partition("\n")[0].strip().removeprefix("\ufeff")
    if "name" in re.split("[,;\t]", head):
        named = [(line, " ".join(row.get("name", "").split())) for line, row in _rows(text)]
    else:
        lines = [(line, " ".join(name.split())) for line, name in enumerate(text.splitlines(), start=1)]
        named = [(line, name) for line, name in lines if name]
    if not named:
        raise InputError("there is no name in it; nobody was added")
    with store.writing():
        for line, name in named:
            if not name or len(name) > LONGEST_NAME:
                raise InputError(
                    f"line {line}: a rater's name has 1 to {LONGEST_NAME} characters; nobody was added"
                )
            try:
                store.add_rater(name)
            except InputError as error:
                raise InputError(f"line {line}: {error}; nobody was added") from error


def add_items(file: StudyFile, store: StudyStore, text: str) -> None:
    """
    Add the items in *text*, a CSV with a row of names above, to those that people judge.

    Raises:
        InputError: the study's preset takes none, or a row can't be taken; nothing was added.
    """
    preset = file.preset
    if preset.added_item is None:
        raise InputError(f"{file.study.preset.name} takes no further items; rating and compare do")
    with store.writing():
        like = next(one for one in store.tasks().values() if one.practice is None and not one.sources)
        number = len(store.conversations)
        tasks: list[NewTask] = []
        conversations = []
        for line, row in _rows(text):
            try:
                item = convert_to(row, preset.added_item, strict=False)
            except msgspec.ValidationError as error:
                known = ", ".join(preset.added_item.__struct_fields__)
                raise InputError(f"line {line}: {error} (columns: {known}); nothing was added") from error
            task, about = preset.added_task(item, f"added-{number + len(tasks) + 1}")
            tasks.append(replace(task, raters=like.raters, never=like.never))
            conversations.append(about)
        if not tasks:
            raise InputError("there is no row in it; nothing was added")
        store.add_tasks(tasks)
        store.add_conversations(conversations)


def _rows(text: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """
    Yield the rows of a CSV with the lines where they end, without their empty cells.

    Raises:
        InputError: it is none.
    """
    head = text.partition("\n")[0]
    table = csv.DictReader(
        io.StringIO(text.removeprefix("\ufeff"), newline=""),
        delimiter=max(",;\t", key=head.count),
        strict=True,
        restkey="",
    )
    try:
        for row in table:
            if "" in row:
                raise InputError(
                    f"line {table.line_num}: has more cells than the first line has names; nothing was added"
                )
            yield table.line_num, {name.strip(): cell for name, cell in row.items() if cell and cell.strip()}
    except csv.Error as error:
        raise InputError(f"line {table.line_num}: is not valid CSV: {error}; nothing was added") from error
