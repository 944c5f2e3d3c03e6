"""What happened while a run was played, kept as events of the run and told with its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from replay.core.asking.costs import AskTally, total
from replay.core.decoding import convert_to
from replay.core.errors import AdapterError
from replay.play.play import System
from replay.report.numbers import count_text
from replay.store.store import RunStore

if TYPE_CHECKING:
    from replay.play.play import Play
    from replay.scenario.assembly import Assembly

_UNCLOSED = "session-not-closed"
"""The event with one such session."""


def keep_unclosed(keep: Callable[[str, Any], None], play: Play, error: AdapterError) -> None:
    """Record with *keep*, as an event of the run, that the session of *play* could not be closed, and why."""
    where = {"system": play.system.name, "policy": play.policy_name, "conversation": play.conversation.id}
    keep(_UNCLOSED, {**where, "message": str(error)})


def unclosed_remarks(store: RunStore) -> list[str]:
    """Return how many sessions of which system stayed open, in words, with the first one's reason."""
    messages: dict[str, list[str]] = {}
    for event in store.events(_UNCLOSED):
        messages.setdefault(event["system"], []).append(event["message"])
    return [
        f"{system}: {len(told):,} session{'' if len(told) == 1 else 's'} may still be open there; "
        f"the first: {told[0]}."
        for system, told in messages.items()
    ]


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
    """Return sentences on the worker processes that were lost, and what happened to their plays."""
    events = store.events(LOST)
    return list(_lost_worker_remarks(events)) if events else []


def _lost_worker_remarks(events: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    unfinished, restarted, aside = (
        sum(event.get(what, 0) for event in events) for what in ("unfinished", "restarted", "aside")
    )
    counted = f", {count_text(unfinished, 'conversation')}," if unfinished else ""
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


_PROBLEM = "cache-problem"
"""The event of a cache that could not be used."""


def cache_problems(systems: Iterable[System]) -> set[str]:
    """Return the distinct problems with the answer caches of *systems*."""
    problems = {one.answers.disk.problem for one in systems if one.answers is not None}
    return {problem for problem in problems if problem is not None}


def keep_cache_problems(store: RunStore, problems: Iterable[str]) -> None:
    """Keep *problems* as ``cache_problems`` found them."""
    for problem in sorted(problems):
        store.add_event(_PROBLEM, {"message": problem})


def kept_answers_remarks(store: RunStore) -> list[str]:
    """Return how many answers of each system came from the cache, and what went wrong there."""
    counts = store.rows(
        "SELECT system, sum(cached), count(*) FROM turn WHERE outcome = 'answered' GROUP BY system"
    )
    problems = dict.fromkeys(event["message"] for event in store.events(_PROBLEM))
    return [
        *(
            f"{system}: {cached:,} of {count_text(answers, 'answer')} came from the cache: they were "
            "not asked for, have no times and cost nothing."
            for system, cached, answers in counts
            if cached
        ),
        *(f"Answers were not kept for the next run, or not found again: {problem}." for problem in problems),
    ]


def rerun_notes(turns: int, attempts: int) -> list[str]:
    """Return a sentence on *turns* that were asked again, with *attempts* kept; empty if *turns* is 0."""
    if not turns:
        return []
    were = "turn was" if turns == 1 else "turns were"
    kept = f"{attempts:,} attempt{'' if attempts == 1 else 's'} kept"
    return [f"{turns:,} {were} asked again ({kept})."]


_ASKED = "resolver-asked"
"""The event with what a session asked of its resolver's model."""


def keep_tally(assembly: Assembly, store: RunStore) -> None:
    """Keep what this session of the run asked of its resolver, if that is a model."""
    asked = assembly.service.asked
    if asked is not None and asked.tally.verdicts:
        store.add_event(_ASKED, asked.tally)


def resolver_remarks(store: RunStore) -> list[str]:
    """Return sentences on what the run asked of its resolver's model, in all sessions; empty if nothing."""
    tallies = [convert_to(one, AskTally) for one in store.events(_ASKED)]
    return [f"resolver: {sentence}" for sentence in total(tallies).sentences()] if tallies else []
