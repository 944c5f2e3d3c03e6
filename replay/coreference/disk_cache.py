"""
What a slow resolver said of gold documents, kept on disk from run to run.

The gold side of every comparison depends on the data set and the resolver alone, so that a second run
over the same data need not pay for it again. One SQLite file, shared by all processes of a user; it
holds nothing that can't be computed again, and never fails a run: a damaged file is made anew, and
where there is no writing, there is no cache.

The folder is ``$CONVREPLAY_CACHE``, else ``$XDG_CACHE_HOME/convreplay``, else ``~/.cache/convreplay``;
``CONVREPLAY_CACHE=off`` keeps nothing.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import msgspec

from replay.coreference.resolver import Document

T = TypeVar("T")

FILE = "coreference-1.db"
"""The number is that of the layout, entries included."""
LARGEST_BYTES = 256 * 2**20
"""Some 400,000 documents; the quarter that was written first goes when it is reached."""
WAIT_S = 5.0
"""For another process that is writing."""

_log = logging.getLogger("replay.coreference")


def cache_folder() -> Path | None:
    """Where caches go by the environment; None for nowhere."""
    chosen = os.environ.get("CONVREPLAY_CACHE", "")
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(home) if home else Path.home() / ".cache") / "convreplay"
    except RuntimeError:  # a user without a home
        return None


def key_of(kind: str, signature: str, document: Document) -> bytes:
    """The content hash under which a result is kept: what was asked, of which resolver, of what."""
    return hashlib.sha256(msgspec.json.encode([kind, signature, document])).digest()


class DiskCache:
    """Bytes by content hash. Opened with the first use; for one thread at a time."""

    def __init__(self, folder: Path | None = None, *, largest_bytes: int = LARGEST_BYTES) -> None:
        """*folder* None takes the environment's."""
        self._folder = cache_folder() if folder is None else folder
        self._largest_bytes = largest_bytes

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The entries that are there, by key."""

        def look_up(db: sqlite3.Connection) -> dict[bytes, bytes]:
            found = {}
            for key in keys:
                row = db.execute("SELECT value FROM entry WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    found[key] = bytes(row[0])
            return found

        return self._use(look_up, {}) if keys else {}

    def put(self, entries: Mapping[bytes, bytes]) -> None:
        """Keep *entries*, in place of those of the same key."""

        def keep(db: sqlite3.Connection) -> None:
            with db:
                db.executemany("INSERT OR REPLACE INTO entry (key, value) VALUES (?, ?)", entries.items())
                if self._bytes(db) > self._largest_bytes:
                    db.execute(
                        "DELETE FROM entry WHERE number <= "
                        "(SELECT min(number) + (max(number) - min(number)) / 4 FROM entry)"
                    )

        if entries:
            self._use(keep, None)

    @staticmethod
    def _bytes(db: sqlite3.Connection) -> int:
        # Freed pages are filled again before the file grows, so that it stays about this large.
        pages, free, size = (
            db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    def _use(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """*work* on the open file, a damaged one being made anew once; *otherwise* where that fails."""
        for attempt in (1, 2):
            if self._folder is None:
                break
            file = self._folder / FILE
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                with closing(self._open(file)) as db:
                    return work(db)
            except (OSError, sqlite3.OperationalError) as error:
                # No space, no permission, or locked for longer than we wait: not this time.
                _log.info("coreference cache %s: %s", file, error)
                break
            except sqlite3.DatabaseError as error:
                _log.info("coreference cache %s is damaged and made anew: %s", file, error)
                if attempt == 1:
                    self._remove(file)
        return otherwise

    def _open(self, file: Path) -> sqlite3.Connection:
        db = sqlite3.connect(file, timeout=WAIT_S)
        try:
            db.execute("PRAGMA synchronous = OFF")  # losing it to a power cut costs time, not truth
            db.execute(
                "CREATE TABLE IF NOT EXISTS entry "
                "(number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, value BLOB NOT NULL)"
            )
        except BaseException:
            db.close()
            raise
        return db

    @staticmethod
    def _remove(file: Path) -> None:
        for path in (file, file.with_name(f"{file.name}-journal")):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                _log.info("coreference cache %s can't be removed: %s", path, error)
