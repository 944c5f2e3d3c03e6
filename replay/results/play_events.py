"""
What happened while a run was played, kept as events of the run and told with its numbers: sessions and
workers that were lost, caches that could not be used, what was asked of a resolver's model, and which
versions of the program asked its turns, by which rules.

A run that was interrupted goes on with whatever version resumes it, rather than lose what was answered. Its
numbers may then mix two rules for drift or for a policy: that is said before anything is asked, in the notes
and in the signatures, by which such a run differs from one that was played by one version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from replay import __version__
from replay.core.asking.costs import AskTally, total
from replay.core.decoding import convert_to
from replay.core.errors import AdapterError
from replay.play.play import Play, System
from replay.report.numbers import count_text
from replay.scenario.assembly import Assembly
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


_OTHER = "other-version"


class PlayedVersion(msgspec.Struct, frozen=True, kw_only=True):
    """By what turns of a run were asked."""

    version: str
    policies: Mapping[str, str]
    """Signatures by label."""


def played_by(store: RunStore) -> list[PlayedVersion]:
    """Return the program versions that asked turns of the run in *store*, oldest first."""
    first = {"version": store.required_fact("version"), "policies": store.required_fact("policies")}
    return [convert_to(one, PlayedVersion) for one in (first, *store.events(_OTHER))]


def this_version(assembly: Assembly) -> PlayedVersion:
    """Return the version of this program, with the signatures of *assembly*'s policies."""
    signatures = {label: policy.signature for label, policy in assembly.policies.items()}
    return PlayedVersion(version=__version__, policies=signatures)


def with_versions(plays: Iterable[Play], assembly: Assembly, store: RunStore) -> Iterator[Play]:
    """Yield *plays*; before the first, record this program's version in *store* if it has changed."""
    for number, play in enumerate(plays):
        if number == 0:
            keep_version(assembly, store)
        yield play


def keep_version(assembly: Assembly, store: RunStore) -> None:
    """Keep in *store* by what its turns are asked from now on, if it is another version than before."""
    now = this_version(assembly)
    if now != played_by(store)[-1]:
        store.add_event(_OTHER, now)


def version_remarks(played: Sequence[PlayedVersion]) -> list[str]:
    """Return a sentence if the turns were asked by several versions (*played*); else empty."""
    if len(played) == 1:
        return []
    versions = _unlike(f"convreplay {one.version}" for one in played)
    mixed = [
        f'"{label}" is {" and ".join(rules)}'
        for label in played[0].policies
        if len(rules := _rules(played, label)) > 1
    ]
    if not mixed:
        return [f"Asked by {' and '.join(versions)}, by the same rules."]
    return [
        f"Asked by {' and '.join(versions)}, by rules that differ: {'; '.join(mixed)}. Numbers of drift and "
        "of these policies mix them; a new run has one."
    ]


def version_signatures(played: Sequence[PlayedVersion]) -> dict[str, str]:
    """Return the signature of each policy by its label, with all program versions that asked its turns."""
    versions = "+".join(_unlike(one.version for one in played))
    return {
        label: f"policy:{' + '.join(_unlike(one.policies[label] for one in played))}|convreplay:{versions}"
        for label in played[0].policies
    }


def _rules(played: Sequence[PlayedVersion], label: str) -> list[str]:
    """Return the parts of the policy's signatures that not all of them have."""
    signatures = [one.policies[label].split("|") for one in played]
    shared = set(signatures[0]).intersection(*signatures)
    return _unlike("|".join(part for part in parts if part not in shared) for parts in signatures)


def _unlike(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
