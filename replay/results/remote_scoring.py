"""
Scorers that have a model, observing on the nodes of a cluster; what they observed outlives this program.

It waits in a file of the run's folder until all of it is there: scoring that was killed goes on where it was.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from threading import Event
from typing import Any

from replay.core.disk_cache import DiskCache, content_key
from replay.core.record import TurnRecord
from replay.core.settings.choice import Choice
from replay.scenario.sections import ClusterSection
from replay.scorers.scorer import CorpusScorer, Scorer, Unscored
from replay.statistics.score_column import in_parts
from replay.store import schema
from replay.store.store import RunStore

WAITING = "scoring.db"
"""The file."""

Part = tuple[list[TurnRecord], Mapping[str, list[Any]]]
"""Records, and what was observed of each by the scorer's label."""


class RemoteScoring:
    """What some scorers of a run observe on a cluster."""

    def __init__(
        self, store: RunStore, choices: Sequence[Choice], scorers: Mapping[str, Scorer[Any]], folder: Path
    ) -> None:
        """*scorers* are those of *choices*, built in the scenario's *folder*."""
        self._store = store
        self._scorers = scorers
        self._waiting = DiskCache(store.folder / WAITING, renew_damaged=True)
        self._what = content_key(
            *([choice.model_dump_json(), scorers[choice.label].signature] for choice in choices),
            *map(_source, scorers.values()),
            *(_stamps(folder, choice.settings) for choice in choices),
            # Of these an observation depends on all records.
            any(isinstance(one, CorpusScorer) for one in scorers.values()) and _digest(store.records()),
        )

    def observe_parts(self, cluster: ClusterSection, stop: Event | None) -> Iterator[Part]:
        """
        Yield each part of the run's records with what the scorers observed of them, in any order of parts.

        Parts that an earlier session has scored come first, from its file.

        Raises:
            InputError, PluginError, RunStoppedError: as for ``observed_there``.
        """
        from replay.workers.cluster.scoring import observed_there

        least, known = cluster.scoring.batch, set()
        for records in in_parts(self._store.records(), least):
            key = self._key(records)
            if (found := self._stored_observations(key)) is not None:
                known.add(key)
                yield records, found
        missing = (one for one in in_parts(self._store.records(), least) if self._key(one) not in known)
        if (first := next(missing, None)) is None:
            return
        for records, observed in observed_there(cluster, self._scorers, chain([first], missing), stop):
            self._keep(self._key(records), observed)
            yield records, observed

    def forget(self) -> None:
        """Delete the file of waiting observations, once all of them are stored with the run."""
        (self._store.folder / WAITING).unlink(missing_ok=True)

    def _key(self, records: Sequence[TurnRecord]) -> bytes:
        return hashlib.sha256(self._what + _digest(records).encode()).digest()

    def _stored_observations(self, key: bytes) -> Mapping[str, list[Any]] | None:
        for text in self._waiting.get([key]).values():
            stored = schema.from_json(text.decode(), dict[str, list[tuple[Any, str | None]]])
            return {label: [_observation(*one) for one in values] for label, values in stored.items()}
        return None

    def _keep(self, key: bytes, observed: Mapping[str, list[Any]]) -> None:
        stored = {label: [_as_stored(one) for one in values] for label, values in observed.items()}
        self._waiting.put({key: schema.to_json(stored).encode()})


def _as_stored(value: Any) -> tuple[Any, str | None]:
    return (None, value.reason) if isinstance(value, Unscored) else (value, None)


def _observation(value: Any, reason: str | None) -> Any:
    return value if reason is None else Unscored(reason=reason)


def _digest(records: Iterable[TurnRecord]) -> str:
    digest = hashlib.sha256()
    for record in records:
        digest.update(schema.to_bytes(repr(schema.record_row(record))))
    return digest.hexdigest()


def _source(scorer: Scorer[Any]) -> str:
    """Return a hash of the file that *scorer*'s class is in: whoever mends it wants no number of before."""
    try:
        return hashlib.sha256(Path(inspect.getfile(type(scorer))).read_bytes()).hexdigest()
    except (OSError, TypeError):  # a class of the program's own memory
        return ""


def _stamps(folder: Path, settings: Mapping[str, Any]) -> list[Any]:
    """Return sizes and times of the files that *settings* name, as those of a model."""
    places = [folder / value for value in settings.values() if isinstance(value, str)]
    files = [file for place in places if place.exists() for file in [place, *sorted(place.glob("*"))]]
    return [[file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in files]
