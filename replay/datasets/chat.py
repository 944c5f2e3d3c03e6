"""
Chat logs: ``{"messages": [{"role": ..., "content": ...}, ...]}`` a line, or as the items of one JSON list,
as chat-completion interfaces take them and production logs and fine-tuning files keep them. Where fields
and roles are called otherwise (ShareGPT, WildChat, MultiChallenge), settings say so.

A user's message is a question and the assistant's answer to it the gold answer. What a log holds
besides is mapped as follows.

- System and developer messages are the system prompts of the turn whose question comes next. Those before
  the first question, and an assistant's greeting there, are the background as well.
- Several user messages in a row are one question: the assistant saw them all before it answered.
- Several assistant messages in a row are one answer. One that calls a tool is a step on the way and
  not part of it; neither is what the tool returned. A refusal is an answer.
- A question that nobody answered is asked but unscored.
- Of content given in parts the texts are kept, joined. What else there is (a picture, sound, a file, the
  model's thinking) is counted, turn by turn, in the metadata as ``left_out``. A question of such parts
  alone is asked as their names in brackets: ``[image_url]``.
- A message's ``timestamp`` is kept in the metadata as it is, that of a question's last message as when
  the turn was asked and that of an answer's last message as when it was answered. Logs write times in
  many ways, so whether it is one is looked at only where it is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from replay.core.conversation import Conversation, Turn
from replay.core.errors import DatasetError
from replay.core.settings.faults import nearest
from replay.datasets.json_outline import outline
from replay.datasets.json_rows import rows_of_either
from replay.datasets.left_out import with_left_out
from replay.datasets.place import Place
from replay.datasets.soundness import conversations
from replay.datasets.timestamps import with_timestamps

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_TEXT_PARTS = ("", "text", "input_text", "output_text")
_TOOL_CALLS = ("tool_use", "server_tool_use", "function_call")
_TOOL_RESULTS = ("tool_result", "function_call_output")


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Message(msgspec.Struct, kw_only=True):
    """The role and the content, which may be called otherwise, come with ``_row_type``."""

    refusal: str | None = None
    tool_calls: list[Any] | None = None
    function_call: Any = None
    timestamp: Any = None


class _Log(msgspec.Struct, kw_only=True):
    metadata: Any = None


@dataclass(slots=True)
class _Said:
    """The content of a message."""

    text: str
    left_out: Counter[str]
    calls_a_tool: bool
    is_tool_result: bool


@dataclass(slots=True)
class _Exchange:
    system_prompts: tuple[str, ...]
    questions: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    acted: bool = False
    """Whether the assistant said or did anything yet."""
    asked_at: Any = None
    answered_at: Any = None

    @property
    def question(self) -> str:
        return _joined(self.questions) or " ".join(f"[{kind}]" for kind in self.left_out)


@dataclass(slots=True)
class _Story:
    """A log as it is told message by message."""

    opening: list[str] = field(default_factory=list)
    exchanges: list[_Exchange] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    """System prompts that no question has followed yet."""


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
        content = str | list[str | _Part] | None
        message = msgspec.defstruct(
            "_NamedMessage",
            [("role", str), ("content", content, None)],
            bases=(_Message,),
            rename={"role": self.role_field, "content": self.text_field},
            kw_only=True,
        )
        more: list[tuple[str, Any, Any]] = [
            (f"more_{n}", Any, None) for n in range(len(self.metadata_fields))
        ]
        if self.system_field:
            more.append(("system", content, None))
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
        story = self._told(log, place)
        metadata = dict(log.metadata) if isinstance(log.metadata, dict) else {}
        kept = ((name, getattr(log, f"more_{n}")) for n, name in enumerate(self.metadata_fields))
        metadata |= {name: value for name, value in kept if value is not None}
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
                    question=exchange.question,
                    gold_answers=(answer,) if (answer := _joined(exchange.answers)) else (),
                    system_prompts=exchange.system_prompts,
                )
                for number, exchange in enumerate(story.exchanges, 1)
            ),
            background=_joined(story.opening),
            metadata=with_left_out(metadata, [exchange.left_out for exchange in story.exchanges]),
        )

    def _told(self, log: Any, place: Place) -> _Story:
        story = _Story()
        if self.system_field and log.system is not None:
            _instruct(story, _said(log.system, place, self.system_field).text)
        for index, message in enumerate(log.messages):
            at = f"{self.messages_field}[{index}]"
            said = _said(message.content, place, f"{at}.{self.text_field}")
            last = story.exchanges[-1] if story.exchanges else None
            role = self.roles.get(message.role, message.role)
            if role == "user" and said.is_tool_result:
                role = "tool"
            match role:
                case "system" | "developer":
                    _instruct(story, said.text)
                case "user":
                    if last is None or last.acted:
                        last = _Exchange(tuple(story.prompts))
                        story.exchanges.append(last)
                    else:
                        last.system_prompts += tuple(story.prompts)
                    story.prompts.clear()
                    last.questions.append(said.text)
                    last.left_out += said.left_out
                    last.asked_at = message.timestamp
                case "assistant":
                    if last:
                        last.acted = True
                        last.left_out += said.left_out
                    if not (said.calls_a_tool or message.tool_calls or message.function_call):
                        text = message.refusal or "" if message.content is None else said.text
                        (last.answers if last else story.opening).append(text)
                        if last:
                            last.answered_at = message.timestamp
                case "tool" | "function":
                    pass
                case _:
                    raise self._unknown_role(role, place, at)
        return story

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


def _instruct(story: _Story, prompt: str) -> None:
    if prompt.strip():
        story.prompts.append(prompt)
        if not story.exchanges:
            story.opening.append(prompt)


def _said(content: str | list[str | _Part] | None, place: Place, at: str) -> _Said:
    parts = [content or ""] if isinstance(content, str | None) else content
    texts = []
    others: Counter[str] = Counter()
    for index, part in enumerate(parts):
        if isinstance(part, str):
            texts.append(part)
        elif part.type in (*_TEXT_PARTS, "refusal"):
            text = part.refusal if part.type == "refusal" else part.text
            if text is None:
                raise place.error("is a text part without a text", f"{at}[{index}]")
            texts.append(text)
        else:
            others[part.type] += 1
    calls = [kind for kind in _TOOL_CALLS if others.pop(kind, 0)]
    results = [kind for kind in _TOOL_RESULTS if others.pop(kind, 0)]
    text = _joined(texts)
    return _Said(text, others, bool(calls), bool(results) and not text)


def _joined(texts: Sequence[str]) -> str:
    return "\n".join(text for text in texts if text.strip())
