"""
What a load run has read, on its way to those that offer the load: in slices, so that none of it is ever whole
in a message. They need no file of the data, wherever they run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.core.conversation import Conversation
from replay.load.inputs import LoadInputs
from replay.play.load.trace import Arrival
from replay.scenario.assembly import Assembly
from replay.store.schema import from_json, to_json

CONVERSATIONS = 1_000
ARRIVALS = 10_000
"""In a slice."""


def slices(inputs: LoadInputs) -> Iterator[tuple[str, str]]:
    """What *inputs* hold beside the scenario: the name of a method of ``SentInputs``, and a slice for it."""
    for at in range(0, len(inputs.conversations), CONVERSATIONS):
        yield "add_conversations", to_json(inputs.conversations[at : at + CONVERSATIONS])
    for at in range(0, len(inputs.trace), ARRIVALS):
        yield "add_arrivals", to_json(inputs.trace[at : at + ARRIVALS])


class SentInputs:
    """Takes the slices, and what share of the load is whose."""

    def __init__(self) -> None:
        self._unread: list[tuple[list[Any], str, Any]] = []
        self._conversations: list[Conversation] = []
        self._trace: list[Arrival] = []
        self.share: tuple[int, int] = (0, 1)
        """Which generator this is, from 0, and of how many."""

    def add_conversations(self, text: str) -> None:
        self._unread.append((self._conversations, text, list[Conversation]))

    def add_arrivals(self, text: str) -> None:
        self._unread.append((self._trace, text, list[Arrival]))

    def taken(self) -> None:
        """To be awaited after each slice: it is read, so that they don't pile up."""
        for found, text, kind in self._unread:
            found += from_json(text, kind)
        self._unread.clear()

    def take_share(self, number: int, generators: int) -> None:
        self.share = number, generators

    def of(self, assembly: Assembly) -> LoadInputs:
        """All that came, to be played by *assembly*."""
        load = assembly.load
        assert load is not None
        return LoadInputs(assembly=assembly, load=load, conversations=self._conversations, trace=self._trace)
