"""What an actor does that plays conversations of a run on a node (``replay.workers.cluster.actor``)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import fields
from typing import Any

from replay.core.asking.costs import AskTally
from replay.core.asking.limits import RateLimit
from replay.core.asking.retries import open_endpoints
from replay.core.conversation import Conversation
from replay.core.load_record import LagSummary
from replay.core.safety.consent import code_may_run
from replay.play.gc_pause import gc_paused
from replay.play.loop_lag import InFlightRequests, LoopLag
from replay.play.play import Play
from replay.play.player import Player
from replay.policies.rewrite import opened
from replay.runs.play_share import play_options
from replay.runs.play_worker import with_own_resolver
from replay.scenario.assembly import Assembly, assemble
from replay.store.schema import from_json, to_json
from replay.workers.cluster.actor import Inputs, Outbox
from replay.workers.job import WorkerJob

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
        opened(assembly.policies.values()),
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
