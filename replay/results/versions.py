"""
Which versions of the program asked a run's turns, and by which rules.

A run that was interrupted goes on with whatever version resumes it, rather than lose what was answered. Its
numbers may then mix two rules for drift or for a policy: that is said before anything is asked, in the notes
and in the signatures, by which such a run differs from one that was played by one version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from replay import __version__
from replay.core.decoding import convert_to
from replay.play.play import Play
from replay.scenario.assembly import Assembly
from replay.store.store import RunStore

_OTHER = "other-version"


class PlayedVersion(msgspec.Struct, frozen=True, kw_only=True):
    """By what turns of a run were asked."""

    version: str
    policies: Mapping[str, str]
    """Signatures by label."""


def played_by(store: RunStore) -> list[PlayedVersion]:
    """Return the program versions that asked turns of the run in *store*, oldest first."""
    first = {"version": store.needed("version"), "policies": store.needed("policies")}
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
