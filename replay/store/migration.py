"""
Brings the database of an older version to this one, after a backup.

All in one transaction: a program that is killed on the way leaves the old version as it was. The old
database stays beside the new one as ``run.db.v1-backup``; one that is already there is never written over.

Version 1 kept a turn's moments and tokens as JSON; there was no load, and no turn was asked again.
"""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from replay.core.errors import RunError
from replay.store import schema
from replay.store.lock import hold, let_go

OLDEST = 1
_log = logging.getLogger("replay.store")

_FROM_JSON = {
    "prompt_tokens": "json_extract(usage, '$.prompt_tokens')",
    "completion_tokens": "json_extract(usage, '$.completion_tokens')",
    "cached_prompt_tokens": "NULL",
    **{
        name: f"json_extract(timing, '$.{name}')"
        for name in ("scheduled_s", "sent_s", "first_byte_s", "first_token_s", "done_s")
    },
    "token_gaps_100us": "NULL",
    "source": "NULL",
    "partial": "NULL",
}
_COPIED = ", ".join(_FROM_JSON.get(column, column) for column in schema.RECORD_COLUMNS)


def migrate(path: Path, version: int, *, locked: bool) -> Path | None:
    """
    Bring the database at *path*, which has the older *version*, to ours; returns the backup's place.

    *locked* says that the caller holds the run. None when another process has migrated it meanwhile.

    Raises:
        RunError: nobody can write there, an older program is writing, or it isn't what it should be.
    """
    lock = None
    if not locked:
        try:
            lock = hold(path.parent)
        except RunError as error:
            raise RunError(
                f'"{path}" has version {version} and has to be brought to version {schema.VERSION} first, '
                f"which is not possible now: {error}"
            ) from error
    try:
        with closing(schema.connect(str(path))) as connection:
            (found,) = connection.execute("PRAGMA user_version").fetchone()
            if found == schema.VERSION:
                return None
            backup = _back_up(connection, path, found)
            try:
                _migrate(connection, backup)
            except BaseException:
                backup.unlink(missing_ok=True)  # or each new attempt would leave one more
                raise
    except (sqlite3.Error, OSError) as error:
        raise RunError(
            f'"{path}" could not be brought from version {version} to version {schema.VERSION}: {error}. '
            "It is as it was; mend the cause (is the disk full?) and try again"
        ) from error
    finally:
        let_go(lock)
    _log.warning(
        "%s was brought from version %d to version %d; the old one is kept as %s",
        path,
        found,
        schema.VERSION,
        backup.name,
    )
    return backup


def _back_up(connection: sqlite3.Connection, path: Path, version: int) -> Path:
    """A copy beside *path*, complete before it has its name."""
    unfinished = path.with_name(f"{path.name}.v{version}-backup.unfinished")
    unfinished.unlink(missing_ok=True)  # of a program that was killed here
    try:
        with closing(sqlite3.connect(unfinished)) as copy:
            connection.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, which also opens where nobody can write
        number = 1
        while (backup := path.with_name(_backup_name(path, version, number))).exists():
            number += 1
        unfinished.rename(backup)  # we hold the run, so nobody takes the name in between
        return backup
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _backup_name(path: Path, version: int, number: int) -> str:
    return f"{path.name}.v{version}-backup{'' if number == 1 else f'-{number}'}"


def _migrate(connection: sqlite3.Connection, backup: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("ALTER TABLE turn RENAME TO turn_before")
        there = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        for name, statement in _tables().items():
            if name not in there:
                connection.execute(statement)
        columns = ", ".join(schema.RECORD_COLUMNS)
        connection.execute(
            f"INSERT INTO turn (rowid, {columns}) SELECT rowid, {_COPIED} FROM turn_before ORDER BY rowid"
        )
        connection.execute("DROP TABLE turn_before")
        connection.execute(schema.TURN_KEY)
        _check(connection)
        connection.execute(
            "INSERT INTO event (at, kind, data) VALUES (?, 'migrated', ?)",
            (
                datetime.now(UTC).isoformat(timespec="milliseconds"),
                schema.to_json({"to": schema.VERSION, "backup": backup.name}),
            ),
        )
        connection.execute(f"PRAGMA user_version={schema.VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _tables() -> dict[str, str]:
    """The statement that makes each of our tables, by name."""
    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(schema.TABLES)
        return dict(fresh.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))


def _check(connection: sqlite3.Connection) -> None:
    """
    Raises:
        RunError: a table has other columns than a new run's.
    """
    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(schema.TABLES)
        for name in _tables():
            wanted, found = (_columns(one, name) for one in (fresh, connection))
            if wanted != found:
                raise RunError(
                    f'the table "{name}" of this run is not that of version {OLDEST} (it has the columns '
                    f"{', '.join(found)}), so the run was left as it was"
                )


def _columns(connection: sqlite3.Connection, table: str) -> dict[str, tuple[str, int]]:
    """Type of each column, and whether it has to be there."""
    return {
        name: (kind, needed)
        for _, name, kind, needed, *_ in connection.execute(f"PRAGMA table_info({table})")
    }
