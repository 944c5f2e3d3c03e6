"""
A node's own database of what it plays of a run: a *part*, there until the program that plays the run has it.

A turn that is in it is durable, so that the next question waits for no network. It goes to the program while
that is asked, and the part keeps how far that came: a program that was killed takes the rest from there when
the run is resumed (``replay.workers.cluster.left_journals``). A node that is lost takes at most one turn of
each conversation with it, and the question under way: no conversation is further ahead of the program.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from replay.core.disk_cache import cache_path
from replay.core.errors import InputError
from replay.core.raw_reply import RawReply
from replay.core.record import TurnRecord
from replay.core.step import Step, TurnPlace
from replay.core.uncancellable import in_thread
from replay.store.schema import Row, record_row, row_place
from replay.store.store import Durability, RunStore, now
from replay.store.undelivered import REACHED, RERUN_NUMBER, DeliveryMark
from replay.workers.cluster.coordinator_client import CoordinatorClient
from replay.workers.cluster.job import NodeJob

PlayKey = tuple[str, str, str]
"""Of a play: conversation, system, policy."""
MARKED_EVERY = 200
"""Turns after which the part keeps how far they came; who reads it may find some that have arrived."""


def parts_of(folder: str | None, run: str) -> Path:
    """
    Where on this node the parts of the *run* of that id are; *folder* is the setting ``cluster.folder``.

    Raises:
        InputError: nothing says where.
    """
    found = Path(folder).expanduser() if folder else cache_path("parts")
    if found is None:
        raise InputError(
            "cluster.folder: CONVREPLAY_CACHE says that nothing is kept on this node, and what it plays has "
            "to be until it has arrived; name a folder"
        )
    return found / run


class LocalJournal:
    """
    One that is being written, of what this process plays. A sink of records.

    Raises, wherever something is kept:
        RunError: it can't be written here.
        PeerGoneError, ReplayError: the program is gone, or couldn't take what came before.
    """

    def __init__(self, store: RunStore, parent: CoordinatorClient, *, raw_limit_bytes: int) -> None:
        """It is in *store* and goes to *parent*; of a reply as it came, *raw_limit_bytes* are kept."""
        self._store = store
        self._parent = parent
        self._raw_limit_bytes = raw_limit_bytes
        self._unsent: list[Row] = []
        self._last: dict[PlayKey, int] = {}
        """How many turns were written with the last one of each play under way."""
        self._is_sending = False
        self._written = DeliveryMark()
        self._sent = DeliveryMark()
        self._reached = DeliveryMark()
        self._marked = 0
        self._progress = asyncio.Event()
        self._failure: BaseException | None = None

    async def write(self, record: TurnRecord) -> None:
        """Return when *record* is durable, and this process may go on."""
        row = record_row(record)
        durable = self._store.write_row(row)
        self._written = self._written._replace(turns=self._written.turns + 1)
        self._unsent.append(row)
        if len(self._unsent) == 1:
            asyncio.get_running_loop().call_soon(self._send)
        place = row_place(row)[:3]
        before, self._last[place] = self._last.get(place, 0), self._written.turns
        await durable
        await self._until_reached(before)
        await self._parent.rpc.wait_reachable()

    def keep_raw(self, reply: RawReply) -> None:
        """Keep *reply* beside the record that is written next."""
        reply = replace(reply, asked_at=reply.asked_at or now())
        self._store.add_raw(reply, most_bytes=self._raw_limit_bytes)
        self._written = self._written._replace(raw=self._written.raw + 1)
        self._parent.keep_raw(reply)

    def keep_step(self, place: TurnPlace, number: int, asked: str, step: Step) -> Awaitable[None]:
        """As ``RunStore.write_step``."""
        self._parent.rpc.notify("keep_step", place, number, asked, step)
        return self._store.write_step(place, number, asked, step)

    def add_event(self, kind: str, data: Any) -> None:
        """As ``RunStore.add_event``."""
        self._store.add_event(kind, data)
        self._written = self._written._replace(events=self._written.events + 1)
        self._parent.add_event(kind, data)

    async def arrived(self, play: PlayKey) -> None:
        """Return when the program has all records of *play*, which is over."""
        await self._until_reached(self._last.pop(play, 0))

    async def close(self) -> None:
        """Send what is left, whoever hears it; nothing that has arrived stays."""
        self._is_sending = False
        self._send()
        await in_thread(self._store.close)
        if self._reached.turns == self._written.turns:
            await in_thread(_remove, self._store.folder)

    async def _until_reached(self, turns: int) -> None:
        while self._failure is None and self._reached.turns < turns:
            await self._progress.wait()
        if self._failure is not None:
            raise self._failure

    def _send(self) -> None:
        """One message at a time: what comes meanwhile goes with the next one."""
        if self._is_sending or not self._unsent or self._failure is not None:
            return
        rows, self._unsent = self._unsent, []
        # Replies and events went before these rows, on the same connection.
        self._sent = self._written._replace(turns=self._sent.turns + len(rows))
        self._is_sending = True
        kept = self._parent.rpc.call("keep_rows", rows, self._parent.take_answered())
        kept.add_done_callback(self._heard)

    def _heard(self, kept: asyncio.Future[None]) -> None:
        self._is_sending = False
        if (error := kept.exception()) is None:
            self._reached = self._sent
            if self._reached.turns - self._marked >= MARKED_EVERY:
                self._marked = self._reached.turns
                self._store.set_fact(REACHED, self._reached)
            self._send()
        else:
            self._failure = error
        self._progress.set()
        self._progress = asyncio.Event()


@asynccontextmanager
async def open_journal(
    job: NodeJob, parent: CoordinatorClient, *, durability: Durability, raw_limit_bytes: int
) -> AsyncIterator[CoordinatorClient | LocalJournal]:
    """
    Where what *job* asks goes: to its own part where it has one, else to the *parent* at once.

    Raises:
        InputError, RunError: the part can't be made.
    """
    if job.part is None:
        yield parent
        return
    place = job.part
    folder = await in_thread(parts_of, place.folder, job.run)
    facts = {"id": job.run, "part": place.id, RERUN_NUMBER: place.rerun}
    store = await in_thread(_made, folder / place.id, facts, durability)
    part = LocalJournal(store, parent, raw_limit_bytes=raw_limit_bytes)
    try:
        yield part
    finally:
        await part.close()


def _made(folder: Path, facts: dict[str, Any], durability: Durability) -> RunStore:
    for one in (folder.parent.parent, folder.parent):
        one.mkdir(0o700, parents=True, exist_ok=True)
    return RunStore.create(folder, facts, durability, has_turn_key=False)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder)
    with suppress(OSError):  # it is not this run's last part here
        folder.parent.rmdir()
