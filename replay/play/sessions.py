"""
The sessions of one play, a single one or one for each session of the data where the system keeps them; and
the attempts of a turn, written to the log, and kept as they came back where that is wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Self
from uuid import uuid4

from msgspec.structs import replace

from replay.core.adapter import ChatReply, RawReply, Session, WireTimes
from replay.core.asking.retries import UnopenedSession, open_session
from replay.core.conversation import Turn
from replay.core.errors import AdapterError
from replay.core.logs import ConversationLog
from replay.core.record import TurnPlace
from replay.core.settings.plugin_bugs import attributed_to
from replay.play.loop_lag import InFlightRequests
from replay.play.play import Play


class PlaySessions:
    """
    Opens sessions as turns need them and closes the one before; all of them once the block is left.

    All belong to one user, whom no play before had: where a play begins anew, since its session was lost, the
    system remembers nothing of it.
    """

    def __init__(
        self, play: Play, asks: InFlightRequests, unclosed: Callable[[Play, AdapterError], None]
    ) -> None:
        self._play = play
        self._asks = asks
        self._unclosed = partial(unclosed, play)
        self._about = replace(play.asked_about, user=str(uuid4()))
        self._follows_data = play.system.adapter.history == "server" and not play.system.one_session
        self._stack = AsyncExitStack()
        self._current: tuple[str, Session] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.__aexit__(*error)  # type: ignore[arg-type]

    async def of(self, turn: Turn) -> Session:
        """
        Return the session in which *turn* is asked; where it can't be opened, one whose asks say why.

        Raises:
            PluginError: the adapter raised what is no error of ours.
        """
        if self._current is not None:
            name, session = self._current
            if name == turn.session or not self._follows_data:
                return session
            await self._stack.aclose()
        session = await self._open()
        self._current = turn.session, session
        return session

    async def _open(self) -> Session:
        system = self._play.system
        try:
            with attributed_to('system "%s" fails to open conversation "%s"', system.name, self._about.id):
                opening = open_session(system.adapter, self._about, self._unclosed)
                session = await self._stack.enter_async_context(opening)
        except AdapterError as error:
            return UnopenedSession(error)
        return self._asks.watched(system.name, session)


@dataclass(slots=True)
class Attempts:
    """Writes the attempts of a turn to the log, and keeps what came back, where that is wanted."""

    place: TurnPlace
    log: ConversationLog | None
    keep: Callable[[RawReply], None] | None
    before: int = 0
    """Attempts of the turn's earlier asks."""

    def sent(self, attempt: int) -> None:
        if self.log is not None:
            self.log.log_sent(self.place[3], self.before + attempt)

    def failed(self, attempt: int, error: AdapterError, pause_s: float | None) -> None:
        self._keep(attempt, error.outcome, error.raw)
        if self.log is not None:
            self.log.log_failure(self.place[3], self.before + attempt, error.outcome, str(error), pause_s)

    def answered(self, attempt: int, reply: ChatReply, times: WireTimes) -> None:
        if self.log is not None:
            self.log.log_answer(self.place[3], self.before + attempt, times.done - times.sent)
        self._keep(attempt, "answered", reply.raw)

    def _keep(self, attempt: int, outcome: str, raw: bytes | None) -> None:
        if self.keep is not None and raw is not None:
            conversation, system, policy, depth = self.place
            self.keep(
                RawReply(
                    conversation=conversation,
                    system=system,
                    policy=policy,
                    depth=depth,
                    attempt=self.before + attempt,
                    outcome=outcome,
                    data=raw,
                )
            )
