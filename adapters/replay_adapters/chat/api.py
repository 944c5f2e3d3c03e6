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
        """Return the endpoint's path, to be added to the base address."""
        ...

    @property
    def messages(self) -> str:
        """The field with the messages."""
        ...

    @property
    def end(self) -> StreamEnd:
        """Return what recognizes a stream's end while it arrives."""
        ...

    @property
    def last_event(self) -> str:
        """Return the name of the last event of a complete stream, for messages."""
        ...

    @property
    def has_system_messages(self) -> bool:
        """Return whether system messages may stand among the others."""
        ...

    def fields(
        self, system: str, extra: Mapping[str, Any], parameters: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the body's fields; messages among them are those before the history."""
        ...

    def shaped(self, messages: Sequence[Message]) -> Iterable[Mapping[str, Any]]:
        """Return *messages* in the API's format; calls and results among them are paired."""
        ...

    def read(self, reply: HttpReply, value: Any) -> StreamedAnswer:
        """
        Return the answer in *reply*, whose JSON is *value*.

        Raises:
            AdapterError: it is of another shape, or reports an error.
        """
        ...

    def read_stream(self, reply: HttpReply) -> StreamedAnswer:
        """
        Return the answer in the events of *reply*.

        Raises:
            AdapterError: they can't be read, or one of them reports an error.
        """
        ...
