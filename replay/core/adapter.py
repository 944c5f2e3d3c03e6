"""
The protocols between the player and a system under test.

An adapter is built once per system from its ``settings``; it opens one session per conversation;
a session is asked one question at a time. An adapter that holds something open (a connection
pool) is also an async context manager, entered before the first session and left after the last.

A reply as it came, for those who want to look at more than its answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from replay.core.conversation import Conversation, Passage
from replay.core.history import Exchange
from replay.core.message import Message, ToolCall, instructions, question_messages
from replay.core.record import ServerTimes, Usage

HistoryKeeper = Literal["client", "server"]
"""Who keeps the conversation's history: the caller sends it each time, or the system has a session."""


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One question put to a system."""

    question: str
    history: tuple[Exchange, ...]
    """Oldest first. Empty for an adapter whose system keeps the history itself."""
    depth: int
    """1 for the conversation's first turn."""
    asked_with: tuple[Message, ...] = ()
    """As the turn's ``asked_with``; those of earlier questions are in the history's exchanges."""
    steps: tuple[Message, ...] = ()
    """What followed this question so far: the system's calls of tools, and their results. Empty at first."""
    parameters: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """How the model is to answer this one question, in Chat Completions' names (``temperature``,
    ``logprobs``, ...). Judges set them; an adapter whose ``takes_parameters`` isn't true ignores them. Of
    a system under test there is ``seed`` alone, under ``play.seed_per_repeat``; of one that is served, what
    whoever asks says about tools."""
    keep_raw: bool = False
    """The reply's ``raw`` is wanted."""
    runs_tools: bool = False
    """Whoever asks has tools: a reply may call some and say nothing else. Without them that is no answer."""
    traceparent: str | None = None
    """The ask's place in a trace, for a header of that name (https://www.w3.org/TR/trace-context/), where
    the scenario has ``telemetry``."""

    @property
    def seed(self) -> int | None:
        """Of the ``parameters``: what the system is to draw with; None where it is left to itself."""
        seed: int | None = self.parameters.get("seed")
        return seed

    @property
    def messages(self) -> tuple[Message, ...]:
        """All of it in order: the history's messages, the question's, and the steps since."""
        earlier = chain.from_iterable(exchange.messages for exchange in self.history)
        return (*earlier, *question_messages(self.question, self.asked_with), *self.steps)

    @property
    def system_prompt(self) -> str:
        """All recorded instructions up to the question, with blank lines between them."""
        told = chain(*((*e.asked_with, *e.steps) for e in self.history), self.asked_with, self.steps)
        return "\n\n".join(message.text for message in instructions(told))


class TokenLogprobs(msgspec.Struct, frozen=True, kw_only=True):
    """One token of a reply, and the likeliest ones in its place."""

    token: str
    logprob: float
    """Natural logarithm of the token's probability."""
    top: tuple[tuple[str, float], ...] = ()
    """Candidates with their log-probabilities, the likeliest first, as far as they were asked for."""


class WireTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Moments of a request, read from ``time.perf_counter``."""

    sent: float
    done: float
    first_byte: float | None = None
    first_token: float | None = None
    token_gaps_100us: tuple[int, ...] = ()
    """Gaps between the pieces of a streamed answer, in tenths of a millisecond; see ``Timing``."""
    server: ServerTimes | None = None
    """What the server says that it took."""


class ChatReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a system answered."""

    text: str
    """Blank only where it calls tools."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Calls whose results it waits for before it answers; they go into the next request's ``steps``."""
    steps: tuple[Message, ...] = ()
    """What the system says it did by itself before it answered: calls of tools and their results."""
    passages: tuple[Passage, ...] = ()
    usage: Usage | None = None
    cost_usd: float | None = None
    times: WireTimes | None = None
    """Left out by adapters without a wire; the player then times the call to ``ask``."""
    logprobs: tuple[TokenLogprobs, ...] | None = None
    """Token by token, where they were asked for and came."""
    raw: bytes | None = None
    """What came back, as it came, where ``ChatRequest.keep_raw`` asked for it and there is such a thing."""


class Session(Protocol):
    """One conversation with a system."""

    async def ask(self, request: ChatRequest) -> ChatReply:
        """
        Put one question and wait for the whole answer.

        The caller sets the deadline by cancelling; an adapter sets none of its own.

        Raises:
            AdapterError: no answer came; the subclass says why.
        """
        ...


@runtime_checkable
class Adapter(Protocol):
    """
    A way to reach one kind of system.

    One whose attribute ``takes_parameters`` is true passes on a request's ``parameters``, and one whose
    ``takes_seed`` is true its ``seed``, under the scenario's ``play.seed_per_repeat``. `replay validate`
    shows three more, where they are there: ``local_code`` names what it runs on this machine; ``hosts`` are
    the URLs that it talks to, as texts, where its settings and their defaults don't show them all;
    ``unsent_system_prompts`` is why recorded system prompts don't reach the system and how to send them, or
    None where they do.
    """

    @property
    def history(self) -> HistoryKeeper: ...

    def session(self, conversation: Conversation) -> AbstractAsyncContextManager[Session]:
        """
        Open a session for *conversation*; its gold answers and standalone questions are not the system's to
        see, its passages and background are.

        An AdapterError on leaving it means that it could not be closed: it is kept with the run, and no
        turn fails for it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReply:
    """What came back for one attempt of one ask."""

    conversation: str
    system: str
    policy: str
    depth: int
    attempt: int
    """From 1; those of a later rerun begin again."""
    outcome: str
    """Of this attempt."""
    data: bytes
    cut_bytes: int = 0
    """How much of its end was left out."""
    asked_at: str = ""
    """UTC, ISO 8601; where it is empty, that is when it is stored."""
