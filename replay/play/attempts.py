"""The attempts of one turn: written to the log, and kept as they came back where that is wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from replay.core.adapter import ChatReply, RawReply, WireTimes
from replay.core.errors import AdapterError
from replay.core.logs import ConversationLog
from replay.core.record import TurnPlace


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
