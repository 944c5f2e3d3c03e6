"""How often somebody may ask."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

MOST_KEYS = 10_000


class RequestRateLimit:
    """So much at once, and then so much a second, for each key: a rater's work, an address's wrong links."""

    def __init__(self, *, at_once: int, per_s: float, clock: Callable[[], float] = monotonic) -> None:
        self._ahead_s = at_once / per_s
        self._each_s = 1 / per_s
        self._clock = clock
        # When what a key has asked for would be over, had it come evenly ("virtual scheduling").
        self._over_at: dict[str, float] = {}

    def wait_s(self, key: str) -> float:
        """Seconds until *key* may ask; 0 if it may now, which counts."""
        now = self._clock()
        over_at = max(now, self._over_at.get(key, now)) + self._each_s
        if over_at - now > self._ahead_s:
            return over_at - now - self._ahead_s
        if len(self._over_at) >= MOST_KEYS:
            # Whoever sends from ever new addresses can't fill the memory, at the price of one more try each.
            kept = {one: at for one, at in self._over_at.items() if at > now}
            self._over_at = kept if len(kept) < MOST_KEYS else {}
        self._over_at[key] = over_at
        return 0.0
