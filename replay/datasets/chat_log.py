"""
A chat log as it is told message by message, and the turns that it comes to.

A message of a chat log: its text, the tools that it calls or answers, and what of it is neither.

The content is a text or a list of parts. Calls and results are parts of a content (Anthropic), fields beside
it (Chat Completions, LangChain, Ollama), or messages without a role (the items of Responses).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from replay.core.conversation import Conversation, Turn
from replay.core.message import (
    Message,
    ToolCall,
    join_texts,
    json_text,
    match_results,
    pair_calls,
    stray_results,
    tool_call_in,
)
from replay.datasets.data_file import SourceLocation, decode
from replay.datasets.turn_metadata import with_left_out, with_timestamps

BESIDE = ("tool_call_id", "name", "tool_name", "type", "id", "call_id", "arguments", "output")
"""Fields of messages that say more of calls and results, where nothing else is called so."""
_TEXT_PARTS = ("", "text", "input_text", "output_text")
_ANYTHING = msgspec.json.Decoder(Any)
_CALLS = ("tool_use", "function_call")
_RESULTS = ("tool_result", "function_call_output")


class ContentPart(msgspec.Struct):
    """One part of a content; which of the fields it has depends on its type."""

    type: str = ""
    text: str | None = None
    refusal: str | None = None
    id: Any = None
    call_id: Any = None
    tool_use_id: Any = None
    name: Any = None
    input: Any = None
    arguments: Any = None
    content: Any = None
    output: Any = None
    value: Any = None
    """LLaMA-Factory's: the text, or a call as JSON text."""


Content = str | list[str | ContentPart] | None


@dataclass(slots=True)
class ParsedMessage:
    """What a message says."""

    texts: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """Parts of other kinds."""
    calls: list[ToolCall] = field(default_factory=list)
    results: list[Message] = field(default_factory=list)

    @property
    def text(self) -> str:
        return join_texts(self.texts)


def parse_content(content: Content, place: SourceLocation, at: str) -> ParsedMessage:
    """
    Return the texts, calls and results in *content*, and what is left out of it.

    Args:
        content: The content of a message: a text, a list of parts, or None.
        place: Where the message is, for errors.
        at: The field with the content, for errors.

    Raises:
        DatasetError: a part lacks what its type promises.
    """
    said = ParsedMessage()
    for index, part in enumerate([content or ""] if isinstance(content, str | None) else content):
        if isinstance(part, str):
            said.texts.append(part)
        elif part.type in (*_TEXT_PARTS, "refusal"):
            text = part.refusal if part.type == "refusal" else part.text
            text = part.value if text is None else text
            if not isinstance(text, str):
                raise place.error("is a text part without a text", f"{at}[{index}]")
            said.texts.append(text)
        else:
            _take(part, said, place, f"{at}[{index}]")
    return said


def parse_message(
    message: Any, content: Content, place: SourceLocation, at: str, content_at: str
) -> ParsedMessage:
    """
    Return the texts and tool calls of *message*, from its content and its other fields.

    Args:
        message: The message.
        content: Its content.
        place: Where the conversation is, for errors.
        at: The field with the message, for errors.
        content_at: The field with its content, for errors.

    Raises:
        DatasetError: a part or a call lacks what it must have.
    """
    said = parse_content(content, place, content_at)
    calls = [(f"tool_calls[{number}]", call) for number, call in enumerate(message.tool_calls or ())]
    if message.function_call:
        calls.append(("function_call", message.function_call))
    for name, call in calls:
        said.calls.append(_call(call, place, f"{at}.{name}"))
    if content is None and message.refusal:
        said.texts.append(message.refusal)
    return said


def calls_in_text(said: ParsedMessage, place: SourceLocation, at: str) -> ParsedMessage:
    """
    Return the tool calls in a message whose text is a call as JSON, or a list of calls.

    Raises:
        DatasetError: the text is not JSON, or a call has no name.
    """
    given = decode(_ANYTHING, said.text.encode(errors="replace"), place, at)
    calls = given if isinstance(given, list) else [given]
    return ParsedMessage(left_out=said.left_out, calls=[_call(call, place, at) for call in calls])


def item_of(message: Any, place: SourceLocation, at: str) -> tuple[str, ParsedMessage] | None:
    """
    Return role and content of a typed item of the Responses API; None for any other message.

    Raises:
        DatasetError: it is a call without a name.
    """
    type = getattr(message, "type", None)
    if not isinstance(type, str) or not type:
        return None
    said = ParsedMessage()
    fields = ("id", "call_id", "name", "arguments", "output")
    _take(ContentPart(type=type, **{name: getattr(message, name, None) for name in fields}), said, place, at)
    return ("tool" if said.results else "assistant"), said


def tool_message(message: Any, said: ParsedMessage) -> Message:
    """Return the result that a *message* of the role ``tool`` or ``function`` is."""
    id, name, other = (getattr(message, field, None) for field in ("tool_call_id", "name", "tool_name"))
    name = name or other
    return Message(
        role="tool",
        text=said.text,
        tool_call_id=id if isinstance(id, str) else None,
        name=name if isinstance(name, str) else None,
        left_out=tuple(said.left_out.elements()),
    )


def _take(part: ContentPart, said: ParsedMessage, place: SourceLocation, at: str) -> None:
    if part.type == "tool_call" and isinstance(part.value, str):
        said.calls += calls_in_text(ParsedMessage(texts=[part.value]), place, at).calls
    elif part.type in _CALLS:
        said.calls.append(_call(msgspec.structs.asdict(part), place, at))
    elif part.type in _RESULTS:
        said.results.append(_result(part))
    else:
        said.left_out[part.type] += 1


def _call(value: Any, place: SourceLocation, at: str) -> ToolCall:
    call = tool_call_in(value)
    if call is None:
        raise place.error("is a call of a tool without its name", at)
    return call


def _result(part: ContentPart) -> Message:
    given = part.output if part.content is None else part.content
    listed = given if isinstance(given, list) else []
    parts = [one for one in listed if isinstance(one, dict) and isinstance(one.get("type"), str)]
    texts = [one["text"] for one in parts if isinstance(one.get("text"), str)]
    is_in_parts = bool(parts) and len(parts) == len(listed)
    id = part.tool_use_id or part.call_id
    return Message(
        role="tool",
        text=join_texts(texts) if is_in_parts else json_text(given),
        tool_call_id=id if isinstance(id, str) else None,
        left_out=tuple(one["type"] for one in parts if is_in_parts and not isinstance(one.get("text"), str)),
    )


@dataclass(slots=True)
class ChatTurn:
    """A question with all that came before the next one."""

    asked_with: list[Message]
    """What stood before it, and the question's own messages."""
    answers: list[str] = field(default_factory=list)
    """What the assistant has said since its last step."""
    left_out: Counter[str] = field(default_factory=Counter)
    acted: bool = False
    """Whether the assistant said or did anything yet."""
    asked_at: Any = None
    answered_at: Any = None
    _steps: list[Message] = field(default_factory=list)

    @property
    def question(self) -> str:
        asked = join_texts(message.text for message in self.asked_with if message.role == "user")
        return asked or " ".join(f"[{kind}]" for kind in self.left_out)

    @property
    def recorded_with(self) -> tuple[Message, ...]:
        """
        Return the messages for the turn's ``asked_with``.

        The question's own message is omitted if it is the last one and the only one of the user.
        """
        users = [message for message in self.asked_with if message.role == "user"]
        is_last = len(users) == 1 and self.asked_with[-1] is users[0]
        return tuple(self.asked_with[:-1] if is_last else self.asked_with)

    @property
    def steps(self) -> tuple[Message, ...]:
        """Return the messages between question and answer, without tool results that belong to no call."""
        steps = match_results(self._steps)
        stray = stray_results(steps)
        return tuple(step for position, step in enumerate(steps) if position not in stray)

    @property
    def unsent_parts(self) -> Counter[str]:
        """Return the number of the turn's parts that are never sent, by kind."""
        sent = pair_calls(self.steps)
        lost = {
            "tool call without its result": _calls(self._steps) - _calls(sent),
            "tool result without its call": _results(self._steps) - _results(sent),
        }
        return self.left_out + Counter(lost)

    def step(self, *messages: Message) -> None:
        """Add *messages* as steps, after all that the assistant has said so far."""
        self.acted = True
        self._steps += (Message(role="assistant", text=text) for text in self.answers if text.strip())
        self.answers.clear()
        self.answered_at = None
        self._steps += messages

    def call(self, message: Message) -> None:
        """Add a message with tool calls; several in a row become one message."""
        if self._steps and self._steps[-1].tool_calls and not self.answers and not message.text:
            calls = self._steps[-1].tool_calls + message.tool_calls
            self._steps[-1] = replace(self._steps[-1], tool_calls=calls)
        else:
            self.step(message)


@dataclass(slots=True)
class ChatLogParser:
    """All of a log's turns."""

    opening: list[str] = field(default_factory=list)
    """A greeting before the first question. Instructions are no background: what an operator tells the system
    is not part of what was said, and would hide that an answer no longer names it."""
    turns: list[ChatTurn] = field(default_factory=list)
    _pending: list[Message] = field(default_factory=list)
    """Instructions that nothing has followed yet."""

    def tell(self, role: str, said: ParsedMessage, at: Any) -> None:
        """Add a message of any role, said *at* a time as the log writes it; a tool's has its results."""
        match role:
            case "system" | "developer":
                self.instruct(role, said.text)
            case "user":
                self.take_results(said.results)
                if not said.results or said.text or said.left_out:
                    self.ask(said, at)
            case "assistant":
                self.answer(said, at)
            case _:
                self.take_results(said.results)

    def conversation(self, name: str, metadata: Mapping[str, Any], place: SourceLocation) -> Conversation:
        """
        Return the conversation that was logged.

        Raises:
            DatasetError: *metadata* holds times that the messages have too.
        """
        with_times = with_timestamps(
            metadata,
            asked=[turn.asked_at for turn in self.turns],
            answered=[turn.answered_at for turn in self.turns],
            place=place,
        )
        return Conversation(
            id=name,
            turns=tuple(
                Turn(
                    id=f"{name}#{number}",
                    question=turn.question,
                    gold_answers=(answer,) if (answer := join_texts(turn.answers)) else (),
                    asked_with=turn.recorded_with,
                    steps=turn.steps,
                )
                for number, turn in enumerate(self.turns, 1)
            ),
            background=join_texts(self.opening),
            metadata=with_left_out(with_times, [turn.unsent_parts for turn in self.turns]),
        )

    def instruct(self, role: Literal["system", "developer"], prompt: str) -> None:
        """Add an instruction to the system."""
        self._before_next(Message(role=role, text=prompt))

    def ask(self, said: ParsedMessage, asked_at: Any) -> None:
        """Add a message of the user: a question, or more of one."""
        if not self.turns or self.turns[-1].acted:
            self.turns.append(ChatTurn(asked_with=[]))
        turn = self.turns[-1]
        turn.asked_with += self._pending
        self._pending.clear()
        if said.text:
            turn.asked_with.append(Message(role="user", text=said.text))
        turn.left_out += said.left_out
        turn.asked_at = asked_at

    def answer(self, said: ParsedMessage, answered_at: Any) -> None:
        """Add a message of the assistant, with or without tool calls."""
        turn = self._acting(bool(said.calls))
        if turn is None:
            self._before_next(Message(role="assistant", text=said.text))
            return
        turn.acted = True
        turn.left_out += said.left_out
        if said.calls:
            kinds = tuple(said.left_out.elements())
            turn.call(Message(role="assistant", text=said.text, tool_calls=tuple(said.calls), left_out=kinds))
        elif said.text:
            turn.answers.append(said.text)
            turn.answered_at = answered_at

    def take_results(self, results: Iterable[Message]) -> None:
        """Add results of tools."""
        for result in results:
            turn = self._acting(True)
            if turn is not None:
                turn.left_out += Counter(result.left_out)
                turn.step(result)

    def _before_next(self, message: Message) -> None:
        if message.text.strip():
            self._pending.append(message)
            if not self.turns and message.role == "assistant":
                self.opening.append(message.text)

    def _acting(self, uses_tools: bool) -> ChatTurn | None:
        """Return the turn in which the assistant acts; None before the first question."""
        if not self.turns:
            return None
        turn = self.turns[-1]
        if not turn.acted:
            turn.asked_with += self._pending
            self._pending.clear()
        # Behind what looks like an answer they are the next question's, unless it was no answer.
        elif self._pending and (uses_tools or not turn.answers):
            turn.step(*self._pending)
            self._pending.clear()
        return turn


def _calls(steps: Iterable[Message]) -> int:
    return sum(len(step.tool_calls) for step in steps)


def _results(steps: Iterable[Message]) -> int:
    return sum(step.role == "tool" for step in steps)
