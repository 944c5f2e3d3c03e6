"""Makes the database of a new study."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from replay.core.conversation import Conversation
from replay.core.errors import InputError
from replay.store.schema import to_json
from replay.study import schema
from replay.study.passages import TABLES as PASSAGE_TABLES, keep_passages
from replay.study.schema import connect, task_row
from replay.study.tasks import NewTask


def make_study(
    path: Path,
    facts: Mapping[str, Any],
    raters: Sequence[str],
    tasks: Sequence[NewTask],
    conversations: Sequence[Conversation] = (),
) -> None:
    """
    Make the database of a new study at *path*, with *facts*, *raters* (ids from 1) and *tasks*.

    Of *conversations* the passages are kept.

    Raises:
        InputError: it can't be made.
    """
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.unlink(missing_ok=True)
        unfinished.touch(0o600)
        with closing(connect(unfinished)) as connection:
            connection.executescript(
                f"BEGIN; {schema.TABLES} {PASSAGE_TABLES} PRAGMA user_version={schema.VERSION}; COMMIT;"
            )
            kept = {**facts, "secret": secrets.token_hex(32)}
            connection.executemany(
                "INSERT INTO study VALUES (?, ?)", [(key, to_json(value)) for key, value in kept.items()]
            )
            connection.executemany("INSERT INTO rater (name) VALUES (?)", [(name,) for name in raters])
            connection.execute("BEGIN")
            connection.executemany(schema.INSERT_TASK, map(task_row, tasks))
            keep_passages(connection, conversations)
            connection.execute("COMMIT")
        # A program that is killed before this leaves no study, rather than half of one.
        unfinished.rename(path)
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"the study's database \"{path}\" can't be made: {error}") from error
