"""
Asks a model, unless what it replied before is in the cache; and what tells one model from another there.

For whoever puts questions whose replies are worth keeping: judges, and the resolver and the user that ask a
model.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from replay.core.adapter import Adapter, ChatReply, ChatRequest
from replay.core.asking.costs import AskTally, Prices, cost_usd
from replay.core.asking.limits import RateLimit
from replay.core.asking.prompt import short_hash
from replay.core.asking.retries import RetryingClient, RetryPolicy
from replay.core.decoding import convert_to
from replay.core.disk_cache import DiskCache, content_key
from replay.core.errors import Fault, PluginError, ScenarioError
from replay.core.lifetimes import in_thread
from replay.core.safety.secret_detection import name_suggests_secret
from replay.core.settings.choice import LimitSection
from replay.core.settings.plugins import make


def identity(adapter: str, settings: Mapping[str, Any], folder: Path, *, whole: bool = False) -> str:
    """
    Return everything an adapter's replies depend on, as JSON: its name, settings and the files they name.

    Secrets, headers and names of environment variables are left out by default: they decide whether there is
    a reply, not which one.

    Args:
        adapter: The adapter's name.
        settings: Its settings.
        folder: The folder that relative file names start from.
        whole: Include what is left out by default. Only for hashing, where a header may choose the model.
    """
    files: dict[str, str] = {}
    kept = _plain(settings, whole)
    for text in (adapter, *_texts(kept)):
        path = folder / re.sub(r"(?<=\.py):.*", "", text)
        # A local script or list of answers can change under the same name.
        if len(text) < 1000 and "\n" not in text and path.suffix and path.is_file():
            files[text] = hashlib.sha256(path.read_bytes()).hexdigest()
    return json.dumps({"adapter": adapter, "settings": kept, "files": files}, sort_keys=True, default=str)


def _plain(value: Any, whole: bool) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v, whole) for k, v in value.items() if whole or not _is_secret(str(k))}
    if isinstance(value, list | tuple):
        return [_plain(item, whole) for item in value]
    return value


def _is_secret(name: str) -> bool:
    return name.lower() in ("headers", "token") or name_suggests_secret(name) in ("key", "variable")


def _texts(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [str(value)] if isinstance(value, str | Path) else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Who is asked."""

    name: str
    adapter: Adapter
    identity: str
    """Adapter and settings, without secrets, as JSON: what a reply depends on beside what is asked."""
    limit: RateLimit | None = None
    prices: Prices | None = None

    @property
    def takes_parameters(self) -> bool:
        """Return whether parameters of an ask reach the model; else its adapter's own settings decide."""
        return bool(getattr(self.adapter, "takes_parameters", False))

    @property
    def signature(self) -> str:
        """Return the name and a hash of the identity as one word: ``openai/small-model@1a2b3c4d5e6f``."""
        own = "" if self.takes_parameters else "+own-parameters"
        return f"{'_'.join(self.name.split())}@{short_hash(self.identity)}{own}"

    def sent_parameters(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters to send: *parameters* if the adapter takes any, else an empty mapping."""
        return parameters if self.takes_parameters else {}


def build_model(
    adapter: str,
    settings: Mapping[str, Any],
    *,
    folder: Path,
    limit: LimitSection | None,
    prices: Prices | None,
) -> Model:
    """
    Return the model that *adapter* with *settings* reaches; paths are looked up from *folder*.

    Raises:
        ScenarioError: the adapter can't be used.
    """
    try:
        made = make("adapters", adapter, settings, Adapter, folder=folder, key_path="settings")  # type: ignore[type-abstract]
    except PluginError as error:
        raise ScenarioError("settings", [Fault(path="adapter", message=str(error))]) from error
    model = settings.get("model")
    return Model(
        name=f"{adapter}/{model}" if model else adapter.rpartition("/")[2],
        adapter=made,
        identity=identity(adapter, settings, folder),
        limit=RateLimit(limit.asks, limit.per_s) if limit else None,
        prices=prices,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One ask of one model."""

    model: Model
    step: str
    """What is asked for: the id of the conversation that the adapter sees."""
    prompt: str
    parameters: Mapping[str, Any]
    """As sent."""
    depth: int
    sample: str
    """Tells several asks of one prompt apart."""

    @property
    def key(self) -> bytes:
        """Return the key of the reply in the cache."""
        return question_key(self.model, self.prompt, self.parameters, self.sample)


class CachingClient:
    """Asks, through one cache; what was asked, and what it took, is counted in its tally."""

    def __init__(self, who: str, patience: RetryPolicy, cache: DiskCache, tally: AskTally) -> None:
        """*who* is what a model is called in messages, *cache* where replies are kept."""
        self._asker = RetryingClient(patience, who=who)
        self._cache = cache
        self._tally = tally
        self._locks: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()
        self._asked_once: dict[bytes, ChatReply] = {}

    async def reply(self, ask: Question, *, once: bool) -> tuple[ChatReply, bool]:
        """
        Return the reply, and whether it came from the cache.

        Raises:
            AdapterError: no reply came.
            RunStoppedError: the model refuses our key and has answered nothing yet.
        """
        if self._cache.path is None and not once:
            return await self._ask(ask), False
        key = ask.key
        # The same question is not asked twice at a time.
        async with self._locks.setdefault(key, asyncio.Lock()):
            kept = self._asked_once.get(key) or await in_thread(read_reply, self._cache, key)
            if kept is not None:
                self._tally.cached += 1
                return kept, True
            reply = await self._ask(ask)
            if once:
                self._asked_once[key] = reply
            # Without the log-probabilities that were asked for, a reply is of no use to anyone later.
            if not ask.parameters.get("logprobs") or reply.logprobs is not None:
                await in_thread(self._cache.put, {key: reply_bytes(reply)})
            return reply, False

    async def _ask(self, ask: Question) -> ChatReply:
        request = ChatRequest(question=ask.prompt, history=(), depth=ask.depth, parameters=ask.parameters)
        reply = await self._asker.reply(
            ask.model, request, about=ask.step, place=(ask.key.hex(),), watcher=self._tally
        )
        self._tally.replied(reply, cost_usd(reply, ask.model.prices))
        return reply


def question_key(model: Model, prompt: str, parameters: Mapping[str, Any], sample: str) -> bytes:
    """
    Return the cache key of one ask: a hash over everything that could change the reply.

    Args:
        model: The model that is asked; its identity is part of the key.
        prompt: The text that is sent.
        parameters: The sampling parameters as sent.
        sample: A label that tells several asks of the same prompt apart.
    """
    return content_key(prompt, model.identity, dict(parameters), sample)


def read_reply(cache: DiskCache, key: bytes) -> ChatReply | None:
    """Return the reply cached under *key*; None if there is none or it can't be read."""
    for value in cache.get([key]).values():
        with suppress(ValueError, msgspec.ValidationError):  # one of another version is asked for again
            return convert_to(json.loads(value), ChatReply)
    return None


def reply_bytes(reply: ChatReply) -> bytes:
    """Return *reply* as bytes for a cache, without its raw form and its times."""
    plain = msgspec.to_builtins(msgspec.structs.replace(reply, times=None, raw=None))
    # Plain JSON escapes what UTF-8 refuses, such as half a surrogate pair.
    return json.dumps(plain).encode()
