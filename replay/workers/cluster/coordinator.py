"""What those that play a run together may call of the program that started them: what all of them share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from replay.core.asking.rate_limit import RateLimit
from replay.core.asking.retries import RetryPolicy
from replay.core.errors import AdapterError
from replay.play.player import system_breaker
from replay.workers.cluster.leases import RateLimitLeases


class Coordinator(RateLimitLeases):
    """Their politeness limits, and their circuit breaker."""

    def __init__(self, limits: Mapping[str, RateLimit], patience: RetryPolicy) -> None:
        """*limits* by who has them; *patience* says when systems are asked no more."""
        super().__init__(limits)
        self._breaker = system_breaker(patience)

    def note_answers(self, systems: Iterable[str]) -> None:
        """*systems* answered since whoever says so failed, or said so last."""
        for system in systems:
            self._breaker.answered(system)

    async def ask_failed(self, name: str, message: str, status: int | None, answered: set[str]) -> str | None:
        """
        Why everything is to stop once the failure is recorded, if it is; *answered* as in ``note_answers``.

        Raises:
            RunStoppedError: as for ``CircuitBreaker.failed``.
        """
        self.note_answers(answered)
        await self._breaker.failed(name, AdapterError(message, status=status))
        return None if self._breaker.stop is None else str(self._breaker.stop)
