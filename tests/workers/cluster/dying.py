"""The program that plays a run on actors of this process, and its death: what it has not kept is gone."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from replay.results.run import Run
from replay.workers.cluster import actor_pool
from replay.workers.cluster.coordinator import RecordReceiver


class DyingProgram:
    """Its life ends with ``die``; the actors' ends with ``actors_end``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, keeps_the_last: bool = False) -> None:
        """*keeps_the_last*: it writes what comes at its very end, but nobody learns of that."""
        self._is_dead = False
        keep = RecordReceiver._keep

        async def keep_until_death(receiver: Any, *arguments: Any) -> None:
            if not self._is_dead or keeps_the_last:
                await keep(receiver, *arguments)
            if self._is_dead:
                await asyncio.Event().wait()

        monkeypatch.setattr(RecordReceiver, "_keep", keep_until_death)
        monkeypatch.setattr(actor_pool, "STOPPING_S", 0.01)

    def die(self) -> None:
        self._is_dead = True

    async def actors_end(self, running: asyncio.Task[Run]) -> None:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        self._is_dead = False


def durable_turns(folder: Path) -> set[tuple[str, int]]:
    """Conversation and depth of the turns in the run below *folder*."""
    found: set[tuple[str, int]] = set()
    for path in folder.glob("runs/*/run.db"):
        with closing(sqlite3.connect(path)) as database:
            found.update(database.execute("SELECT conversation, depth FROM turn"))
    return found
