"""What a process does that plays conversations of a run on a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from replay.core.asking.opening import open_endpoints
from replay.core.asking.tally import AskTally
from replay.core.conversation import Conversation
from replay.core.settings.code_gate import code_may_run
from replay.play.gc_pause import gc_paused
from replay.play.loop_lag import InFlightRequests, LagSummary, LoopLag
from replay.play.play import Play
from replay.play.player import Player, PlayOptions
from replay.policies.rewriter import opened
from replay.results.play_events import cache_problems, keep_unclosed
from replay.scenario.assembly import Assembly, assemble
from replay.scenario.reading import ScenarioFile
from replay.scenario.telemetry_section import traces_of
from replay.store.schema import from_json
from replay.workers.cluster.coordinator_client import CoordinatorClient
from replay.workers.cluster.job import NodeJob
from replay.workers.cluster.journal import LocalJournal, open_journal
from replay.workers.cluster.rpc import RpcConnection


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    """What a process knows at its end."""

    lags: Mapping[str, LagSummary]
    """How far its event loop lagged behind, by system."""
    asked: AskTally | None
    """What it asked of its resolver, where that is a model."""
    cache_problems: set[str]


async def work(job: NodeJob, parent: CoordinatorClient) -> None:
    """Play what the *parent* calls for, of the scenario in *job*."""
    file = _with_own_resolver(job.scenario())
    with code_may_run():
        assembly = assemble(file, data_is_read=True)
    parent.lease(assembly.limits, job.worker)
    play, resolving, systems, asks = (
        file.scenario.play,
        assembly.service,
        assembly.systems,
        InFlightRequests(),
    )
    keeping = open_journal(job, parent, durability=play.durability, raw_limit_bytes=play.raw_limit_bytes)
    async with (
        keeping as sink,
        resolving,
        opened(assembly.policies.values()),
        open_endpoints(systems),
        LoopLag(asks) as lag,
    ):
        options = PlayOptions(
            patience=assembly.patience,
            on_failure=play.on_failure,
            start=job.start,
            started_at=job.started_at,
            keep_raw=sink.keep_raw,
            keep_step=sink.keep_step,
            unclosed=partial(keep_unclosed, sink.add_event),
            traces=traces_of(file.scenario, job.run),
            breaker=parent,
        )
        player = Player(sink, options, asks=asks)
        with gc_paused():
            await parent.serve(_PlayWorker(assembly, player, parent.rpc, sink))
    asked = resolving.asked.tally if resolving.asked else None
    parent.result = WorkerReport(lags=lag.summaries(), asked=asked, cache_problems=cache_problems(systems))


def _with_own_resolver(file: ScenarioFile) -> ScenarioFile:
    """*file* with drift detected within this process, unless it says more."""
    drift = file.scenario.drift
    if "nlp_workers" in drift.model_fields_set:
        return file
    drift = drift.model_copy(update={"nlp_workers": 0})
    return replace(file, scenario=file.scenario.model_copy(update={"drift": drift}))


class _PlayWorker:
    def __init__(
        self, assembly: Assembly, player: Player, rpc: RpcConnection, sink: CoordinatorClient | LocalJournal
    ) -> None:
        self._systems = {system.name: system for system in assembly.systems}
        self._policies = assembly.asking
        self._player = player
        self._rpc = rpc
        self._sink = sink

    async def play(self, system: str, conversation: str, rest: Mapping[str, Any]) -> None:
        """Play what ``packed`` made of a play; return when all of it has arrived."""
        await self._rpc.wait_reachable()
        play = Play(
            system=self._systems[system],
            policy=self._policies[rest["policy_name"]],
            conversation=from_json(conversation, Conversation),
            **rest,
        )
        await self._player.play(play)
        await self._sink.arrived((play.conversation.id, system, play.policy_name))
