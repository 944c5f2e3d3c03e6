"""
Results that took long or cost money, kept on disk from run to run: what slow resolvers made of gold
documents, what judges replied, what systems answered where ``play.cache`` names a folder for that.

A SQLite file for each kind, shared by all processes of a user. It is never needed and stops nobody: where
it can't be read, written or waited for, it is as if nothing were kept.

All but systems' answers are in ``$CONVREPLAY_CACHE``, else (also where that is empty) in the user's cache
folder.
``CONVREPLAY_CACHE=off`` keeps nothing, and so do ``none``, ``no``, ``false`` and ``0``, in capitals as well;
a folder of such a name is written ``./off``.

Not by diskcache (5.6.3): it writes its settings at each opening, so that what is read-only can't be read, and
waits 60 s for a lock then; it unpickles values and takes what a file says of itself for its own attributes,
where ``play.cache`` may name a folder that somebody else has filled.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

VERSION = 2
"""Of the file's layout, and of what goes into a key."""
WAIT_S = 5.0
"""For another process that is writing."""

_OFF = ("off", "none", "no", "false", "0")

_log = logging.getLogger("replay.cache")


def cache_path(name: str) -> Path | None:
    """
    Return the path of the cache file called *name*; None if caching is off or the user has no home folder.

    The environment variable ``CONVREPLAY_CACHE`` names the folder or turns the cache off; otherwise the file
    is in the user's cache folder, under ``convreplay``.
    """
    chosen = os.environ.get("CONVREPLAY_CACHE")
    if chosen and chosen.lower() in _OFF:
        return None
    if chosen:
        return Path(chosen).expanduser() / name
    home = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    try:
        return (Path(home) if home else Path.home() / ".cache") / "convreplay" / name
    except RuntimeError:  # a user without a home
        return None


def content_key(*parts: Any) -> bytes:
    """Return a hash of everything that a result depends on: texts, numbers, mappings, records."""
    # Plain JSON, since it escapes what UTF-8 refuses, such as half a surrogate pair.
    content = json.dumps([VERSION, *map(msgspec.to_builtins, parts)], sort_keys=True)
    return hashlib.sha256(content.encode()).digest()


class DiskCache:
    """Bytes by key, in the file at *path*; for any number of threads and processes."""

    def __init__(
        self, path: Path | None, *, renew_damaged: bool = False, largest_bytes: int | None = None
    ) -> None:
        """
        *path* None keeps nothing. *renew_damaged*: what is at *path* is ours to delete when it can't be
        read. The quarter that was written first goes when the file has reached about *largest_bytes*.
        """
        self.path = path
        self.problem: str | None = None
        """Why it could not be used, the first time that happened."""
        self.is_locked: bool = False
        """That was another process, which was writing it all the time."""
        self._renew_damaged = renew_damaged
        self._largest_bytes = largest_bytes

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the entries found, by key. Reading creates no file."""

        def look_up(db: sqlite3.Connection) -> dict[bytes, bytes]:
            rows = (
                (key, db.execute("SELECT value FROM entry WHERE key = ?", (key,)).fetchone()) for key in keys
            )
            return {key: row[0] for key, row in rows if row is not None}

        return self._use(look_up, make=False) or {}

    def put(self, entries: Mapping[bytes, bytes]) -> None:
        """Keep *entries*, in place of those of the same key."""

        def keep(db: sqlite3.Connection) -> None:
            with db:
                db.executemany("INSERT OR REPLACE INTO entry (key, value) VALUES (?, ?)", entries.items())
                if self._largest_bytes is not None and _bytes_in(db) > self._largest_bytes:
                    db.execute(
                        "DELETE FROM entry WHERE number <= "
                        "(SELECT min(number) + (max(number) - min(number)) / 4 FROM entry)"
                    )

        if entries:
            self._use(keep, make=True)

    def _use(self, work: Callable[[sqlite3.Connection], T], *, make: bool) -> T | None:
        """Return the result of *work* on the open file; None if it fails, or there is no file to read."""
        if self.path is None:
            return None
        try:
            if not make and not self.path.exists():
                return None
            try:
                return self._on_file(self.path, work)
            except sqlite3.OperationalError:  # no space, no permission, or locked for longer than we wait
                raise
            except sqlite3.DatabaseError:
                if not self._renew_damaged:
                    raise
                self.path.unlink(missing_ok=True)
                self.path.with_name(f"{self.path.name}-journal").unlink(missing_ok=True)
                return self._on_file(self.path, work)
        except (OSError, sqlite3.Error, ValueError) as error:
            if self.problem is None:
                self.is_locked = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
            self.problem = self.problem or f"the cache {self.path} can't be used: {error}"
            _log.info("cache %s: %s", self.path, error)
            return None

    @staticmethod
    def _on_file(path: Path, work: Callable[[sqlite3.Connection], T]) -> T:
        # For their owner alone: what systems and judges said is in it.
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        if not path.exists():
            path.touch(0o600)
        # Opened for each use: that takes 0.1 ms, and nobody has to close it, nor own it in one thread.
        with closing(sqlite3.connect(path, timeout=WAIT_S)) as db:
            # At once, since another process may be making the file.
            version, tables = db.execute(
                "SELECT user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version"
            ).fetchone()
            if version == 0 and tables == 0:
                db.executescript(
                    "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS entry "
                    "(number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, value BLOB NOT NULL); "
                    f"PRAGMA user_version = {VERSION}; COMMIT"
                )
            elif version != VERSION:
                raise ValueError(f"it has version {version}, this program uses version {VERSION}")
            return work(db)


def _bytes_in(db: sqlite3.Connection) -> int:
    # Freed pages are filled again before the file grows, so that it stays about this large.
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
