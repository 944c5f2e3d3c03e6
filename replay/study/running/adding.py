"""
Raters and items that come while a study goes on, from CSV.

All rows or none: the first one that can't be taken is named with its line, and nothing is added.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import msgspec

from replay.core.decoding import convert_to
from replay.core.errors import InputError
from replay.study.running.study_file import StudyFile
from replay.study.store import StudyStore
from replay.study.tasks import NewTask

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
            task, about = preset.added(item, f"added-{number + len(tasks) + 1}")
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
