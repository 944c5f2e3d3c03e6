"""
What a worker process holds and does: one resolver, one sentence encoder, the cache on disk.

The other side of ``replay.coreference.service``, which sends batches here and waits for the results.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from replay.core.disk_cache import DiskCache, cache_path, content_key
from replay.core.drift_evidence import Reading
from replay.core.errors import ResolverError
from replay.core.settings.plugins import make
from replay.coreference.clusters import readings_from_clusters
from replay.coreference.resolver import Cluster, Document, MentionReader, Resolver
from replay.coreference.semantic import SemanticEncoder, similarities

T = TypeVar("T")

FILE = "coreference.db"
LARGEST_BYTES = 256 * 2**20
"""Of the cache: some 400,000 documents; the quarter that was written first goes when it is reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverChoice:
    """Which resolver to build, in every process that needs one."""

    name: str = "embedded"
    settings: Mapping[str, Any]
    folder: Path

    def build(self) -> Resolver:
        """
        Raises:
            PluginError: there is no such resolver, it can't be imported, or it is none.
            ResolverError: a library that it needs is missing.
            ScenarioError: its settings don't fit.
        """
        return make(
            "resolvers",
            self.name,
            self.settings,
            Resolver,  # type: ignore[type-abstract]
            folder=self.folder,
            key_path="drift.settings",
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """A document, and whether it depends on the data set alone, so that it may be kept on disk."""

    document: Document
    gold: bool = False


class Worker:
    """Answers batches, one at a time. Building one is cheap; weights are loaded with the first batch."""

    def __init__(self, choice: ResolverChoice, encoder: SemanticEncoder | None = None) -> None:
        """
        Raises:
            PluginError, ResolverError, ScenarioError: the resolver can't be built.
        """
        self.resolver = choice.build()
        self._encoder = encoder
        # Looking a document up costs about what the embedded resolver needs for it.
        path = cache_path(FILE) if getattr(self.resolver, "worth_caching", False) else None
        self._cache = DiskCache(path, renew_damaged=True, largest_bytes=LARGEST_BYTES)

    def readings(self, asked: Sequence[Asked]) -> list[tuple[Reading, ...]]:
        """As ``read_all``; of derived readings it is the clusters that are kept on disk."""
        if isinstance(self.resolver, MentionReader):
            return self._through_cache("read", asked, self.resolver.read, tuple[Reading, ...])
        return [
            readings_from_clusters(a.document, found)
            for a, found in zip(asked, self.clusters(asked), strict=True)
        ]

    def clusters(self, asked: Sequence[Asked]) -> list[list[Cluster]]:
        """All clusters of each document."""
        return self._through_cache("resolve", asked, self.resolver.resolve, list[Cluster])

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The cosine of each pair of texts, in [-1, 1]."""
        assert self._encoder is not None
        return similarities(self._encoder, pairs)

    def _through_cache(
        self,
        kind: str,
        asked: Sequence[Asked],
        work: Callable[[Sequence[Document]], Sequence[T]],
        shape: Any,
    ) -> list[T]:
        if self._cache.path is None or not any(a.gold for a in asked):
            return _one_each(work, [a.document for a in asked])
        signature = self.resolver.signature
        keys = [content_key(kind, signature, a.document) if a.gold else None for a in asked]
        kept = self._cache.get(key for key in keys if key is not None)
        results: dict[int, T] = {}
        for i, key in enumerate(keys):
            if key in kept:
                # An entry of a version with other fields is worked out again.
                with suppress(msgspec.MsgspecError):
                    results[i] = msgspec.json.decode(kept[key], type=shape)
        missing = [i for i in range(len(asked)) if i not in results]
        if missing:
            worked = _one_each(work, [asked[i].document for i in missing])
            fresh = dict(zip(missing, worked, strict=True))
            results |= fresh
            self._cache.put(
                {key: msgspec.json.encode(fresh[i]) for i in missing if (key := keys[i]) is not None}
            )
        return [results[i] for i in range(len(asked))]


def _one_each(work: Callable[[Sequence[Document]], Sequence[T]], documents: Sequence[Document]) -> list[T]:
    """
    Raises:
        ResolverError: there are more or fewer results than documents.
    """
    found = list(work(documents))
    if len(found) != len(documents):
        raise ResolverError(
            f"the resolver gave {len(found)} results for {len(documents)} documents; it gives one for each, "
            "in their order"
        )
    return found


_worker: Worker
"""That of this process."""


def start_worker(choice: ResolverChoice, encoder: SemanticEncoder | None, parent: int) -> None:
    """Make this process a worker, at lowered priority, for as long as the process *parent* lives."""
    global _worker
    # Ctrl-C reaches the whole process group; only the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(10)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    _worker = Worker(choice, encoder)


def _leave_with(parent: int) -> None:
    """A worker doesn't notice that its parent was killed: it holds both ends of their queue."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(0)


def work(task: str, batch: Sequence[Any]) -> list[Any]:
    """What this process's worker answers to a batch; *task* is the method's name."""
    answers: list[Any] = getattr(_worker, task)(batch)
    return answers
