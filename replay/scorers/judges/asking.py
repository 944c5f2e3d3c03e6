"""
Asks voters, unless what they replied before is in the cache.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from replay.core.adapter import Adapter, ChatReply, ChatRequest
from replay.core.asking.patience import Patience, PatientAsker
from replay.core.asking.politeness import PolitenessLimit
from replay.core.disk_cache import DiskCache, content_key
from replay.core.errors import AdapterError
from replay.core.record import Usage
from replay.core.settings.prices import Prices, cost_usd
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

    def __init__(self, judge: str, patience: Patience, cache: DiskCache, tally: Tally) -> None:
        """*judge* is its name, *cache* where replies are kept."""
        self._asker = PatientAsker(patience, who=f'judge "{judge}": voter')
        self._cache = cache
        self.tally = tally
        self._locks: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()
        self._asked_once: dict[bytes, ChatReply] = {}
        self.unfit: dict[str, list[str]] = {}
        """Why replies of a voter could not serve, one after the other, since the last that could."""

    async def reply(self, ask: _Question, *, once: bool) -> tuple[ChatReply, bool]:
        """
        The reply, and whether it was there already.

        Raises:
            AdapterError: no reply came.
            RunStoppedError: the voter refuses our key and has answered nothing yet.
        """
        if self._cache.path is None and not once:
            return await self._ask(ask), False
        # The same question is not asked twice at a time.
        async with self._locks.setdefault(ask.key, asyncio.Lock()):
            kept = self._asked_once.get(ask.key) or await asyncio.to_thread(_kept, self._cache, ask.key)
            if kept is not None:
                self.tally.cached += 1
                return kept, True
            reply = await self._ask(ask)
            if once:
                self._asked_once[ask.key] = reply
            # Without the log-probabilities that were asked for, a reply is of no use to anyone later.
            if not ask.parameters.get("logprobs") or reply.logprobs is not None:
                await asyncio.to_thread(self._cache.put, {ask.key: _worth_keeping(reply)})
            return reply, False

    async def _ask(self, ask: _Question) -> ChatReply:
        request = ChatRequest(question=ask.prompt, history=(), depth=ask.depth, parameters=ask.parameters)
        reply = await self._asker.reply(
            ask.voter, request, about=ask.step, place=(ask.key.hex(),), watcher=self.tally
        )
        self.tally.replied(reply, cost_usd(reply, ask.voter.prices))
        return reply


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    voter: Voter
    step: str
    prompt: str
    parameters: Mapping[str, Any]
    depth: int
    key: bytes


def question_key(voter: Voter, prompt: str, parameters: Mapping[str, Any], sample: str) -> bytes:
    """What a reply is kept under: everything that could change it."""
    return content_key(prompt, voter.identity, dict(parameters), sample)


def _kept(cache: DiskCache, key: bytes) -> ChatReply | None:
    for value in cache.get([key]).values():
        with suppress(ValueError, msgspec.ValidationError):  # one of another version is asked for again
            return msgspec.convert(json.loads(value), ChatReply)
    return None


def _worth_keeping(reply: ChatReply) -> bytes:
    """Not its times, which are of this day."""
    plain = msgspec.to_builtins(reply)
    # Plain JSON escapes what UTF-8 refuses, such as half a surrogate pair.
    return json.dumps({name: plain[name] for name in ("text", "usage", "cost_usd", "logprobs")}).encode()


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
        sent = self.voter.sent(parameters)
        name = sample_name(self.repeat, sample, once=once)
        question = _Question(
            voter=self.voter,
            step=step,
            prompt=prompt,
            parameters=sent,
            depth=self.depth,
            key=question_key(self.voter, prompt, sent, name),
        )
        hash = short_hash(prompt)
        self.prompts[hash] = prompt
        asked = Asked(step=step, prompt=hash, parameters=sent, sample=name)
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
        self.asker.tally.gave_up(f"{self.voter.name}: {reason}")

    def found_fit(self) -> None:
        """Forget earlier replies that could not serve."""
        self.asker.unfit.pop(self.voter.name, None)
