"""
What judges replied before, by content: the same prompt to the same model costs once.

A SQLite database of its own, which any number of processes may use at a time. A reply is found again by
a hash of everything that could change it: the prompt, who is asked (adapter and settings without
secrets), the parameters and the sample's number.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from replay.core.adapter import ChatReply

T = TypeVar("T")

VERSION = 1
TABLES = """
CREATE TABLE IF NOT EXISTS reply (
    key TEXT PRIMARY KEY,            -- hash of prompt, voter, parameters and sample
    created REAL NOT NULL,           -- seconds since 1970
    hits INTEGER NOT NULL DEFAULT 0, -- times it saved an ask
    voter TEXT NOT NULL,             -- JSON
    prompt TEXT NOT NULL,            -- JSON text
    reply TEXT NOT NULL              -- JSON
) STRICT, WITHOUT ROWID;
"""
_OPENING_TRIES = 50


def default_cache_path() -> Path:
    """
    ``verdicts.db`` in the folder that CONVREPLAY_CACHE names, or else in the user's cache folder.

    That is ``XDG_CACHE_HOME/convreplay``, by default ``~/.cache/convreplay``; on Windows below
    ``LOCALAPPDATA``.
    """
    if own := os.environ.get("CONVREPLAY_CACHE"):
        return Path(own).expanduser() / "verdicts.db"
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    folder = os.environ.get(variable)
    return (Path(folder) if folder else Path.home() / ".cache") / "convreplay" / "verdicts.db"


def cache_key(prompt: str, voter: str, parameters: Mapping[str, Any], sample: str) -> str:
    """The hash under which a reply is kept; *voter* is its identity, *sample* its number."""
    content = json.dumps([VERSION, prompt, voter, dict(parameters), sample], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


class VerdictCache:
    """
    The replies kept at *path*; an async context manager.

    A cache that can't be opened, read or written never stops a judge: it is then as if it were empty,
    and ``problem`` says why.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem: str | None = None
        # One thread owns the connection: a commit may wait for another process, the event loop may not.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="verdict-cache")
        self._connection: sqlite3.Connection | None = None

    async def __aenter__(self) -> Self:
        await self._guarded(self._open, None)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._in_thread(self._close)
        self._thread.shutdown()

    async def get(self, key: str) -> ChatReply | None:
        """The reply kept under *key*, counted as a hit; None if there is none."""
        return await self._guarded(lambda: self._get(key), None)

    async def put(self, key: str, reply: ChatReply, *, prompt: str, voter: str) -> None:
        """Keep *reply*; one that is there already stays, whoever wrote it."""
        # Plain JSON escapes every character that SQLite could refuse, such as half a surrogate pair.
        row = (key, time.time(), voter, json.dumps(prompt), json.dumps(_kept(reply)))
        await self._guarded(lambda: self._put(row), None)

    async def has(self, key: str) -> bool:
        """Whether there is a reply under *key*; not counted as a hit."""
        return await self._guarded(
            lambda: self._row("SELECT 1 FROM reply WHERE key = ?", key) is not None, False
        )

    async def hits(self) -> int:
        """How many asks the cache has saved since it was made, in all processes."""
        return await self._guarded(self._hits, 0)

    async def _guarded(self, work: Callable[[], T], otherwise: T) -> T:
        if self.problem is not None:
            return otherwise
        try:
            return await self._in_thread(work)
        except (sqlite3.Error, OSError, ValueError, msgspec.ValidationError) as error:
            self.problem = f"the verdict cache {self.path} can't be used: {error}"
            return otherwise

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(
            self.path, isolation_level=None, timeout=30.0, check_same_thread=False
        )
        _patiently(lambda: self._run("PRAGMA journal_mode=WAL"))
        self._run("PRAGMA synchronous=NORMAL")
        (version,) = self._run("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            raise ValueError(f"it has version {version}, this program uses version {VERSION}")
        _patiently(lambda: self._run(TABLES))
        self._run(f"PRAGMA user_version={VERSION}")

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _run(self, sql: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        assert self._connection is not None
        return self._connection.execute(sql, values)

    def _row(self, sql: str, *values: Any) -> Any:
        return self._run(sql, values).fetchone()

    def _get(self, key: str) -> ChatReply | None:
        row = self._row("SELECT reply FROM reply WHERE key = ?", key)
        if row is None:
            return None
        self._run("UPDATE reply SET hits = hits + 1 WHERE key = ?", (key,))
        return msgspec.convert(json.loads(row[0]), ChatReply)

    def _put(self, row: tuple[Any, ...]) -> None:
        sql = "INSERT OR IGNORE INTO reply (key, created, voter, prompt, reply) VALUES (?, ?, ?, ?, ?)"
        self._run(sql, row)

    def _hits(self) -> int:
        return int(self._row("SELECT coalesce(sum(hits), 0) FROM reply")[0])


def _kept(reply: ChatReply) -> dict[str, Any]:
    """What of *reply* is worth keeping: not its times, which were those of another day."""
    plain: dict[str, Any] = msgspec.to_builtins(reply)
    return {key: plain[key] for key in ("text", "usage", "cost_usd", "logprobs")}


def _patiently(work: Callable[[], object]) -> None:
    """Do what SQLite answers with "locked" at once, without its own waiting: changing the journal."""
    for _ in range(_OPENING_TRIES):
        try:
            work()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
        time.sleep(0.005)
    work()
