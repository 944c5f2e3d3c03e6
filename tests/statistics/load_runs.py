"""Load runs written record by record with the timings that a test wants."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from replay.core.conversation import Conversation, Turn
from replay.core.record import ServerTimes, Timing, TurnRecord, Usage
from replay.load.numbers import read_load_summary
from replay.scorers.scorer import Scorer
from replay.statistics.load.load_summary import LoadSummary
from replay.store.rows import StoredScore, StoredTally
from replay.store.store import RunStore


def ask(
    scheduled_s: float,
    latency_s: float = 0.1,
    *,
    late_s: float = 0.0,
    conversation: str = "c1",
    depth: int = 1,
    source: str | None = None,
    policy: str = "pred",
    outcome: str = "answered",
    ttft_s: float | None = None,
    server: ServerTimes | None = None,
    gaps: Sequence[int] = (),
    tokens: int | None = None,
    attempts: int = 1,
    error: str | None = None,
    answer: str = "There.",
    gold: Sequence[str] = ("There.",),
) -> TurnRecord:
    """One ask, due at *scheduled_s* and sent *late_s* after it."""
    sent_s = scheduled_s + late_s
    return TurnRecord(
        system="s",
        policy=policy,
        conversation=conversation,
        depth=depth,
        turn=f"{source or conversation}#{depth}",
        recorded="Where?",
        asked="Where?",
        edit="kept",
        drift=None,
        outcome=outcome,
        answer=answer if outcome == "answered" else None,
        error=error,
        gold_answers=tuple(gold),
        usage=None if tokens is None else Usage(completion_tokens=tokens),
        attempts=attempts,
        timing=Timing(
            scheduled_s=scheduled_s,
            sent_s=sent_s,
            done_s=sent_s + latency_s,
            first_token_s=None if ttft_s is None else sent_s + ttft_s,
            token_gaps_100us=tuple(gaps),
            server=server,
        ),
        source=source,
    )


def level(
    index: int = 0, began_s: float = 0.0, ended_s: float = 10.0, *, value: float | None = 1.0, **changes: Any
) -> dict[str, Any]:
    """A level as the generator writes it; the whole of it measured unless *changes* say otherwise."""
    return {
        "index": index,
        "name": "trace" if value is None else f"concurrency {value:g}",
        "value": value,
        "began_s": began_s,
        "measured_from_s": began_s,
        "measured_to_s": ended_s,
        "ended_s": ended_s,
        "conversations": 1,
        "cut": 0,
        "delayed": 0,
        "generators": [generator()],
        "interrupted": False,
        "met": None,
        "goals": [],
        **changes,
    }


def generator(**changes: Any) -> dict[str, Any]:
    """One who offered a level, as its event has it, neither late nor busy unless *changes* say so."""
    quantiles = {"p50_s": 0.0, "p99_s": 0.0, "max_s": 0.0}
    return {
        "number": 0,
        "host": "here",
        "conversations": 1,
        "busy": 0.1,
        "lateness": {"asks": 10, **quantiles},
        "lag": {"samples": 10, **quantiles},
        **changes,
    }


def write_run(
    folder: Path,
    records: Iterable[TurnRecord],
    levels: Iterable[Mapping[str, Any]],
    *,
    load: Mapping[str, Any] | None = None,
    tallies: Iterable[StoredTally] = (),
    scores: Mapping[str, Iterable[StoredScore]] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Path:
    """A finished run in *folder*."""

    async def write() -> None:
        written = list(records)
        store = RunStore.create(folder, {"load": load or {"profile": "closed"}, "seed": 7, **(facts or {})})
        try:
            lengths: dict[str, int] = {}
            for record in written:
                id = record.recorded_conversation
                lengths[id] = max(record.depth, lengths.get(id, 0))
            turns = {
                id: tuple(Turn(id=f"{id}#{n}", question="Where?") for n in range(1, length + 1))
                for id, length in lengths.items()
            }
            store.add_conversations([Conversation(id=id, turns=of_it) for id, of_it in turns.items()])
            await asyncio.gather(*(store.write(record) for record in written))
            for one in levels:
                store.add_event("level", one)
            for tally in tallies:
                store.set_tally(tally)
            for scorer, stored in (scores or {}).items():
                store.add_scores(scorer, stored)
        finally:
            store.close()

    asyncio.run(write())
    return folder


def summary_of(
    folder: Path, scorers: Mapping[str, Scorer[Any]] | None = None, *, resamples: int = 100
) -> LoadSummary:
    store = RunStore(folder)
    try:
        found = read_load_summary(store, scorers, resamples=resamples)
    finally:
        store.close()
    return found


def summarised(tmp_path: Path, records: Iterable[TurnRecord], *levels: Any, **more: Any) -> LoadSummary:
    """The summary of a run that is written for it."""
    return summary_of(write_run(tmp_path / "run", records, levels or [level()], **more))
