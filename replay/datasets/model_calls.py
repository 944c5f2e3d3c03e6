"""
Traces: what a model was sent and what it returned, call by call, put together as conversations.

Most programs send the whole history with each call, some only its end, and where the provider keeps it only
what is new. So each call's messages are laid onto what the conversation's calls before have told: a call that
begins with the same question tells all of it again, and is taken at its word; else what it repeats of the end
is found and passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError
from replay.datasets.chat_log_parser import ChatLogParser
from replay.datasets.chat_messages import ParsedMessage
from replay.datasets.place import SourceLocation
from replay.datasets.validation import conversations

_INSTRUCTIONS = ("system", "developer")


@dataclass(slots=True)
class TracedMessage:
    """A message of a call."""

    role: str
    said: ParsedMessage
    at: Any = None
    """When, in seconds or ISO 8601, where that is known."""

    @property
    def content(self) -> tuple[Any, ...]:
        """Return what two copies of one message have in common; one may lack the ids of calls."""
        calls = [(call.name, call.parsed_arguments) for call in self.said.calls]
        return self.role, self.said.text, calls, [result.text for result in self.said.results]


@dataclass(slots=True, kw_only=True)
class ModelCall:
    """One call of a model."""

    conversation: str
    started: float | str
    """Sorts a conversation's calls."""
    place: SourceLocation
    messages: list[TracedMessage]
    answers: list[TracedMessage]
    scores: Sequence[dict[str, Any]] = ()
    """What people or checks said of it, each with a ``name`` and a ``value``."""

    def set_times(self, started: Any, ended: Any) -> None:
        """The last question came when the call *started*, its answers when it *ended*; None where unknown."""
        for message in [one for one in self.messages if one.role == "user"][-1:]:
            message.at = started
        for message in self.answers:
            message.at = ended


@dataclass(slots=True)
class _CallHistory:
    """What a conversation's calls have told so far."""

    instructions: list[TracedMessage] = field(default_factory=list)
    messages: list[TracedMessage] = field(default_factory=list)

    def add(self, call: ModelCall) -> None:
        instructions = list(takewhile(lambda one: one.role in _INSTRUCTIONS, call.messages))
        sent = call.messages[len(instructions) :]
        known, repeated = self._overlap(sent)
        new = sent[repeated:]
        unchanged = [one.content for one in instructions] == [one.content for one in self.instructions]
        # Instructions that change between the steps of one turn (the time of day) would stand between a call
        # of a tool and its result.
        if instructions and not unchanged and (not self.messages or any(one.role == "user" for one in new)):
            self.instructions = instructions
            new = [*instructions, *new]
        self.messages[known:] = [*new, *call.answers]

    def _overlap(self, sent: Sequence[TracedMessage]) -> tuple[int, int]:
        """Return how many of the messages so far stay, and how many of *sent* are among them."""
        told = [(at, one.content) for at, one in enumerate(self.messages) if one.role not in _INSTRUCTIONS]
        again = [one.content for one in sent]
        questions = [content for _, content in told if content[0] == "user"]
        asked = [content for content in again if content[0] == "user"]
        if questions and asked[:1] == questions[:1] and len(asked) >= len(questions):
            same = 0
            while same < min(len(told), len(again)) and told[same][1] == again[same]:
                same += 1
            return (told[same][0] if same < len(told) else len(self.messages)), same
        contents = [content for _, content in told]
        sizes = range(min(len(told), len(again)), 0, -1)
        return len(self.messages), next((size for size in sizes if contents[-size:] == again[:size]), 0)


def conversations_of(
    calls: Iterable[ModelCall | tuple[str, DatasetError]],
) -> Iterator[Conversation | DatasetError]:
    """Yield the conversations of *calls*, in the order of their first call; an unreadable one as an error."""
    found: dict[str, list[ModelCall] | DatasetError] = {}
    for call in calls:
        if isinstance(call, tuple):
            found[call[0]] = call[1]
            continue
        others = found.setdefault(call.conversation, [])
        if isinstance(others, list):
            others.append(call)
    for calls_or_fault in found.values():
        if isinstance(calls_or_fault, DatasetError):
            yield calls_or_fault
        else:
            yield from conversations([(calls_or_fault[0].place, calls_or_fault)], _build)


def _build(calls: list[ModelCall], place: SourceLocation) -> Conversation:
    told = _CallHistory()
    for call in sorted(calls, key=lambda call: call.started):
        told.add(call)
    story = ChatLogParser()
    for one in told.messages:
        story.tell(one.role, one.said, one.at)
    scores: list[dict[str, Any]] = []
    for score in (score for call in calls for score in call.scores):
        if score not in scores:  # those of a trace stand at each of its calls
            scores.append(score)
    return story.conversation(calls[0].conversation, {"scores": scores} if scores else {}, place)
