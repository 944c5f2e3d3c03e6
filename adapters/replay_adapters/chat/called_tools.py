"""
Calls of tools, put together from the pieces in which they come.

What should be there is often not: ids, indices, names and arguments are taken as servers send them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from replay import ToolCall
from replay_adapters.json_bytes import encode_json, whole_text


@dataclass(slots=True)
class _PartialCall:
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    arguments: Any = None
    """All of them at once, a text or a JSON value; pieces go before it."""


class CallPieces:
    """The calls of one reply."""

    __slots__ = ("_calls", "_latest")

    def __init__(self) -> None:
        self._calls: list[_PartialCall] = []
        self._latest: dict[int | None, _PartialCall] = {}

    def take(
        self, index: Any, *, id: Any = None, name: Any = None, piece: Any = None, arguments: Any = None
    ) -> None:
        """
        Take a call, or more of one: a *piece* of its arguments, or all of them.

        It is more of the last call with that *index*, unless it has another id. Some servers give every
        call the index 0, others none: then a name begins a call as well.
        """
        index = index if type(index) is int else None
        id, name = (part if isinstance(part, str) else "" for part in (id, name))
        call = self._latest.get(index)
        another = call is not None and ((id and call.id and id != call.id) or (index is None and name))
        if call is None or another:
            call = self._latest[index] = _PartialCall()
            self._calls.append(call)
        call.id = call.id or id
        call.name = call.name or name
        if isinstance(piece, str):
            call.pieces.append(piece)
        if arguments is not None:
            call.arguments = arguments

    def __bool__(self) -> bool:
        return bool(self._calls)

    def whole(self, *, after: int) -> tuple[ToolCall, ...]:
        """
        Return the calls that name a tool; missing ids are numbered on from *after* earlier calls.

        Raises:
            ValueError: arguments are nested too deeply.
        """
        named = [call for call in self._calls if call.name]
        return tuple(
            ToolCall(id=call.id or f"call_{number}", name=call.name, arguments=_arguments(call))
            for number, call in enumerate(named, after + 1)
        )


def _arguments(call: _PartialCall) -> str:
    """Return the call's arguments as JSON text; ``{}`` for none, as servers send without parameters."""
    text = whole_text(call.pieces)
    if not text.strip() and call.arguments is not None:
        whole = call.arguments
        text = whole if isinstance(whole, str) else encode_json(whole).decode()
    return text if text.strip() else "{}"
