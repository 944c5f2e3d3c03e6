"""What tells a player when the turns of a conversation are due."""

from __future__ import annotations

from typing import Protocol


class Pacer(Protocol):
    """The pace of one conversation."""

    async def next_due(self, depth: int, due: float | None, done: float | None) -> float | None:
        """
        Wait until the turn at *depth* is due, and return the moment it was due; None ends the conversation.

        *due* and *done* are the moments when the turn before was due and over, on the player's clock;
        None before the first.
        """
        ...
