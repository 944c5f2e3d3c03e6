"""Makes and opens the SQLite file of a run; in WAL mode, so that it can be read while it is written."""

from __future__ import annotations

import shutil
import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from replay.core.errors import RunError
from replay.store import schema, tables
from replay.store.completeness import LOCK, OPEN

_SCHEMA = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"


def make(path: Path, facts: Mapping[str, Any], *, has_turn_key: bool) -> None:
    """
    Make the folder of *path*, and there the database with *facts* in its table ``run``.

    Both are for their owner alone: all that was said is in them. What SQLite puts beside the database has its
    mode.

    Raises:
        RunError: the folder exists, or can't be made.
    """
    try:
        path.parent.mkdir(0o700, parents=True)
    except OSError as error:
        raise RunError(
            f"the run's folder \"{path.parent}\" can't be made: {error.strerror}; name another place for runs"
        ) from error
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        unfinished.touch(0o600)
        with closing(connect(unfinished)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            made = tables.TABLES + (f"{tables.TURN_KEY};" if has_turn_key else "")
            connection.executescript(f"BEGIN; {made} PRAGMA user_version={tables.VERSION}; COMMIT;")
            rows = [(key, schema.to_json(value)) for key, value in {**facts, OPEN: True}.items()]
            connection.executemany("INSERT INTO run VALUES (?, ?)", rows)
        (path.parent / LOCK).touch(0o600)
        # A program that is killed before this leaves no run, rather than half of one.
        unfinished.rename(path)
    except (sqlite3.Error, OSError) as error:
        shutil.rmtree(path.parent, ignore_errors=True)
        raise RunError(f"the run's database \"{path}\" can't be made: {error}") from error


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection that any one thread at a time may use."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30.0)
    connection.text_factory = schema.to_text
    # What a folder that somebody sent has beside tables (views, triggers) may call no function of ours.
    connection.execute("PRAGMA trusted_schema=OFF")
    # Called by SQLite, so that the writer's thread compresses and not the event loop's.
    connection.create_function("deflated", 1, zlib.compress, deterministic=True)
    return connection


def connect_checked(path: Path) -> sqlite3.Connection:
    """
    Return a connection to a database that was checked to exist and to have our tables.

    Raises:
        RunError: it can't be opened, is none, or is of another version.
    """
    connection = connect(path)
    try:
        _check(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError as error:
        raise RunError(
            f'"{path}" can\'t be opened: {error}. SQLite has to write beside it even to read: where '
            "nobody can write, copy the run's folder to somewhere else first"
        ) from error
    except sqlite3.DatabaseError as error:
        raise RunError(f'"{path}" is not a run\'s database: {error}') from error
    if version != tables.VERSION:
        raise RunError(
            f'"{path}" has version {version}, this program reads version {tables.VERSION}; '
            f"use the convreplay that wrote it{_written_by(connection)}, or a newer one"
        )
    _check_schema(connection, path)


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """A sent file may have a view without end in a table's place; tables and indexes beside ours are idle."""
    try:
        found = set(connection.execute(_SCHEMA))
    except sqlite3.DatabaseError as error:
        raise RunError(f'"{path}" is not a run\'s database: {error}') from error
    foreign = {entry for entry in found if entry[0] not in ("table", "index")}
    for kind, name, _ in sorted(_own_schema() - found or foreign):
        raise RunError(
            f'"{path}" is not a run\'s database: its {kind} "{name}" is not what convreplay makes; it is '
            "damaged, or somebody has changed it"
        )


@cache
def _own_schema() -> frozenset[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.executescript(tables.TABLES)
        return frozenset(memory.execute(_SCHEMA))


def _written_by(connection: sqlite3.Connection) -> str:
    try:
        (found,) = connection.execute("SELECT value FROM run WHERE key = 'version'").fetchone()
        return f" ({schema.from_json(found, str)})"
    except (sqlite3.Error, TypeError, msgspec.MsgspecError):  # tables of another version
        return ""
