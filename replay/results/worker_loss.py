"""Workers and nodes that were lost while they played: kept in the run, told with its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from replay.store.store import RunStore

LOST = "process-lost"
"""The event of one such process."""


def keep_lost_worker(store: RunStore, number: int, name: str, why: str, **plays: int) -> None:
    """
    Keep that a worker was lost, in whose place others go on.

    Of a node's *plays*: how many were ``begun`` and ``unfinished``, how many of these ``restarted`` and how
    many were put ``aside``.
    """
    store.add_event(LOST, {"process": number + 1, "name": name, "why": why, **plays})


def lost_remarks(store: RunStore) -> list[str]:
    """What became of the plays of processes that were lost, in words."""
    events = store.events(LOST)
    return list(_remarks(events)) if events else []


def _remarks(events: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    unfinished, restarted, aside = (
        sum(event.get(what, 0) for event in events) for what in ("unfinished", "restarted", "aside")
    )
    counted = f", {unfinished:,} conversations," if unfinished else ""
    yield (
        f"Lost while they played: {'; '.join(dict.fromkeys(event['why'] for event in events))}. What was not "
        f"finished there{counted} went on elsewhere after the last stored turn; a question that was under "
        "way was asked once more."
    )
    if restarted:
        yield f"{restarted:,} of them began anew: a system that keeps the history had lost its session."
    if aside:
        yield (
            f"{aside:,} of them were set aside with the outcome lost (cluster.lost_sessions): a system that "
            "keeps the history had lost its session; ask again with: replay rerun --only outcome=lost"
        )
