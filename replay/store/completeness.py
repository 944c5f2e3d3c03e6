"""
Whether a run's database still holds all that was committed to it.

After a kill the last turns are in SQLite's write-ahead log beside the database, and SQLite takes the database
without a word where that file was deleted, cut or not copied along. So the writer keeps beside both, in the
file that it locks, how far its commits have come; and the database says of itself whether it was closed.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import IO, NamedTuple

LOCK = "lock"
_LINE = 42
"""Bytes of a mark in that file."""
OPEN = "open"
"""The fact of a run that is being written, or whose program was killed at it."""


class Mark(NamedTuple):
    """How far commits have come; a later one is always greater, since turns only ever move to superseded."""

    superseded: int
    """Highest row of that table."""
    turns: int
    """Highest row of that table."""


class Missing(NamedTuple):
    """What the database no longer holds."""

    turns: int | None
    """Turns at least; None where that can't be known."""

    @property
    def sentence(self) -> str:
        """For a person."""
        if self.turns is None:
            return (
                "The run's last turns may be lost: run.db was copied while it was written, or after a kill, "
                "and without its run.db-wal, where they are. `replay resume` asks what is missing."
            )
        turns = f"{self.turns:,} turn{' is' if self.turns == 1 else 's are'} lost"
        return (
            f"{turns} that had been stored: run.db-wal was deleted or cut after the program was killed, or "
            "run.db is an older copy. `replay resume` asks what is missing."
        )


def committed_rows(connection: sqlite3.Connection) -> Mark:
    """Return how far the commits have come that *connection* sees."""
    highest = "coalesce((SELECT max(rowid) FROM {}), 0)"
    sql = f"SELECT {highest.format('superseded')}, {highest.format('turn')}"
    return Mark._make(connection.execute(sql).fetchone())


def write_mark(lock: IO[bytes], mark: Mark, writer: int = 0) -> None:
    """
    Keep *mark* in the *lock*'s file, in the line of the *writer* of that number.

    Each line has one length, so that one write is all it takes and no writer touches another one's.
    """
    lock.seek(writer * _LINE)
    lock.write(b"%020d %020d\n" % mark)


def keep_first_mark(lock: IO[bytes]) -> None:
    """Forget what other writers than the first said, who knows what is there now."""
    lock.truncate(_LINE)


def read_mark(folder: Path) -> Mark | None:
    """Return the furthest mark in *folder*; None if there is no lock file, as in a copied run."""
    try:
        text = (folder / LOCK).read_bytes()
    except OSError:
        return None
    try:
        # Lines that nobody has written yet, before one that somebody has, are zeros.
        lines = text.replace(b"\0", b"").splitlines()
        return max(Mark._make(map(int, line.split())) for line in lines)
    except (ValueError, TypeError):
        return Mark(0, 0)


def missing(mark: Mark | None, connection: sqlite3.Connection, path: Path) -> Missing | None:
    """
    Return what the database at *path* has lost; None if nothing.

    Args:
        mark: The furthest mark that writers left, read before; None if there is none.
        connection: A connection to the database.
        path: The database file.

    Raises:
        sqlite3.Error: the database can't be read.
    """
    if mark is not None:
        now = committed_rows(connection)
        if now >= mark:
            return None
        return Missing(mark.superseded - now.superseded or mark.turns - now.turns)
    log = path.with_name(f"{path.name}-wal")
    is_open = connection.execute("SELECT value FROM run WHERE key = ? AND value = 'true'", [OPEN]).fetchone()
    return Missing(None) if is_open and not (log.exists() and log.stat().st_size) else None
