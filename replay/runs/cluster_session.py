"""
A session of a run that a cluster plays: from its start, or from a resume on, until its program ends.

Each node keeps what it plays until this program has it; so a session begins with what is left of earlier
ones.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, Self

from replay.results.recovery import keep_recovered, recover_part
from replay.results.rerun_plan import Rerun
from replay.scenario.cluster_section import ClusterSection
from replay.store.schema import Row
from replay.store.store import RunStore
from replay.store.undelivered import UndeliveredPart
from replay.workers.cluster.job import JournalId, NodeJob

_BEGUN = "cluster-session"
"""The event of one such session."""


class NodeJournals(Protocol):
    """What nodes still have of a run."""

    @property
    def has_lost(self) -> bool:
        """Whether an actor was lost, whose part may still be there."""
        ...

    def left(self, run: str) -> AsyncIterator[UndeliveredPart]:
        """Part after part of the *run* of that id, once nobody writes it any more."""
        ...

    async def drop_left(self, run: str) -> None:
        """Delete them."""
        ...


class ClusterSession:
    """One that has begun."""

    def __init__(self, folder: str | None, store: RunStore, rerun: Rerun | None, number: int) -> None:
        """Which it is of the run in *store* says *number*, from 1; *folder* is the nodes' for parts."""
        self._folder = folder
        self._store = store
        self._rerun = rerun
        self._number = number

    @classmethod
    async def begin(cls, cluster: ClusterSection, store: RunStore, rerun: Rerun | None) -> Self:
        """Begin one of the run in *store*, which *cluster* plays."""
        number = len(store.events(_BEGUN)) + 1
        store.add_event(_BEGUN, {"number": number})
        await store.flush()  # or the next session's parts would be where this one's are
        return cls(cluster.folder, store, rerun, number)

    def job(self, job: Callable[..., NodeJob]) -> Callable[..., NodeJob]:
        """*job* of a worker's number, with the part that it keeps."""

        def with_part(*, worker: int, workers: int) -> NodeJob:
            rerun = self._rerun.number if self._rerun else 0
            part = JournalId(folder=self._folder, session=self._number, number=worker, rerun=rerun)
            return job(worker=worker, workers=workers, part=part)

        return with_part

    async def take_left(
        self, nodes: NodeJournals, keep_rows: Callable[[list[Row], set[str]], Awaitable[None]]
    ) -> None:
        """
        Take into the run, by *keep_rows*, what *nodes* still have of it.

        Raises:
            RunError: something of it can't be read.
        """
        if self._number == 1:
            return
        run = self._store.needed("id")
        taken = [
            await recover_part(part, self._store, self._rerun, keep_rows) async for part in nodes.left(run)
        ]
        keep_recovered(self._store, taken)
        await self._store.flush()
        await nodes.drop_left(run)

    async def end(self, nodes: NodeJournals) -> None:
        """All is played: what lost actors left on *nodes* that live was played elsewhere, and goes."""
        if nodes.has_lost:
            await nodes.drop_left(self._store.needed("id"))
