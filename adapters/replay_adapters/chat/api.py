"""What the chat APIs have in common, and each has its own way of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from replay import Message
from replay_adapters.chat.streamed_answer import StreamedAnswer
from replay_adapters.http.client import StreamEnd
from replay_adapters.http.reply import HttpReply


class ChatApi(Protocol):
    """One kind of chat API."""

    @property
    def path(self) -> str:
        """Where it is, behind the base address."""
        ...

    @property
    def messages(self) -> str:
        """The field with the messages."""
        ...

    @property
    def end(self) -> StreamEnd:
        """How a stream's end is seen while it comes."""
        ...

    @property
    def last_event(self) -> str:
        """What ends a complete stream, for messages."""
        ...

    @property
    def has_system_messages(self) -> bool:
        """Return whether system messages may stand among the others."""
        ...

    def fields(
        self, system: str, extra: Mapping[str, Any], parameters: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """The body's fields; messages among them are those before the history."""
        ...

    def shaped(self, messages: Sequence[Message]) -> Iterable[Mapping[str, Any]]:
        """*messages* as the API has them; calls and results among them are paired."""
        ...

    def read(self, reply: HttpReply, value: Any) -> StreamedAnswer:
        """
        What *reply*, a JSON *value*, says.

        Raises:
            AdapterError: it is of another shape, or tells of an error.
        """
        ...

    def read_stream(self, reply: HttpReply) -> StreamedAnswer:
        """
        What the events of *reply* say.

        Raises:
            AdapterError: they can't be read, or one of them tells of an error.
        """
        ...
