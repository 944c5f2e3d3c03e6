"""
What is played: a conversation, with a system, under a policy, maybe several times; when its turns are due,
and the sessions in which they are asked.

Answers of a system may be kept on disk: what was asked before in all its parts is not asked again. A key
holds whatever may change a reply: the system's name and settings, the conversation's own facts (which
templates may use), the question with its depth, history, prompts, steps and parameters, and which repeat it
is. A kept answer was hidden like every reply before it was kept, and nothing of a question is in the file.
Only for systems that are sent the history: where they keep it themselves, a reply depends on a session, and
one that was answered from here in part would be a session that nobody ever had.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from secrets import token_hex
from types import TracebackType
from typing import Any, Protocol, Self
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from replay.core.adapter import Adapter, ChatReply, ChatRequest, RawReply, Session, WireTimes
from replay.core.asking.cached import identity, read_reply, reply_bytes
from replay.core.asking.costs import Prices
from replay.core.asking.limits import RateLimit
from replay.core.asking.retries import UnopenedSession, open_session
from replay.core.conversation import Conversation, Turn
from replay.core.disk_cache import DiskCache, content_key
from replay.core.errors import AdapterError
from replay.core.lifetimes import in_thread
from replay.core.logs import ConversationLog
from replay.core.record import TurnPlace, TurnRecord, UnfinishedTurn
from replay.core.settings.plugin_bugs import attributed_to
from replay.core.settings.plugins import available
from replay.play.event_loop import InFlightRequests
from replay.play.tool_results import Tools
from replay.policies.policy import Policy

ANSWERS_FILE = "answers.db"
"""What the file of kept answers is called in the folder that ``play.cache`` names."""

Asked = tuple[ChatReply | AdapterError, int, float, float]
"""As ``RetryingClient.ask`` gives it. What comes from the cache took 0 attempts."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerCache:
    """The answers of one system."""

    disk: DiskCache
    identity: tuple[str, ...]
    """The system's name, its adapter with all settings, and the version of the adapter's package."""
    _locks: WeakValueDictionary[bytes, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    @classmethod
    def of(
        cls, system: str, adapter: str, settings: Mapping[str, Any], *, disk: DiskCache, folder: Path
    ) -> Self:
        """
        Return the answers on *disk* of the *system* of that name, whose settings are relative to *folder*.

        Its key includes that name, so that a system that is listed twice can be compared with itself.
        """
        entry = available("adapters").get(adapter)
        package = entry.dist.version if entry and entry.dist else ""
        return cls(disk=disk, identity=(system, identity(adapter, settings, folder, whole=True), package))

    async def reply(
        self,
        ask: Callable[[], Awaitable[Asked]],
        conversation: Conversation,
        request: ChatRequest,
        repeat: int,
        *,
        anew: bool,
    ) -> Asked:
        """
        Return the cached reply to *request*, else the one that *ask* gets; a successful reply is cached.

        Args:
            ask: Sends the request. Not called if a reply is cached, unless *anew*.
            conversation: The conversation that is replayed.
            request: The request that would be sent.
            repeat: The number of the repetition; each repetition has its own replies.
            anew: Ask in any case and overwrite the cached reply.

        Returns:
            The reply or failure, as *ask* gives it; of a cached reply the other numbers are 0.
        """
        key = self._key(conversation, request, repeat)
        # Several policies ask a conversation's first question alike, and at the same time.
        async with self._locks.setdefault(key, asyncio.Lock()):
            kept = None if anew else await in_thread(read_reply, self.disk, key)
            if kept is not None:
                return kept, 0, 0.0, 0.0
            asked = await ask()
            if isinstance(asked[0], ChatReply) and isinstance(asked[0].text, str):
                await in_thread(self.disk.put, {key: reply_bytes(asked[0])})
            return asked

    def _key(self, conversation: Conversation, request: ChatRequest, repeat: int) -> bytes:
        about = {name: getattr(conversation, name) for name in _SEEN}
        same = msgspec.structs.replace(request, keep_raw=False, traceparent=None)
        return content_key(self.identity, about, same, repeat)


def open_answers(cache: Path | None, folder: Path) -> DiskCache | None:
    """Return the kept answers in the folder *cache*, relative to *folder*, or None if *cache* is None."""
    return None if cache is None else DiskCache(folder / cache.expanduser() / ANSWERS_FILE)


_SEEN = ("id", "title", "section", "background", "passages", "metadata")
"""What an adapter may look at in a conversation: all but its turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system under test."""

    name: str
    adapter: Adapter
    limit: RateLimit | None = None
    keep_raw: bool = False
    """Its replies are kept as they came."""
    prices: Prices | None = None
    """For replies that don't say themselves what they cost."""
    tools: Tools | None = None
    """What its calls of tools come to; None where a reply that calls one is a failure."""
    answers: AnswerCache | None = None
    """Where its answers are kept from run to run."""
    one_session: bool = False
    """Where it keeps sessions itself, the sessions of the data are one to it."""

    @property
    def takes_seed(self) -> bool:
        """Return whether a request's ``seed`` reaches what is asked."""
        return bool(getattr(self.adapter, "takes_seed", False))


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One conversation to be played with one system under one policy."""

    system: System
    policy_name: str
    policy: Policy
    conversation: Conversation
    records: tuple[TurnRecord, ...] = ()
    """Turns that are durable from an earlier session of the run, in order."""
    source: str | None = None
    """The conversation's id in the data where it is played once more under another id."""
    repeat: int = 1
    """Which play of the conversation it is, where it is played several times."""
    seed: int | None = None
    """What its asks send as ``seed``; None for nothing."""
    begun: UnfinishedTurn | None = None
    """What an earlier session of the run knows of the first turn without a record."""
    anew: bool = False
    """Its questions are asked even where answers were kept."""

    @property
    def asked_about(self) -> Conversation:
        """
        The conversation as a session knows it: a repeat by its id in the data, which templates send, and
        without a goal, which is the user's alone.
        """
        name = self.conversation.id if self.repeat == 1 or self.source is None else self.source
        if name == self.conversation.id and self.conversation.goal is None:
            return self.conversation
        return replace(self.conversation, id=name, goal=None)

    @property
    def first_depth(self) -> int:
        """Depth of the first turn without a record."""
        return self.conversation.asked_from + len(self.records)


_LIKE_A_REPETITION = re.compile(r"(~+)[0-9]+\Z")


def repetition_mark(ids: Iterable[str]) -> str:
    """
    Return the separator between a conversation's id and the number of its repetition.

    It is ``~``, repeated until no id of the data, *ids*, can be taken for a repetition's.
    """
    taken = (len(found[1]) for name in ids if (found := _LIKE_A_REPETITION.search(name)))
    return "~" * (max(taken, default=0) + 1)


def repetition_id(id: str, repetition: int, mark: str = "~") -> str:
    """
    Return the id of a *repetition* (from 1) of the conversation *id*, as ``album~2``; the first keeps *id*.

    *mark* is the separator that ``repetition_mark`` returns.
    """
    return id if repetition == 1 else f"{id}{mark}{repetition}"


def repeat_conversation(conversation: Conversation, repetition: int, mark: str = "~") -> Conversation:
    """Return *conversation* under its ``repetition_id``. All else is shared with *conversation*."""
    if repetition == 1:
        return conversation
    return replace(conversation, id=repetition_id(conversation.id, repetition, mark))


class Pacer(Protocol):
    """The pace of one conversation."""

    async def next_due(self, depth: int, due: float | None, done: float | None) -> float | None:
        """
        Wait until the turn at *depth* is due, and return the moment it was due; None ends the conversation.

        *due* and *done* are the moments when the turn before was due and over, on the player's clock;
        None before the first.
        """
        ...


class PlaySessions:
    """
    Opens sessions as turns need them and closes the one before; all of them once the block is left.

    All belong to one user, whom no play before had: where a play begins anew, since its session was lost, the
    system remembers nothing of it.
    """

    def __init__(
        self, play: Play, asks: InFlightRequests, unclosed: Callable[[Play, AdapterError], None]
    ) -> None:
        self._play = play
        self._asks = asks
        self._unclosed = partial(unclosed, play)
        self._about = replace(play.asked_about, user=token_hex(16))
        self._follows_data = play.system.adapter.history == "server" and not play.system.one_session
        self._opened: AbstractAsyncContextManager[Session] | None = None
        self._current: tuple[str, Session] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.__aexit__(kind, error, trace)

    async def of(self, turn: Turn) -> Session:
        """
        Return the session in which *turn* is asked; where it can't be opened, one whose asks say why.

        Raises:
            PluginError: the adapter raised what is no error of ours.
        """
        if self._current is not None:
            name, session = self._current
            if name == turn.session or not self._follows_data:
                return session
            await self.__aexit__(None, None, None)
        session = await self._open()
        self._current = turn.session, session
        return session

    async def _open(self) -> Session:
        system = self._play.system
        try:
            with attributed_to('system "%s" fails to open conversation "%s"', system.name, self._about.id):
                opening = open_session(system.adapter, self._about, self._unclosed)
                session = await opening.__aenter__()
        except AdapterError as error:
            return UnopenedSession(error)
        self._opened = opening
        return self._asks.watch(system.name, session)


@dataclass(slots=True)
class Attempts:
    """Writes the attempts of a turn to the log, and keeps what came back, where that is wanted."""

    place: TurnPlace
    log: ConversationLog | None
    keep: Callable[[RawReply], None] | None
    before: int = 0
    """Attempts of the turn's earlier asks."""

    def sent(self, attempt: int) -> None:
        if self.log is not None:
            self.log.log_sent(self.place[3], self.before + attempt)

    def failed(self, attempt: int, error: AdapterError, pause_s: float | None) -> None:
        self._keep(attempt, error.outcome, error.raw)
        if self.log is not None:
            self.log.log_failure(self.place[3], self.before + attempt, error.outcome, str(error), pause_s)

    def answered(self, attempt: int, reply: ChatReply, times: WireTimes) -> None:
        if self.log is not None:
            self.log.log_answer(self.place[3], self.before + attempt, times.done - times.sent)
        self._keep(attempt, "answered", reply.raw)

    def _keep(self, attempt: int, outcome: str, raw: bytes | None) -> None:
        if self.keep is not None and raw is not None:
            conversation, system, policy, depth = self.place
            self.keep(
                RawReply(
                    conversation=conversation,
                    system=system,
                    policy=policy,
                    depth=depth,
                    attempt=self.before + attempt,
                    outcome=outcome,
                    data=raw,
                )
            )
