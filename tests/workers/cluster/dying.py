"""The program that plays a run on nodes of this process, and its death: what it has not kept then is gone."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from replay.results.run import Run
from replay.runs import cluster_plays

_HEARD = ("keep_raw", "keep_rows", "keep_step", "add_event")


class DyingProgram:
    """Its life ends with ``die``; the nodes' ends with ``nodes_end``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, keeps_the_last: bool = False) -> None:
        """*keeps_the_last*: it writes what comes at its very end, but nobody learns of that."""
        self._is_dead = False
        self._keeps = keeps_the_last
        made = cluster_plays._RunCoordinator.__init__

        def make(host: Any, *arguments: Any) -> None:
            made(host, *arguments)
            for name in _HEARD:
                setattr(host, name, self._until_death(getattr(host, name)))

        monkeypatch.setattr(cluster_plays._RunCoordinator, "__init__", make)

    def die(self) -> None:
        self._is_dead = True

    async def nodes_end(self, running: asyncio.Task[Run]) -> None:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        self._is_dead = False

    def _until_death(self, method: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def heard(*arguments: Any) -> Any:
            found = None
            if not self._is_dead or self._keeps:
                found = method(*arguments)
                found = await found if asyncio.isfuture(found) or asyncio.iscoroutine(found) else found
            if self._is_dead:
                await asyncio.Event().wait()
            return found

        return heard


def durable_turns(folder: Path) -> set[tuple[str, int]]:
    """Conversation and depth of the turns in the run below *folder*, and of those in its nodes' parts."""
    found: set[tuple[str, int]] = set()
    for path in [*folder.glob("runs/*/run.db"), *folder.glob("parts/*/*/run.db")]:
        with closing(sqlite3.connect(path)) as database:
            found.update(database.execute("SELECT conversation, depth FROM turn"))
    return found
