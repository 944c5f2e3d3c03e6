"""
What a worker process holds and does: one resolver, one sentence encoder, the cache on disk.

The other side of ``replay.coreference.service.service``, which sends batches here and waits for the results.
Documents, readings and verdicts go to worker processes and come back as bytes: pickling a document or a
reading takes thirty times as long as msgpack does, and both sides pay for it.
"""

from __future__ import annotations

import gc
import json
import os
import signal
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast

import msgspec

from replay.core.asking.costs import NO_PRICES, PriceTable
from replay.core.decoding import convert_to, decode_as, prepare_decoder
from replay.core.disk_cache import DiskCache, cache_path, content_key
from replay.core.drift_evidence import Drift, Reading
from replay.core.errors import PluginError, ResolverError
from replay.core.lifetimes import leave_with
from replay.core.safety.consent import code_may_run
from replay.core.settings.plugins import make
from replay.coreference.reading.readings import readings_from_clusters
from replay.coreference.reading.resolver import Cluster, Document, MentionReader, Resolver
from replay.coreference.reading.verdict import compare_hard, decide_drift, drift_probability, has_drifted
from replay.coreference.service.semantic import SemanticEncoder, similarities

T = TypeVar("T")

_AS_JSON = b"{["
"""First bytes of JSON; in msgpack they are small numbers, which nothing packed here is."""


class Packer(Generic[T]):
    """Turns objects or lists of one type into bytes and back; equal values are equal bytes."""

    def __init__(self, kind: Any) -> None:
        """*kind* is the type, as msgspec reads it."""
        prepare_decoder(kind)
        self._kind = kind
        self._decoder = msgspec.msgpack.Decoder(kind)

    def pack(self, value: T) -> bytes:
        """
        Return *value* packed as bytes.

        Raises:
            TypeError: something in *value* is of a type of its own, such as a number of numpy's.
        """
        try:
            return msgspec.msgpack.encode(value)
        except UnicodeEncodeError:  # half a surrogate pair, which only JSON can write, escaped
            return json.dumps(msgspec.to_builtins(value)).encode()

    def unpack(self, data: bytes) -> T:
        """
        Return the value packed in *data*.

        Raises:
            msgspec.ValidationError: the packed value was of another type.
        """
        if data[0] in _AS_JSON:
            return cast(T, convert_to(json.loads(data), self._kind))
        return cast(T, self._decoder.decode(data))


GC_THRESHOLDS = (100_000, 50, 100)
FILE = "coreference.db"
REMEMBERED_DOCUMENTS = 4096
"""Gold documents kept with their readings, oldest use dropped first. Each is compared with what every
system under every policy made of it."""
LARGEST_BYTES = 256 * 2**20
"""Of the cache: some 400,000 documents; the quarter that was written first goes when it is reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverChoice:
    """Which resolver to build, in every process that needs one."""

    name: str = "embedded"
    settings: Mapping[str, Any]
    folder: Path
    prices: PriceTable = NO_PRICES
    """For a resolver that asks a model."""

    def build(self) -> Resolver:
        """
        Raises:
            PluginError: there is no such resolver, it can't be imported, or it is none.
            ResolverError: a library that it needs is missing.
            ScenarioError: its settings don't fit.
        """
        if self.name == "llm":
            raise PluginError('"llm" asks a model while a run goes on, so only a scenario can use it')
        return make(
            "resolvers",
            self.name,
            self.settings,
            Resolver,  # type: ignore[type-abstract]
            folder=self.folder,
            key_path="drift.settings",
        )


@dataclass(frozen=True, slots=True)
class ResolveRequest:
    """A document, and whether it depends on the data set alone, so that it may be kept on disk."""

    document: Document
    gold: bool = False


DocumentAsked = tuple[bytes, bool]
"""What ``Asked`` holds, packed. Plain tuples, since pickling them needs no Python code."""
DriftAsked = tuple[bytes, bytes, Literal["strict", "hard"], float | None]
"""Gold and predicted document, packed; the rule that compares them, and its threshold."""

DOCUMENTS: Packer[Document] = Packer(Document)
READINGS: Packer[tuple[Reading, ...]] = Packer(tuple[Reading, ...])
CLUSTERS: Packer[list[Cluster]] = Packer(list[Cluster])
DRIFTS: Packer[Drift] = Packer(Drift)


class _Read(NamedTuple):
    """A document with what its mentions mean."""

    document: Document
    readings: tuple[Reading, ...]


class Worker:
    """Answers batches, one at a time. Building one is cheap; weights are loaded with the first batch."""

    def __init__(self, choice: ResolverChoice, encoder: SemanticEncoder | None = None) -> None:
        """
        Raises:
            PluginError, ResolverError, ScenarioError: the resolver can't be built.
        """
        self.resolver: Resolver = choice.build()
        self.resolved: int = 0
        """Documents that were resolved; the others were known."""
        self._encoder = encoder
        # Packed, since thousands of readings would be looked through by every garbage collection.
        self._remembered: OrderedDict[bytes, bytes] = OrderedDict()
        path = cache_path(FILE) if getattr(self.resolver, "worth_caching", False) else None
        self._cache = DiskCache(path, renew_damaged=True, largest_bytes=LARGEST_BYTES)

    # Batches as they come from the service, packed ----------------------------------------------------

    def readings(self, asked: Sequence[DocumentAsked]) -> list[bytes]:
        """Return the readings of each document's mentions, packed."""
        found = self._read_all(dict(asked))
        return [READINGS.pack(found[document].readings) for document, _ in asked]

    def clusters(self, asked: Sequence[DocumentAsked]) -> list[bytes]:
        """Return all clusters of each document, packed."""
        documents = [ResolveRequest(DOCUMENTS.unpack(document), gold) for document, gold in asked]
        return [CLUSTERS.pack(clusters) for clusters in self._clusters(documents)]

    def drifts(self, asked: Sequence[DriftAsked]) -> list[bytes]:
        """
        Return the verdict on each pair of documents, packed.

        Each side's documents are resolved together.
        """
        meant = self._read_all(dict.fromkeys((pair[0] for pair in asked), True))
        likely = [
            None
            if mode == "hard"
            else drift_probability(
                meant[gold].readings,
                gold_document=meant[gold].document,
                predicted_document=DOCUMENTS.unpack(predicted),
            )
            for gold, predicted, mode, _ in asked
        ]
        own = self._read_all(
            {
                predicted: False
                for (_, predicted, _, threshold), p in zip(asked, likely, strict=True)
                if p is None or has_drifted(p, threshold)
            }
        )
        return [
            DRIFTS.pack(_decide(meant[gold].readings, own.get(predicted), predicted, mode, p, threshold))
            for (gold, predicted, mode, threshold), p in zip(asked, likely, strict=True)
        ]

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the cosine of each pair of texts, in [-1, 1]."""
        assert self._encoder is not None
        return similarities(self._encoder, pairs)

    # What they are made of ----------------------------------------------------------------------------

    def _read_all(self, asked: Mapping[bytes, bool]) -> dict[bytes, _Read]:
        """Return the results of reading each document, by its packed form."""
        documents = {packed: DOCUMENTS.unpack(packed) for packed in asked}
        missing = [packed for packed in asked if packed not in self._remembered]
        found = self._readings([ResolveRequest(documents[packed], asked[packed]) for packed in missing])
        readings = dict(zip(missing, found, strict=True))
        for packed, gold in asked.items():
            if packed in self._remembered:
                readings[packed] = READINGS.unpack(self._remembered[packed])
                self._remembered.move_to_end(packed)
            elif gold:  # the same for all systems and policies
                self._remembered[packed] = READINGS.pack(readings[packed])
        while len(self._remembered) > REMEMBERED_DOCUMENTS:
            self._remembered.popitem(last=False)
        return {packed: _Read(documents[packed], readings[packed]) for packed in asked}

    def _readings(self, asked: Sequence[ResolveRequest]) -> Sequence[tuple[Reading, ...]]:
        """Return the readings, as ``read_all``; if derived from clusters, these are cached on disk."""
        if not asked:
            return []
        if isinstance(self.resolver, MentionReader):
            return self._through_cache("read", asked, self.resolver.read, tuple[Reading, ...])
        return [
            readings_from_clusters(a.document, found)
            for a, found in zip(asked, self._clusters(asked), strict=True)
        ]

    def _clusters(self, asked: Sequence[ResolveRequest]) -> list[list[Cluster]]:
        return self._through_cache("resolve", asked, self.resolver.resolve, list[Cluster])

    def _through_cache(
        self,
        kind: str,
        asked: Sequence[ResolveRequest],
        work: Callable[[Sequence[Document]], Sequence[T]],
        shape: Any,
    ) -> list[T]:
        if self._cache.path is None or not any(a.gold for a in asked):
            self.resolved += len(asked)
            return _one_each(work, [a.document for a in asked])
        signature = self.resolver.signature + getattr(self.resolver, "kept_by", "")
        keys = [content_key(kind, signature, a.document) if a.gold else None for a in asked]
        kept = self._cache.get(key for key in keys if key is not None)
        results: dict[int, T] = {}
        for i, key in enumerate(keys):
            if key in kept:
                # An entry of a version with other fields is worked out again.
                with suppress(msgspec.MsgspecError):
                    results[i] = decode_as(kept[key], shape)
        missing = [i for i in range(len(asked)) if i not in results]
        self.resolved += len(missing)
        if missing:
            worked = _one_each(work, [asked[i].document for i in missing])
            fresh = dict(zip(missing, worked, strict=True))
            results |= fresh
            self._cache.put(
                {key: msgspec.json.encode(fresh[i]) for i in missing if (key := keys[i]) is not None}
            )
        return [results[i] for i in range(len(asked))]


def _decide(
    meant: Sequence[Reading],
    own: _Read | None,
    predicted: bytes,
    mode: Literal["strict", "hard"],
    probability: float | None,
    threshold: float | None,
) -> Drift:
    """Return the verdict of the rule *mode*; *own* is None if the own history was not read."""
    readings = () if own is None else own.readings
    if mode == "hard":
        return compare_hard(meant, readings)
    return decide_drift(
        meant, readings, probability, predicted_document=DOCUMENTS.unpack(predicted), threshold=threshold
    )


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
    leave_with(parent)
    # Readings are many small objects, gone with their batch: looking through them finds nothing.
    gc.set_threshold(*GC_THRESHOLDS)
    with code_may_run():  # as it might in the process that has built this worker's like before
        _worker = Worker(choice, encoder)


def work(task: str, batch: Sequence[Any]) -> tuple[list[Any], int]:
    """Return the answers of this process's worker to a batch, as ``answer_batch``."""
    return answer_batch(_worker, task, batch)


def answer_batch(worker: Worker, task: str, batch: Sequence[Any]) -> tuple[list[Any], int]:
    """
    Return the results of a batch, and the number of documents that had to be resolved for it.

    Args:
        worker: The worker that does it.
        task: The name of its method.
        batch: The method's argument.
    """
    before = worker.resolved
    answers: list[Any] = getattr(worker, task)(batch)
    return answers, worker.resolved - before
