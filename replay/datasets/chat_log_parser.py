"""A chat log as it is told message by message, and the turns that it comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec.structs import replace

from replay.core.conversation import Conversation, Turn
from replay.core.message import Message, join_texts, pair_calls
from replay.core.message_reading import match_results, stray_results
from replay.datasets.chat_messages import ParsedMessage
from replay.datasets.omitted import with_left_out
from replay.datasets.place import SourceLocation
from replay.datasets.timestamps import with_timestamps


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
    def lost(self) -> Counter[str]:
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
            metadata=with_left_out(with_times, [turn.lost for turn in self.turns]),
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
