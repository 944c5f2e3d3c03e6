"""
Chat logs: ``{"messages": [{"role": ..., "content": ...}, ...]}`` a line, or as the items of one JSON list,
as chat-completion interfaces take them and production logs and fine-tuning files keep them. Where fields
and roles are called otherwise (ShareGPT, WildChat, MultiChallenge), settings say so.

A user's message is a question and the assistant's answer to it the gold answer. What a log holds
besides is kept where it stood, so that it can be sent again as it was.

- System and developer messages, and a greeting by the assistant before the first question, are what the next
  question was asked with. The greeting is the background as well; what an operator tells the system is not.
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
- Names of fields lead into objects by dots (``author.role``). A file may also be one object around the list
  of conversations, or the list of all messages, each with the name of its thread.
- A message's ``timestamp`` is kept in the metadata as it is, that of a question's last message as when
  the turn was asked and that of an answer's last message as when it was answered. Logs write times in
  many ways, so whether it is one is looked at only where it is needed.

Published sets of chats, which are chat logs with names of their own: ``chat`` with its settings made.

- ShareGPT, with what LLaMA-Factory and axolotl have added to it: a system prompt beside the messages, and
  messages that are calls of tools (https://llamafactory.readthedocs.io, data preparation, "sharegpt format").
- LMSYS-Chat-1M (Zheng et al., 2024) and WildChat (Zhao et al., 2024), as JSON Lines of their tables.
- MultiChallenge (Sirdeshmukh et al., 2025), ``benchmark_questions.jsonl``; made for ``ask: last``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from replay.core.conversation import Conversation
from replay.core.decoding import decoder_of
from replay.core.errors import DatasetError
from replay.core.settings.faults import nearest
from replay.datasets.chat_log import (
    BESIDE,
    ChatLogParser,
    Content,
    ParsedMessage,
    calls_in_text,
    item_of,
    parse_content,
    parse_message,
    tool_message,
)
from replay.datasets.data_file import SourceLocation, decode
from replay.datasets.json_rows import has_only, outline, rows_of_any, rows_of_list
from replay.datasets.reader import conversations

T = TypeVar("T")

_ROLES = ("system", "developer", "user", "assistant", "tool", "function", "function_call")


class _ChatMessage(msgspec.Struct, kw_only=True):
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
    list_field: str | None = None
    """The field with the list of conversations, where the file is one object around them."""
    thread_field: str | None = None
    """A message's field that names its conversation, where the file is one list of all messages."""
    role_field: str = "role"
    """A message's field that says who speaks."""
    text_field: str = "content"
    """A message's field with what is said."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """What roles are called that have names of their own, as in ``human: user``; ``*`` is any other."""
    system_field: str | None = None
    """A field beside the messages with a system prompt that comes before all of them."""

    metadata_fields: Sequence[str] = ()
    """Fields beside the messages that are kept in the metadata, as what a judge has to look for."""

    def __post_init__(self) -> None:
        if self.thread_field and (self.id_field or self.system_field or self.metadata_fields):
            raise ValueError(
                "thread_field is for files of messages alone, which have nothing beside them; leave out "
                "id_field, system_field and metadata_fields"
            )
        beside = {"metadata": "metadata", "messages_field": self.messages_field}
        beside |= {f"metadata_fields[{n}]": name for n, name in enumerate(self.metadata_fields)}
        _check_unlike(beside | {"id_field": self.id_field, "system_field": self.system_field})
        within = {name: name for name in _ChatMessage.__struct_fields__}
        _check_unlike(within | {"role_field": self.role_field, "text_field": self.text_field})
        for name, role in self.roles.items():
            if role not in _ROLES:
                raise ValueError(
                    f'roles.{name} is "{role}", which is not a role{nearest(role, _ROLES)} '
                    f"(allowed: {', '.join(_ROLES)})"
                )

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first line or item has messages with roles."""
        found = outline(head)
        return any(
            "messages" in found.get(at, ()) and "role" in found.get(f"{at}.messages[]", ())
            for at in ("", "[]")
        )

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """
        Yield one conversation a line, item or thread.

        Raises:
            DatasetError: the file can't be opened.
        """
        kind = self._row_type()
        if self.thread_field:
            yield from conversations(self._threads(path, self.thread_field), self._build)
        elif any("." in name for name in self._fields()):
            rows = self._rows(path, dict[str, Any])
            yield from conversations(
                rows, lambda row, place: self._build(self._lift_fields(row, kind, place), place)
            )
        else:
            yield from conversations(self._rows(path, kind), self._build)

    def _rows(self, path: Path, kind: type[T]) -> Iterator[tuple[SourceLocation, T | DatasetError]]:
        return rows_of_list(path, kind, key=self.list_field) if self.list_field else rows_of_any(path, kind)

    def _threads(self, path: Path, thread_field: str) -> Iterator[tuple[SourceLocation, Any]]:
        """Yield each conversation of a file of messages, in the order of their first ones."""
        threads: dict[str, tuple[SourceLocation, list[Any]]] = {}
        for place, row in self._rows(path, dict[str, Any]):
            if isinstance(row, DatasetError):
                yield place, row
                continue
            name = _at(row, thread_field)
            if not isinstance(name, str | int) or isinstance(name, bool):
                yield place, place.error("is required but missing; thread_field names it", thread_field)
                continue
            threads.setdefault(str(name), (place, []))[1].append(row)
        kind = self._row_type()
        for name, (place, messages) in threads.items():
            row = {"id": name, self.messages_field: messages}
            try:
                yield place, self._lift_fields(row, kind, place)
            except DatasetError as error:
                yield place, error

    def _fields(self) -> tuple[str, ...]:
        named = (self.id_field, self.system_field, self.messages_field, self.role_field, self.text_field)
        return tuple(name for name in (*named, *self.metadata_fields) if name)

    def _lift_fields(self, row: dict[str, Any], kind: type[Any], place: SourceLocation) -> Any:
        """
        Return *row* as *kind*, with nested fields lifted to fields of their own: ``author.role``.

        Raises:
            DatasetError: it is none.
        """
        row |= {name: _at(row, name) for name in self._fields() if "." in name}
        messages = row.get(self.messages_field)
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict):
                within = (name for name in (self.role_field, self.text_field) if "." in name)
                message |= {name: _at(message, name) for name in within}
        return decode(decoder_of(kind), msgspec.json.encode(row), place)

    def _row_type(self) -> type[Any]:
        taken = (self.role_field, self.text_field)
        beside = [(name, Any, None) for name in BESIDE if name not in taken]
        message = msgspec.defstruct(
            "_NamedMessage",
            [("role", str | None, None), ("content", Content, None), *beside],
            bases=(_ChatMessage,),
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

    def _build(self, log: Any, place: SourceLocation) -> Conversation:
        if log.name is None and self.id_field is not None:
            raise place.error("is required but missing, since the setting id_field names it", self.id_field)
        name = f"{place.path.name}:{place.item or place.line}" if log.name is None else str(log.name)
        metadata = dict(log.metadata) if isinstance(log.metadata, dict) else {}
        kept = ((name, getattr(log, f"more_{n}")) for n, name in enumerate(self.metadata_fields))
        metadata |= {name: value for name, value in kept if value is not None}
        return self._read_log(log, place).conversation(name, metadata, place)

    def _read_log(self, log: Any, place: SourceLocation) -> ChatLogParser:
        story = ChatLogParser()
        if self.system_field and log.system is not None:
            story.instruct("system", parse_content(log.system, place, self.system_field).text)
        for index, message in enumerate(log.messages):
            at = f"{self.messages_field}[{index}]"
            role, said = self._read_message(message, place, at)
            if role not in _ROLES:
                raise self._unknown_role(role, place, at)
            if role in ("tool", "function") and not said.results:
                said.results.append(tool_message(message, said))
            story.tell(role, said, message.timestamp)
        return story

    def _read_message(self, message: Any, place: SourceLocation, at: str) -> tuple[str, ParsedMessage]:
        if message.role is None and message.content is None and (item := item_of(message, place, at)):
            return item
        if message.role is None:
            raise place.error("is required but missing", f"{at}.{self.role_field}")
        said = parse_message(message, message.content, place, at, f"{at}.{self.text_field}")
        role = self.roles.get(message.role, message.role)
        if role not in _ROLES:
            role = self.roles.get("*", role)
        if role == "function_call":
            return "assistant", calls_in_text(said, place, f"{at}.{self.text_field}")
        return role, said

    def _unknown_role(self, role: str, place: SourceLocation, at: str) -> DatasetError:
        known = (*_ROLES, *self.roles)
        return place.error(
            f'"{role}" is not a role{nearest(role, known)} (allowed: {", ".join(known)}); '
            f'the setting roles says what it stands for, as in roles: {{"{role:.40}": user}}',
            f"{at}.{self.role_field}",
        )


def _at(row: Any, path: str) -> Any:
    """Return the value at *path* in *row*, where a dot leads into an object; None if there is none."""
    for name in [path] if isinstance(row, dict) and path in row else path.split("."):
        row = row.get(name) if isinstance(row, dict) else None
    return row


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


_TABLE = {"model", "turn", "language", "openai_moderation", "redacted"}
"""What LMSYS and WildChat both say of a conversation."""
_SHAREGPT = ChatReader(
    messages_field="conversations",
    role_field="from",
    text_field="value",
    roles={
        **dict.fromkeys(("gpt", "chatgpt", "bing", "bard"), "assistant"),
        "human": "user",
        "observation": "tool",
    },
    system_field="system",
)
_LMSYS = ChatReader(
    messages_field="conversation", id_field="conversation_id", metadata_fields=("model", "language")
)
# Its conversation_hash is that of the text, which comes more than once, and so can't be the id.
_WILDCHAT = ChatReader(
    messages_field="conversation", metadata_fields=("conversation_hash", "model", "language")
)
_MULTICHALLENGE = ChatReader(
    messages_field="CONVERSATION",
    id_field="QUESTION_ID",
    metadata_fields=("AXIS", "TARGET_QUESTION", "PASS_CRITERIA"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGptReader:
    """Reads ``{"conversations": [{"from": "human", "value": ...}, ...]}``, a line or list item each."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first line or item has such messages."""
        optional = {"id", "system", "tools", "images", "source", "model", "language", "category", "hash"}
        return _has(head, _SHAREGPT, set(), optional)

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a line or item. Raises a ``DatasetError`` if the file can't be opened."""
        yield from _SHAREGPT.read(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class LmsysReader:
    """Reads LMSYS-Chat-1M; model and language are in the metadata."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first line has the table's columns."""
        return _has(head, _LMSYS, {"conversation_id"}, _TABLE)

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a line or item. Raises a ``DatasetError`` if the file can't be opened."""
        yield from _LMSYS.read(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class WildChatReader:
    """Reads WildChat, ids by file and line; the hash, model and language are in the metadata."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first line has the table's columns."""
        more = {"timestamp", "detoxify_moderation", "toxic", "state", "country", "hashed_ip", "header"}
        return _has(head, _WILDCHAT, {"conversation_hash"}, _TABLE | more)

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a line or item. Raises a ``DatasetError`` if the file can't be opened."""
        yield from _WILDCHAT.read(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiChallengeReader:
    """Reads MultiChallenge; its axis, target question and pass criteria are in the metadata."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first line has the benchmark's fields."""
        return _has(head, _MULTICHALLENGE, {"QUESTION_ID"}, {"AXIS", "TARGET_QUESTION", "PASS_CRITERIA"})

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a line or item. Raises a ``DatasetError`` if the file can't be opened."""
        yield from _MULTICHALLENGE.read(path)


def _has(head: bytes, reader: ChatReader, required: set[str], optional: set[str]) -> bool:
    """Return whether the first row has *reader*'s messages, the *required* fields and no unknown ones."""
    found = outline(head)
    messages = reader.messages_field
    return any(
        has_only(found.get(at), required={messages, *required}, optional=optional)
        and {reader.role_field, reader.text_field} <= found.get(f"{at}.{messages}[]", frozenset())
        for at in ("", "[]")
    )
