"""
Chat logs: ``{"messages": [{"role": ..., "content": ...}, ...]}`` a line, or as the items of one JSON list,
as chat-completion interfaces take them and production logs and fine-tuning files keep them. Where fields
and roles are called otherwise (ShareGPT, WildChat, MultiChallenge), settings say so.

A user's message is a question and the assistant's answer to it the gold answer. What a log holds
besides is kept where it stood, so that it can be sent again as it was.

- System and developer messages, and a greeting by the assistant before the first question, are what the next
  question was asked with. Those before the first question are the background as well.
- Several user messages in a row are one question, a line each: the assistant saw them all before it answered,
  and what a later one refers to may stand in an earlier one. They are sent as they were as long as no policy
  has edited more than the last of them.
- Several assistant messages in a row are one answer. One that calls a tool is a step on the way, and so are
  what the tool returned and what the assistant said before that. A refusal is an answer.
- A message of the role ``function_call`` is nothing but a call, or a list of them, as JSON text (ShareGPT).
- Results belong to calls by id, else by name and order. A result without a call is left out. A call without
  a result stays in the turn's steps, but is not sent in a history, since no endpoint takes it there. Both are
  counted.
- A question that nobody answered is asked but unscored.
- Of content given in parts the texts are kept, joined. What else there is (a picture, sound, a file, the
  model's thinking, what the server ran by itself) is counted, turn by turn, in the metadata as ``left_out``.
  A question of such parts alone is asked as their names in brackets: ``[image_url]``.
- A message's ``timestamp`` is kept in the metadata as it is, that of a question's last message as when
  the turn was asked and that of an answer's last message as when it was answered. Logs write times in
  many ways, so whether it is one is looked at only where it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError
from replay.core.settings.faults import nearest
from replay.datasets.chat_messages import (
    BESIDE,
    Content,
    Said,
    calls_in_text,
    item_of,
    said_by,
    said_in,
    tool_message,
)
from replay.datasets.chat_story import Story
from replay.datasets.json_outline import outline
from replay.datasets.json_rows import rows_of_either
from replay.datasets.place import Place
from replay.datasets.soundness import conversations

_ROLES = ("system", "developer", "user", "assistant", "tool", "function", "function_call")


class _Message(msgspec.Struct, kw_only=True):
    """The role and the content, which may be called otherwise, come with ``_row_type``."""

    refusal: str | None = None
    tool_calls: list[Any] | None = None
    function_call: Any = None
    timestamp: Any = None


class _Log(msgspec.Struct, kw_only=True):
    metadata: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReader:
    """Reads chat logs, one conversation a line or item."""

    id_field: str | None = None
    """The field that names the conversation; by default ``id``, or file and line without one."""
    messages_field: str = "messages"
    """The field with the list of messages."""
    role_field: str = "role"
    """A message's field that says who speaks."""
    text_field: str = "content"
    """A message's field with what is said."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """What roles are called that have names of their own, as in ``human: user``."""
    system_field: str | None = None
    """A field beside the messages with a system prompt that comes before all of them."""

    metadata_fields: Sequence[str] = ()
    """Fields beside the messages that are kept in the metadata, as what a judge has to look for."""

    def __post_init__(self) -> None:
        beside = {"metadata": "metadata", "messages_field": self.messages_field}
        beside |= {f"metadata_fields[{n}]": name for n, name in enumerate(self.metadata_fields)}
        _check_unlike(beside | {"id_field": self.id_field, "system_field": self.system_field})
        within = {name: name for name in _Message.__struct_fields__}
        _check_unlike(within | {"role_field": self.role_field, "text_field": self.text_field})
        for name, role in self.roles.items():
            if role not in _ROLES:
                raise ValueError(
                    f'roles.{name} is "{role}", which is not a role{nearest(role, _ROLES)} '
                    f"(allowed: {', '.join(_ROLES)})"
                )

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Whether the first line or item has messages with roles."""
        found = outline(head)
        return any(
            "messages" in found.get(at, ()) and "role" in found.get(f"{at}.messages[]", ())
            for at in ("", "[]")
        )

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """One conversation a line or item. Raises a ``DatasetError`` if the file can't be opened."""
        yield from conversations(rows_of_either(path, self._row_type()), self._build)

    def _row_type(self) -> type[Any]:
        taken = (self.role_field, self.text_field)
        beside = [(name, Any, None) for name in BESIDE if name not in taken]
        message = msgspec.defstruct(
            "_NamedMessage",
            [("role", str | None, None), ("content", Content, None), *beside],
            bases=(_Message,),
            rename={"role": self.role_field, "content": self.text_field},
            kw_only=True,
        )
        more: list[tuple[str, Any, Any]] = [
            (f"more_{n}", Any, None) for n in range(len(self.metadata_fields))
        ]
        if self.system_field:
            more.append(("system", Content, None))
        return msgspec.defstruct(
            "_NamedLog",
            [("messages", list[message]), ("name", str | int | None, None), *more],  # type: ignore[valid-type]
            bases=(_Log,),
            rename={
                "messages": self.messages_field,
                "name": self.id_field or "id",
                "system": self.system_field or "",
                **{f"more_{n}": name for n, name in enumerate(self.metadata_fields)},
            },
            kw_only=True,
        )

    def _build(self, log: Any, place: Place) -> Conversation:
        if log.name is None and self.id_field is not None:
            raise place.error("is required but missing, since the setting id_field names it", self.id_field)
        name = f"{place.path.name}:{place.item or place.line}" if log.name is None else str(log.name)
        metadata = dict(log.metadata) if isinstance(log.metadata, dict) else {}
        kept = ((name, getattr(log, f"more_{n}")) for n, name in enumerate(self.metadata_fields))
        metadata |= {name: value for name, value in kept if value is not None}
        return self._told(log, place).conversation(name, metadata, place)

    def _told(self, log: Any, place: Place) -> Story:
        story = Story()
        if self.system_field and log.system is not None:
            story.instruct("system", said_in(log.system, place, self.system_field).text)
        for index, message in enumerate(log.messages):
            at = f"{self.messages_field}[{index}]"
            role, said = self._said(message, place, at)
            if role not in _ROLES:
                raise self._unknown_role(role, place, at)
            if role in ("tool", "function") and not said.results:
                said.results.append(tool_message(message, said))
            story.tell(role, said, message.timestamp)
        return story

    def _said(self, message: Any, place: Place, at: str) -> tuple[str, Said]:
        if message.role is None and message.content is None and (item := item_of(message, place, at)):
            return item
        if message.role is None:
            raise place.error("is required but missing", f"{at}.{self.role_field}")
        said = said_by(message, message.content, place, at, f"{at}.{self.text_field}")
        role = self.roles.get(message.role, message.role)
        if role == "function_call":
            return "assistant", calls_in_text(said, place, f"{at}.{self.text_field}")
        return role, said

    def _unknown_role(self, role: str, place: Place, at: str) -> DatasetError:
        known = (*_ROLES, *self.roles)
        return place.error(
            f'"{role}" is not a role{nearest(role, known)} (allowed: {", ".join(known)}); '
            f'the setting roles says what it stands for, as in roles: {{"{role:.40}": user}}',
            f"{at}.{self.role_field}",
        )


def _check_unlike(fields: Mapping[str, str | None]) -> None:
    """
    Raises:
        ValueError: two settings name the same field, or one names none.
    """
    taken: dict[str, str] = {}
    for setting, name in fields.items():
        if name is None:
            continue
        if not name.strip() or name in taken:
            raise ValueError(f'{setting} is "{name}"; expected the name of a field of its own')
        taken[name] = setting
