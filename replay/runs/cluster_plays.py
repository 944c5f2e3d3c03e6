"""
A run that the nodes of a Ray cluster play, as nodes come and go.

A conversation goes, with all its systems and policies, to whichever actor has room, and no other plays any
of it: so its gold side is resolved once. What a lost actor had not finished is played by the others, from
what is durable of it. What an actor does is ``open_work`` (``replay.workers.cluster.actor``).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from functools import partial
from itertools import groupby
from time import perf_counter, time
from typing import Any

from replay.core.asking.costs import AskTally
from replay.core.asking.limits import RateLimit
from replay.core.asking.retries import open_endpoints
from replay.core.conversation import Conversation
from replay.core.lifetimes import in_thread
from replay.core.load_record import LagSummary
from replay.core.logs import log_event
from replay.core.record import TurnRecord
from replay.core.safety.consent import code_may_run
from replay.play.engine import SharedIterator
from replay.play.event_loop import InFlightRequests, LoopLag, first_failure
from replay.play.gc_pause import gc_paused
from replay.play.load.level import share_of
from replay.play.play import Play
from replay.play.player import Player, is_over
from replay.play.turn_record import OnFailure, turn_record
from replay.policies.policy import PlannedTurn
from replay.policies.rewrite import open_policies
from replay.results.play_events import keep_lost_worker, with_versions
from replay.results.rerun_plan import Rerun
from replay.runs.following import RunListeners, WorkerProgress, WorkerStatus
from replay.runs.play_share import Lags, left_of, play_options, remaining_plays, with_own_resolver, worst_lags
from replay.scenario.assembly import Assembly, assemble
from replay.store.schema import Row, from_json, record_row, row_record, to_json
from replay.store.store import RunStore
from replay.workers.cluster.actor import Inputs, Outbox
from replay.workers.cluster.actor_pool import ActorHandle, ActorLostError, ActorPool, open_actor_pool
from replay.workers.cluster.coordinator import LimitShares, RecordReceiver
from replay.workers.job import WorkerJob, workers_within_limits


async def play_on_cluster(
    assembly: Assembly,
    store: RunStore,
    rerun: Rerun | None,
    following: RunListeners,
    show: Callable[[Sequence[WorkerProgress]], None],
    *,
    asks_beside: bool,
) -> Lags:
    """
    Play on a cluster what *store* has no record of, and what *rerun* still has to ask.

    Args:
        assembly: What is played.
        store: The run.
        rerun: The rerun that is under way.
        following: Is told what happens.
        show: Given who plays, now and then.
        asks_beside: Whether this program asks within the same rate limits.

    Returns:
        How far the actors' event loops lagged behind, by system: the worst of them.

    Raises:
        InputError: the cluster can't be reached.
        RunStoppedError: no node is left, or a system refuses our key or failed too often in a row.
        ReplayError: the run could not go on; what was answered until then is in the store.
    """
    plays = assembly.file.scenario.play.concurrency
    most = workers_within_limits(plays, assembly.limits.values(), asks_beside=asks_beside)
    run = _ClusterRun(assembly, store, rerun, following, asks_beside=asks_beside)
    try:
        async with open_actor_pool(assembly, most=most, plays=plays) as pool, run.status.show_regularly(show):
            await run.play(pool)
        run.limits.end()
    finally:
        for _, asked in run.reports:
            if assembly.service.asked is not None and asked is not None:
                assembly.service.asked.tally.add(asked)
    return worst_lags(lags for lags, _ in run.reports)


class _ClusterRun:
    """One session of it."""

    def __init__(
        self,
        assembly: Assembly,
        store: RunStore,
        rerun: Rerun | None,
        following: RunListeners,
        *,
        asks_beside: bool,
    ) -> None:
        self.status = WorkerStatus()
        self.reports: list[ActorReport] = []
        self.limits = LimitShares(assembly.limits, asks_beside=asks_beside)
        self._assembly = assembly
        self._store = store
        self._rerun = rerun
        self._following = following
        run, start, started_at = store.required_fact("id"), perf_counter(), time()
        self._job = WorkerJob.of(assembly.file, run=run, start=start, started_at=started_at)
        self._queue = _PlayQueue(with_versions(remaining_plays(assembly, store, rerun), assembly, store))
        self._receiver = RecordReceiver(assembly, store, self._keep_rows)
        self._playing: list[_ActorPlays] = []
        self._leaving: list[asyncio.Task[None]] = []

    async def play(self, pool: ActorPool) -> None:
        """Let the actors of *pool* play everything."""
        with first_failure():
            async with asyncio.TaskGroup() as tasks:
                joining = tasks.create_task(self._let_join(pool, tasks))
                await self._queue.finished.wait()
                for task in (joining, *self._leaving):
                    task.cancel()

    async def _let_join(self, pool: ActorPool, tasks: asyncio.TaskGroup) -> None:
        while True:
            tasks.create_task(self._keep_playing(await pool.next(), pool, tasks))

    async def _keep_playing(self, actor: ActorHandle, pool: ActorPool, tasks: asyncio.TaskGroup) -> None:
        """Have *actor* play until nothing is left or it is lost; it begins nothing where nothing waits."""
        plays = _ActorPlays(actor, self._queue, self._following.played)
        if not await plays.draw():
            return
        self._playing.append(plays)
        self._share_out()
        self.status.joined(actor.number, actor.name)
        try:
            with first_failure():
                async with actor.working(__name__, self._job, pool.files, self._receiver.receive):
                    await self.limits.join(actor)
                    self.status.started(actor.number)
                    await plays.keep_playing()
        except ActorLostError as error:
            self._playing.remove(plays)
            self._share_out()
            self.status.lost(actor.number)
            await actor.close()  # whatever it still does ends before others go on with it
            self._leaving.append(tasks.create_task(self.limits.leave(actor)))
            await self._take_back(plays, str(error))
        finally:
            if actor.report is not None:
                self.reports.append(actor.report)

    def _share_out(self) -> None:
        """Give each actor its share of the conversations that are played at a time."""
        most, among = self._assembly.file.scenario.play.concurrency, len(self._playing)
        for index, plays in enumerate(self._playing):
            plays.resize(share_of(most, index, among))

    async def _take_back(self, plays: _ActorPlays, why: str) -> None:
        """Have what a lost actor did not finish played by others, or put aside what the scenario says."""
        scenario, store, actor = self._assembly.file.scenario, self._store, plays.actor
        assert scenario.cluster is not None
        begun, unfinished = len(plays.begun_plays), [*plays.begun_plays, *plays.waiting]
        await store.flush()
        sessions = await in_thread(lost_sessions, plays.begun_plays, store, scenario.play.on_failure)
        aside = 0
        if scenario.cluster.lost_sessions == "abandon" and self._rerun is None:
            aside = len(sessions)
            await self._store_rows([record_row(lost_turn(play, actor.name)) for play in sessions])
        restarted = len(sessions) - aside
        counts = {"begun": begun, "unfinished": len(unfinished), "restarted": restarted, "aside": aside}
        keep_lost_worker(store, actor.number, actor.name, why, **counts)
        log_event(logging.WARNING, "process lost", who=actor.name, why=why, unfinished=len(unfinished))
        await self._queue.take_back(len(unfinished), partial(left_of, unfinished, self._assembly, store))

    async def _keep_rows(self, actor: ActorHandle, rows: list[Row]) -> None:
        await self._store_rows(rows)
        self.status.count(actor.number, len(rows))

    async def _store_rows(self, rows: list[Row]) -> None:
        """Return when *rows* are durable, and whoever follows the run has heard of them."""
        if self._rerun:
            await asyncio.gather(*(self._rerun.write(row_record(row)) for row in rows))
        elif rows:
            await self._store.write_rows(rows)
        if self._following.observer:
            for row in rows:
                self._following.recorded(row_record(row))


class _ActorPlays:
    """What one actor has to play."""

    def __init__(self, actor: ActorHandle, queue: _PlayQueue, over: Callable[[Play], None]) -> None:
        """*over* is told of each play that is over."""
        self.actor = actor
        self.waiting: deque[Play] = deque()
        self._queue = queue
        self._note_over = over
        self._under_way: dict[int, Play] = {}
        self._slots, self._taken = 0, 0
        self._tasks: asyncio.TaskGroup | None = None

    @property
    def begun_plays(self) -> list[Play]:
        """Return those that are under way, or were when the actor was lost."""
        return list(self._under_way.values())

    async def draw(self) -> bool:
        """Return whether there is something waiting, if need be of the next conversation."""
        if not self.waiting:
            self.waiting.extend(await self._queue.next())
        return bool(self.waiting)

    def resize(self, slots: int) -> None:
        """Set the number of plays at a time to *slots*; plays beyond it are played to their end."""
        self._slots = slots
        while self._tasks and self._taken < slots:
            self._taken += 1
            self._tasks.create_task(self._keep_one_playing())

    async def keep_playing(self) -> None:
        """Have one play after another played in each slot, until there is none."""
        async with asyncio.TaskGroup() as self._tasks:
            self.resize(self._slots)

    async def _keep_one_playing(self) -> None:
        try:
            while self._taken <= self._slots and await self.draw():
                play = self.waiting.popleft()
                self._under_way[id(play)] = play
                await self.actor.call("play", *pack_play(play))
                del self._under_way[id(play)]
                self._queue.over(1)
                self._note_over(play)
        except BaseException:
            self._tasks = None  # whose other tasks are ending too
            raise
        self._taken -= 1


class _PlayQueue:
    """What nobody has in hand, and how much somebody has."""

    def __init__(self, plays: Iterator[Play]) -> None:
        groups = (list(group) for _, group in groupby(plays, key=lambda play: play.conversation.id))
        self._groups = SharedIterator(groups)
        self._returned: deque[list[Play]] = deque()
        self._out = 0
        self._changed = asyncio.Event()
        self.finished = asyncio.Event()
        """All is played."""

    async def next(self) -> list[Play]:
        """
        Return the next conversation's plays; empty when there will be no more.

        While others still play, something may come back from them.
        """
        while True:
            group = self._returned.popleft() if self._returned else await anext(self._groups, [])
            self._out += len(group)
            if group:
                return group
            if not self._out:
                self.finished.set()
                return group
            await self._changed.wait()

    def over(self, plays: int) -> None:
        """Count so many plays as played."""
        self._out -= plays
        if not self._out:
            self._wake()

    async def take_back(self, plays: int, left: Callable[[], list[Play]]) -> None:
        """Give out again what is *left* of so many *plays*."""
        if rest := await self._groups.between(left):
            self._returned.append(rest)
        self.over(plays)
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def lost_sessions(begun: Sequence[Play], store: RunStore, on_failure: OnFailure) -> list[Play]:
    """
    Return those plays whose session was lost with their actor, since the system keeps the history.

    They come with what *store* has of them. Of a play that is over, the last word of it may have been lost
    alone.
    """
    kept = (play for play in begun if play.system.adapter.history == "server")
    plays = (replace(play, records=_records(play, store)) for play in kept)
    return [play for play in plays if not is_over(play.conversation, play.records, on_failure)]


def _records(play: Play, store: RunStore) -> tuple[TurnRecord, ...]:
    return store.records_of(play.conversation.id, play.system.name, play.policy_name)


def lost_turn(play: Play, who: str) -> TurnRecord:
    """
    Return the record that ends *play*, whose session was lost with *who*: of its first turn without one.

    The turns after it are never asked.
    """
    conversation, system, depth = play.conversation, play.system.name, play.first_depth
    question = conversation.turns[depth - 1].question
    return turn_record(
        conversation,
        depth,
        PlannedTurn(question=question, history=(), edit="kept"),
        "lost",
        system=system,
        policy=play.policy_name,
        attempts=0,
        asks=0,
        source=play.source,
        repeat=play.repeat,
        error=f"{system}: {who} was lost, and with it the session in which the system keeps the history; "
        "ask again with: replay rerun --only outcome=lost",
    )


ActorReport = tuple[Mapping[str, LagSummary], AskTally | None]
"""What an actor knows at its end: how far its event loop lagged behind, by system; what it asked of its
resolver, where that is a model."""


@asynccontextmanager
async def open_work(job: WorkerJob, outbox: Outbox, inputs: Inputs) -> AsyncIterator[PlayWork]:
    """Play plays of *job*, with their records to *outbox*, for as long as the block lasts."""
    with code_may_run():
        assembly = assemble(with_own_resolver(job.scenario()), data_is_read=True)
    asks = InFlightRequests()
    options = play_options(
        assembly, outbox, run=job.run, start=job.start, started_at=job.started_at, breaker=outbox
    )
    async with (
        assembly.service,
        open_policies(assembly.policies.values()),
        open_endpoints(assembly.systems),
        LoopLag(asks) as lag,
    ):
        with gc_paused():
            yield PlayWork(assembly, Player(outbox, options, asks=asks), lag)


class PlayWork:
    """Plays one play after another, side by side."""

    def __init__(self, assembly: Assembly, player: Player, lag: LoopLag) -> None:
        self.limits: Mapping[str, RateLimit] = assembly.limits
        self._assembly = assembly
        self._systems = {system.name: system for system in assembly.systems}
        self._player = player
        self._lag = lag

    async def play(self, system: str, conversation: str, rest: Mapping[str, Any]) -> None:
        """Play what ``pack_play`` packed."""
        play = Play(
            system=self._systems[system],
            policy=self._assembly.asking[rest["policy_name"]],
            conversation=from_json(conversation, Conversation),
            **rest,
        )
        await self._player.play(play)

    def report(self) -> ActorReport:
        """Return what is known at the end."""
        asked = self._assembly.service.asked
        return self._lag.summaries(), asked.tally if asked else None


def pack_play(play: Play) -> tuple[str, str, dict[str, Any]]:
    """Return *play* for an actor, which has system and policy of its own: system's name, JSON, the rest."""
    kept = (field.name for field in fields(play) if field.name not in ("system", "policy", "conversation"))
    # As JSON it takes a tenth of the time that a pickle of it takes, which is a tenth of what a turn costs.
    return play.system.name, to_json(play.conversation), {name: getattr(play, name) for name in kept}
