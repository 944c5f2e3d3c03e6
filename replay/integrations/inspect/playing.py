"""
A sample is played: our player between a policy and Inspect's model, telling Inspect what happens.

What happened turn by turn is in the sample's transcript (a span for each turn, which begins with what the
policy planned) and in its messages; the records are in its store, from where they are scored.
"""

from __future__ import annotations

import asyncio
import sysconfig
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from inspect_ai.log import transcript
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import span

from replay.core.asking.retries import RetryPolicy
from replay.core.errors import PluginError, ReplayError
from replay.core.safety.consent import code_may_run
from replay.play.play import Play
from replay.play.player import Player, PlayOptions
from replay.policies.policy import Reacting, reacting
from replay.policies.rewrite import open_policies

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage

    from replay.core.adapter import ChatReply, ChatRequest
    from replay.core.conversation import Conversation
    from replay.core.history import PlayedTurn
    from replay.core.record import TurnRecord
    from replay.policies.policy import PlannedTurn
    from replay.results.run_data import Repeats
    from replay.scenario.assembly import Assembly


_HERE = Path(__file__)
_PLACES = [Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")]
_IS_INSTALLED = "site-packages" in _HERE.parts or any(_HERE.is_relative_to(place) for place in _PLACES)


def registry_name(name: str) -> str:
    """
    Return *name*, so that it is found as ``replay/NAME``.

    Inspect puts the package before it by itself where that is installed, but for an installation for
    development only of a distribution that is called as its package is.
    """
    return name if _IS_INSTALLED else f"replay/{name}"


RECORDED, POLICY, TURNS = "conversation", "policy", "turns"
"""In a sample's metadata: the conversation's id in the data, the policy's label, how many turns it has."""
RECORDS, CHECKS = "replay:records", "replay:checks"
"""In a sample's store."""
ONCE = RetryPolicy(timeout_s=7 * 24 * 3600.0, attempts=1, fail_fast=False)
"""Deadlines and retries are Inspect's."""


class Plays:
    """The conversations of a task, and the parts that they are played with."""

    def __init__(self, assembly: Assembly, conversations: Sequence[Conversation]) -> None:
        self.assembly = assembly
        self._conversations = {one.id: one for one in conversations}
        self._repeats: Callable[[int], Repeats] = cache(self._planned_repeats)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._users = 0

    def of(self, state: TaskState) -> Play:
        """Return the play of the sample that *state* belongs to: its conversation, policy and epoch."""
        label = state.metadata[POLICY]
        play = Play(
            system=self.assembly.systems[0],
            policy_name=label,
            policy=self.assembly.policies[label],
            conversation=self._conversations[state.metadata[RECORDED]],
        )
        return self._repeats(state.epoch).of(play, state.epoch)

    def _planned_repeats(self, epoch: int) -> Repeats:
        from replay.results.run_data import planned_repeats

        scenario = self.assembly.file.scenario
        most = max(epoch, scenario.play.repeats)  # --epochs may ask for more
        play = scenario.play.model_copy(update={"repeats": most})
        return planned_repeats(scenario.model_copy(update={"play": play}), self._conversations)

    @asynccontextmanager
    async def parts_open(self) -> AsyncIterator[None]:
        """Keep the parts open from the first sample that is under way to the end of the last."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # the task is played once more
            self._loop, self._lock, self._users = loop, asyncio.Lock(), 0
        async with self._lock:
            if self._users == 0:
                self._stack = AsyncExitStack()
                for part in (self.assembly.service, open_policies(self.assembly.policies.values())):
                    await self._stack.enter_async_context(part)
            self._users += 1
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                async with self._lock:
                    self._users -= 1
                    if self._users == 0:
                        await self._stack.aclose()


def conversation_player(plays: Plays) -> Solver:
    """Return a solver that plays the sample's conversation, as one of *plays*."""

    @solver(name=registry_name("conversation_player"))
    def player() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            try:
                asyncio.get_running_loop()
            except RuntimeError as error:
                raise ReplayError(
                    "conversations are played on asyncio; unset INSPECT_ASYNC_BACKEND"
                ) from error
            with code_may_run():
                async with plays.parts_open():
                    await PlayedSample(state, plays.of(state)).play(plays.assembly)
            return state

        return solve

    return player()


class PlayedSample:
    """
    Stands between the player and all that it deals with: the policy, the system, and where records go.

    So Inspect is told of each plan, message and record in the moment in which there is one, and has them
    also where a limit ends the sample.
    """

    def __init__(self, state: TaskState, play: Play) -> None:
        self._state = state
        self._play = play
        self._turn = AsyncExitStack()
        self._planned: dict[str, Any] = {}
        self._before: list[ChatMessage] = []
        self._records: list[TurnRecord] = []
        self._has_ended = False
        self._session: Any = None
        state.messages = []

    async def play(self, assembly: Assembly) -> None:
        """
        Play it to its end.

        Raises:
            Exception: as the model or another part did; Inspect knows its limits and errors by their types.
        """
        from replay.results.checking import play_checks
        from replay.scorers.checks.check import NoVerdicts

        on_failure = assembly.file.scenario.play.on_failure
        player = Player(self, PlayOptions(patience=ONCE, on_failure=on_failure))
        system = replace(self._play.system, adapter=self)
        raised: BaseException | None = None
        async with self._turn:
            try:
                await player.play(replace(self._play, system=system, policy=self))
            except PluginError as error:
                raised = error.__cause__ or error
        # Not while it is handled, or the two would name each other as their causes, without an end.
        if raised is not None:
            raise raised
        conversation = self._play.conversation
        if self._has_ended:
            conversation = conversation.up_to(len(self._records))
        checks = play_checks(conversation, self._records, NoVerdicts(), under_load=False)
        self._state.store.set(CHECKS, msgspec.to_builtins(list(checks) if self._records else []))

    # The policy.

    @property
    def signature(self) -> str:
        return self._play.policy.signature

    @property
    def reacting(self) -> Reacting | None:
        return reacting(self._play.policy)

    @property
    def view(self) -> Any:
        return getattr(self._play.policy, "view", None)

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        await self._turn.enter_async_context(span(f"turn {depth}", type="turn"))
        planned = await self._play.policy.plan(conversation, depth, played)
        self._planned = _plan_fields(depth, conversation.turns[depth - 1].question, planned)
        transcript().info(self._planned, source="convreplay")
        return planned

    # The system.

    @property
    def history(self) -> Any:
        return self._play.system.adapter.history

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[PlayedSample]:
        async with self._play.system.adapter.session(conversation) as self._session:
            yield self

    async def ask(self, request: ChatRequest) -> ChatReply:
        if not request.steps:
            self._before = list(self._state.messages)
        try:
            reply: ChatReply = await self._session.ask(request)
            return reply
        finally:
            said = list(self._session.last)
            last = max((place for place, one in enumerate(said) if one.role == "user"), default=None)
            if last is not None:
                said[last] = said[last].model_copy(update={"metadata": self._planned})
            self._state.messages = [*self._before, *said]
            if self._session.output is not None:
                self._state.output = self._session.output

    # Where records go.

    async def write(self, record: TurnRecord) -> None:
        if record.is_end:  # of a conversation without recorded questions, as its user says
            self._has_ended = True
        else:
            self._records.append(record)
            self._state.store.set(RECORDS, msgspec.to_builtins(self._records))
        await self._turn.aclose()


def _plan_fields(depth: int, recorded: str, planned: PlannedTurn) -> dict[str, Any]:
    """Return the plan of a turn as fields for a reader, without those that are None."""
    from replay.report.findings import why_invalid

    drift = planned.drift
    fields = {
        "depth": depth,
        "asked": planned.question,
        "recorded": recorded if recorded != planned.question else None,
        "edit": planned.edit,
        "edit_note": planned.edit_note,
        "valid": drift and drift.valid,
        "drift": why_invalid(drift) if drift else None,
        "not_judged": drift and drift.not_judged,
        "history_cut": planned.history_cut,
    }
    return {name: value for name, value in fields.items() if value is not None}
