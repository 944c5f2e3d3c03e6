"""What a process does that plays conversations of a run (``replay.runs.processes.child_main``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

from replay.core.asking.opening import opened_endpoints
from replay.core.asking.tally import Tally
from replay.core.conversation import Conversation
from replay.core.settings.code_gate import code_may_run
from replay.play.gc_pause import quiet_collector
from replay.play.loop_lag import AsksUnderWay, LagSummary, LoopLag
from replay.play.play import Play
from replay.play.player import Player
from replay.policies.rewriter import opened
from replay.runs.kept_answers import cache_problems
from replay.runs.processes.child import Job
from replay.runs.processes.line import Line
from replay.runs.processes.parent import Parent
from replay.runs.processes.part import Part, sink_of
from replay.runs.processes.to_play import to_play
from replay.runs.unclosed_sessions import keep_unclosed
from replay.scenario.assembly import Assembly, assemble
from replay.scenario.reading import ScenarioFile
from replay.scenario.telemetry_section import traces_of
from replay.store.schema import from_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What a process knows at its end."""

    lags: Mapping[str, LagSummary]
    """How far its event loop lagged behind, by system."""
    asked: Tally | None
    """What it asked of its resolver, where that is a model."""
    cache_problems: set[str]


async def work(job: Job, parent: Parent) -> None:
    """Play what the *parent* calls for, of the scenario in *job*."""
    file = _with_own_resolver(to_play(job))
    with code_may_run():
        assembly = assemble(file, data_is_read=True)
    parent.lease(assembly.limits, job.worker)
    play, resolving, systems, asks = file.scenario.play, assembly.service, assembly.systems, AsksUnderWay()
    keeping = sink_of(job, parent, durability=play.durability, raw_limit_bytes=play.raw_limit_bytes)
    async with (
        keeping as sink,
        resolving,
        opened(assembly.policies.values()),
        opened_endpoints(systems),
        LoopLag(asks) as lag,
    ):
        player = Player(
            assembly.patience,
            sink,
            clock=perf_counter,
            start=job.start,
            on_failure=play.on_failure,
            keep_raw=sink.keep_raw,
            keep_step=sink.keep_step,
            unclosed=partial(keep_unclosed, sink.add_event),
            asks=asks,
            breaker=parent,
            started_at=job.started_at,
            traces=traces_of(file.scenario, job.run),
        )
        with quiet_collector():
            await parent.serve(_PlayWorker(assembly, player, parent.line, sink))
    asked = resolving.asked.tally if resolving.asked else None
    parent.result = Ended(lags=lag.summaries(), asked=asked, cache_problems=cache_problems(systems))


def _with_own_resolver(file: ScenarioFile) -> ScenarioFile:
    """*file* with drift detected within this process, unless it says more."""
    drift = file.scenario.drift
    if "nlp_workers" in drift.model_fields_set:
        return file
    drift = drift.model_copy(update={"nlp_workers": 0})
    return replace(file, scenario=file.scenario.model_copy(update={"drift": drift}))


class _PlayWorker:
    def __init__(self, assembly: Assembly, player: Player, line: Line, sink: Parent | Part) -> None:
        self._systems = {system.name: system for system in assembly.systems}
        self._policies = assembly.policies
        self._player = player
        self._line = line
        self._sink = sink

    async def play(self, system: str, conversation: str, rest: Mapping[str, Any]) -> None:
        """Play what ``packed`` made of a play; return when all of it has arrived."""
        await self._line.in_touch()
        play = Play(
            system=self._systems[system],
            policy=self._policies[rest["policy_name"]],
            conversation=from_json(conversation, Conversation),
            **rest,
        )
        await self._player.play(play)
        await self._sink.arrived((play.conversation.id, system, play.policy_name))
