"""
Chat logs: JSON Lines of ``{"messages": [{"role": ..., "content": ...}, ...]}``, as chat-completion
interfaces take them and production logs and fine-tuning files keep them.

A user's message is a question and the assistant's answer to it the gold answer. What a log holds
besides is mapped as follows; whatever can't be replayed faithfully is an error, not a guess.

- System and developer messages before the first question, and an assistant's greeting there, are the
  background. Later ones would be out of place there (they were not yet said), so they are only kept in
  the metadata, as ``later_system_messages``.
- Several user messages in a row are one question: the assistant saw them all before it answered.
- Several assistant messages in a row are one answer. One that calls a tool is a step on the way and
  not part of it; neither is what the tool returned. A refusal is an answer.
- A question that nobody answered is asked but unscored.
- Content given in parts is joined if all parts are text; a picture, sound or file is an error.
- A message's ``timestamp`` is kept in the metadata as it is, that of a question's last message as when
  the turn was asked and that of an answer's last message as when it was answered. Logs write times in
  many ways, so whether it is one is looked at only where it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from replay.core.conversation import Conversation, Turn
from replay.core.errors import DatasetError
from replay.core.settings.faults import nearest
from replay.datasets.json_outline import outline
from replay.datasets.json_rows import rows_of_lines
from replay.datasets.place import Place
from replay.datasets.soundness import conversations
from replay.datasets.timestamps import with_timestamps

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_TEXT_PARTS = ("text", "input_text", "output_text")


class _Part(msgspec.Struct):
    type: str
    text: str | None = None
    refusal: str | None = None


class _Message(msgspec.Struct):
    role: str
    content: str | list[_Part] | None = None
    refusal: str | None = None
    tool_calls: list[Any] | None = None
    function_call: Any = None
    timestamp: Any = None

    @property
    def calls_a_tool(self) -> bool:
        return bool(self.tool_calls or self.function_call)


class _Log(msgspec.Struct):
    messages: list[_Message]
    metadata: Any = None


@dataclass(slots=True)
class _Exchange:
    questions: list[str]
    answers: list[str] = field(default_factory=list)
    acted: bool = False
    """Whether the assistant said or did anything yet."""
    asked_at: Any = None
    answered_at: Any = None


@dataclass(slots=True)
class _Story:
    """A log as it is told message by message."""

    opening: list[str] = field(default_factory=list)
    exchanges: list[_Exchange] = field(default_factory=list)
    later_system_messages: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReader:
    """Reads chat logs, one conversation a line."""

    id_field: str | None = None
    """The line's field that names the conversation; by default ``id``, or file and line without one."""

    def __post_init__(self) -> None:
        if self.id_field in ("", "messages", "metadata"):
            raise ValueError(
                f'id_field is "{self.id_field}"; expected the name of the field that holds an id'
            )

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Whether the first line has messages with roles."""
        found = outline(head)
        return "messages" in found.get("", ()) and "role" in found.get(".messages[]", ())

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """One conversation a line. Raises a ``DatasetError`` if the file can't be opened."""
        name = self.id_field or "id"
        row_type = msgspec.defstruct(
            "_NamedLog", [("name", str | int | None, None)], bases=(_Log,), rename={"name": name}
        )
        yield from conversations(rows_of_lines(path, row_type), self._build)

    def _build(self, log: Any, place: Place) -> Conversation:
        if log.name is None and self.id_field is not None:
            raise place.error("is required but missing, since the setting id_field names it", self.id_field)
        name = f"{place.path.name}:{place.line}" if log.name is None else str(log.name)
        story = _told(log.messages, place)
        metadata = dict(log.metadata) if isinstance(log.metadata, dict) else {}
        if story.later_system_messages:
            metadata["later_system_messages"] = story.later_system_messages
        metadata = with_timestamps(
            metadata,
            asked=[exchange.asked_at for exchange in story.exchanges],
            answered=[exchange.answered_at for exchange in story.exchanges],
            place=place,
        )
        return Conversation(
            id=name,
            turns=tuple(
                Turn(
                    id=f"{name}#{number}",
                    question=_joined(exchange.questions),
                    gold_answers=(answer,) if (answer := _joined(exchange.answers)) else (),
                )
                for number, exchange in enumerate(story.exchanges, 1)
            ),
            background=_joined(story.opening),
            metadata=metadata,
        )


def _told(messages: Sequence[_Message], place: Place) -> _Story:
    story = _Story()
    for index, message in enumerate(messages):
        at = f"messages[{index}]"
        last = story.exchanges[-1] if story.exchanges else None
        match message.role:
            case "system" | "developer":
                text = _text(message, place, at)
                (story.later_system_messages if last else story.opening).append(text)
            case "user":
                if last and not last.acted:
                    last.questions.append(_text(message, place, at))
                else:
                    story.exchanges.append(last := _Exchange([_text(message, place, at)]))
                last.asked_at = message.timestamp
            case "assistant":
                if last:
                    last.acted = True
                if not message.calls_a_tool:
                    (last.answers if last else story.opening).append(_text(message, place, at))
                    if last:
                        last.answered_at = message.timestamp
            case "tool" | "function":
                pass
            case role:
                known = ", ".join(_ROLES)
                raise place.error(
                    f'"{role}" is not a role{nearest(role, _ROLES)} (allowed: {known})', f"{at}.role"
                )
    return story


def _text(message: _Message, place: Place, at: str) -> str:
    if message.content is None:
        return message.refusal or ""
    if isinstance(message.content, str):
        return message.content
    texts = []
    for index, part in enumerate(message.content):
        text = part.refusal if part.type == "refusal" else part.text
        if part.type not in (*_TEXT_PARTS, "refusal"):
            raise place.error(
                f'is a part of type "{part.type}", and only text can be replayed; leave the line out',
                f"{at}.content[{index}]",
            )
        if text is None:
            raise place.error("is a text part without a text", f"{at}.content[{index}]")
        texts.append(text)
    return _joined(texts)


def _joined(texts: Sequence[str]) -> str:
    return "\n".join(text for text in texts if text.strip())
