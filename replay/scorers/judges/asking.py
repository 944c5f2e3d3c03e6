"""
Asks voters: from the cache where it can, else politely, with a deadline and retries.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from replay.core.adapter import Adapter, ChatReply, ChatRequest
from replay.core.asking.politeness import PolitenessLimit
from replay.core.asking.retrying import Deadlines, ask_within, pause_before_retry
from replay.core.conversation import Conversation
from replay.core.errors import AdapterError
from replay.core.record import Usage
from replay.core.settings.prices import Prices, cost_usd
from replay.scorers.judges.cache import VerdictCache, cache_key
from replay.scorers.judges.prompt import short_hash
from replay.scorers.judges.tally import Tally

UNFIT_AFTER = 3
"""So many replies in a row that can't serve, and a voter isn't asked any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """One of those who are asked."""

    name: str
    adapter: Adapter
    identity: str
    """Adapter and settings, without secrets, as JSON: what a reply depends on beside what is asked."""
    limit: PolitenessLimit | None = None
    prices: Prices | None = None

    @property
    def takes_parameters(self) -> bool:
        """Whether the judge's parameters reach the model; else its adapter's own settings decide."""
        return bool(getattr(self.adapter, "takes_parameters", False))

    @property
    def signature(self) -> str:
        """Who it is, as in ``openai/small-model@1a2b3c4d5e6f``; one word."""
        own = "" if self.takes_parameters else "+own-parameters"
        return f"{'_'.join(self.name.split())}@{short_hash(self.identity)}{own}"

    def sent(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Those of *parameters* that go to the adapter."""
        return parameters if self.takes_parameters else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long and how often a voter is asked; the same settings as a system's."""

    timeout_s: float = 60.0
    attempts: int = 4
    backoff_s: float = 0.5
    retry_budget_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One ask and what came of it, as the verdict keeps it."""

    step: str
    prompt: str
    """Hash of the prompt; the verdict holds the texts."""
    parameters: Mapping[str, Any]
    """As sent; empty where the adapter takes none."""
    sample: str
    text: str | None = None
    """The raw reply; None if there was none."""
    error: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    cached: bool = False


class Asker:
    """Asks for one judge; what was asked, and what it took, is counted in its tally."""

    def __init__(
        self,
        patience: Patience,
        cache: VerdictCache | None,
        tally: Tally,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._patience = patience
        self._cache = cache
        self.tally = tally
        self._clock = clock
        self._locks = _KeyedLocks()
        self._asked_once: dict[str, ChatReply] = {}
        self.unfit: dict[str, list[str]] = {}
        """Why replies of a voter could not serve, one after the other, since the last that could."""

    def about(self, depth: int, voter: Voter, repeat: int) -> VoterAsk:
        """The ``Ask`` for one voter's opinion of one case, the judged turn being at *depth*."""
        return VoterAsk(self, depth, voter, repeat)

    async def reply(self, ask: _Question, *, once: bool) -> tuple[ChatReply, bool]:
        """
        The reply, and whether it was there already.

        Raises:
            AdapterError: no reply came.
        """
        if self._cache is None and not once:
            return await self._ask(ask), False
        async with self._locks.held(ask.key):  # the same question is not asked twice at a time
            kept = self._asked_once.get(ask.key)
            if kept is None and self._cache is not None:
                kept = await self._cache.get(ask.key)
            if kept is not None:
                self.tally.cached += 1
                return kept, True
            reply = await self._ask(ask)
            if once:
                self._asked_once[ask.key] = reply
            # Without the log-probabilities that were asked for, a reply is of no use to anyone later.
            wanted = not ask.parameters.get("logprobs") or reply.logprobs is not None
            if self._cache is not None and wanted:
                await self._cache.put(ask.key, reply, prompt=ask.prompt, voter=ask.voter.identity)
            return reply, False

    async def _ask(self, ask: _Question) -> ChatReply:
        try:
            reply = await self._with_retries(ask)
        except AdapterError as error:
            self.tally.failed(str(error))
            raise
        self.tally.replied(reply, cost_usd(reply, ask.voter.prices))
        return reply

    async def _with_retries(self, ask: _Question) -> ChatReply:
        adapter, patience = ask.voter.adapter, self._patience
        request = ChatRequest(question=ask.prompt, history=(), depth=ask.depth, parameters=ask.parameters)
        first_failure: float | None = None
        async with AsyncExitStack() as stack:
            session = await stack.enter_async_context(adapter.session(Conversation(id=ask.step, turns=())))
            for attempt in range(1, patience.attempts + 1):
                if ask.voter.limit is not None:
                    await ask.voter.limit.wait()
                self.tally.asks += 1
                self.tally.retries += attempt > 1
                try:
                    return await ask_within(session, request, Deadlines(patience.timeout_s))
                except AdapterError as error:
                    now = self._clock()
                    first_failure = now if first_failure is None else first_failure
                    pause = pause_before_retry(
                        patience, error, attempt=attempt, since_failure_s=now - first_failure, place=ask.key
                    )
                    if pause is None or (adapter.history == "server" and error.reached):
                        raise
                await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    voter: Voter
    step: str
    prompt: str
    parameters: Mapping[str, Any]
    depth: int
    sample: str

    @property
    def key(self) -> str:
        return cache_key(self.prompt, self.voter.identity, self.parameters, self.sample)


def sample_name(repeat: int, sample: int, *, once: bool = False) -> str:
    """How a repeat's sample is told from others in cache keys."""
    return "once" if once else f"{repeat}/{sample}"


@dataclass(slots=True)
class VoterAsk:
    """The ``Ask`` of one voter and repeat about one case; remembers what was asked."""

    asker: Asker
    depth: int
    voter: Voter
    repeat: int
    asked: list[Asked] = field(default_factory=list)
    prompts: dict[str, str] = field(default_factory=dict)
    """Texts of the prompts by hash."""

    async def __call__(
        self, step: str, prompt: str, *, parameters: Mapping[str, Any], sample: int = 0, once: bool = False
    ) -> ChatReply:
        question = _Question(
            voter=self.voter,
            step=step,
            prompt=prompt,
            parameters=self.voter.sent(parameters),
            depth=self.depth,
            sample=sample_name(self.repeat, sample, once=once),
        )
        hash = short_hash(prompt)
        self.prompts[hash] = prompt
        asked = Asked(step=step, prompt=hash, parameters=question.parameters, sample=question.sample)
        try:
            reply, cached = await self.asker.reply(question, once=once)
        except AdapterError as error:
            self.asked.append(replace(asked, error=f"{error.outcome}: {error}"))
            raise
        cost = cost_usd(reply, self.voter.prices)
        self.asked.append(replace(asked, text=reply.text, usage=reply.usage, cost_usd=cost, cached=cached))
        return reply

    @property
    def unfit(self) -> str | None:
        """Why the voter isn't worth asking any more; None if it is."""
        reasons = self.asker.unfit.get(self.voter.name, [])
        return reasons[-1] if len(reasons) >= UNFIT_AFTER else None

    def found_unfit(self, reason: str) -> None:
        """Count a reply that could not serve."""
        self.asker.unfit.setdefault(self.voter.name, []).append(reason)
        self.asker.tally.failed(f"{self.voter.name}: {reason}")

    def found_fit(self) -> None:
        """Forget earlier replies that could not serve."""
        self.asker.unfit.pop(self.voter.name, None)


class _KeyedLocks:
    """A lock for each key that somebody holds or waits for."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def held(self, key: str) -> AsyncIterator[None]:
        lock, users = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            _, users = self._locks.pop(key)
            if users > 1:
                self._locks[key] = (lock, users - 1)
