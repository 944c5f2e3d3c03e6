"""Verdicts on drift that come after their turns: which turns wait for one, and how it is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from replay.core.drift_evidence import Drift
from replay.core.record import TurnPlace
from replay.store import schema
from replay.store.reader import RunReader
from replay.store.writer import Statement


class PlayLocation(NamedTuple):
    """One conversation as played by one system under one policy."""

    recorded: str
    """The conversation's id in the data."""
    conversation: str
    system: str
    policy: str


def plays_without_drift(store: RunReader, policies: Sequence[str]) -> list[PlayLocation]:
    """Return the plays under *policies* that have a turn without a verdict, in the data's order."""
    sql = (
        "SELECT DISTINCT c.id, t.conversation, t.system, t.policy FROM turn t"
        " JOIN conversation c ON c.id = coalesce(t.source, t.conversation)"
        f" WHERE t.drift IS NULL AND t.policy IN ({_places(policies)})"
        " ORDER BY c.position, t.repeat, t.conversation, t.system, t.policy"
    )
    return [PlayLocation(*row) for row in store.rows(sql, policies)]


def count_turns(store: RunReader, policies: Sequence[str]) -> dict[tuple[str, str], tuple[int, int]]:
    """Return how many turns each system has under each of *policies*, and how many of them have a verdict."""
    sql = (
        f"SELECT system, policy, count(*), count(drift) FROM turn WHERE policy IN ({_places(policies)})"
        " GROUP BY system, policy ORDER BY min(rowid)"
    )
    return {(system, policy): (turns, seen) for system, policy, turns, seen in store.rows(sql, policies)}


def first_waiting_row(store: RunReader, policies: Sequence[str], after: int) -> int | None:
    """Return the first row behind *after* of a turn under *policies* without a verdict; None for none."""
    sql = f"SELECT min(rowid) FROM turn WHERE rowid > ? AND drift IS NULL AND policy IN ({_places(policies)})"
    ((row,),) = store.rows(sql, [after, *policies])
    return None if row is None else int(row)


def verdicts_under(store: RunReader, policies: Sequence[str]) -> Iterator[Any]:
    """
    Yield each verdict under *policies*: conversation in the data, system, policy, whether the question is
    valid (None where it was not judged), and then why.
    """
    return store.rows(
        "SELECT coalesce(source, conversation), system, policy, valid,"
        " CASE WHEN valid IS NULL THEN json_extract(drift, '$.not_judged') END"
        f" FROM turn WHERE drift IS NOT NULL AND policy IN ({_places(policies)}) ORDER BY rowid",
        policies,
    )


def turns_under(store: RunReader, policies: Sequence[str]) -> Iterator[tuple[PlayLocation, int, bool]]:
    """Yield every turn under *policies*: its play, its depth, and whether it has a verdict."""
    sql = (
        "SELECT coalesce(source, conversation), conversation, system, policy, depth, drift IS NOT NULL"
        f" FROM turn WHERE policy IN ({_places(policies)})"
    )
    for *place, depth, has_drift in store.rows(sql, policies):
        yield PlayLocation(*place), depth, bool(has_drift)


def with_drift(found: Iterable[tuple[TurnPlace, Drift]]) -> list[Statement]:
    """Return what keeps the verdicts in *found*; a turn that has one keeps it."""
    sql = (
        "UPDATE turn SET drift = ?, valid = ? WHERE conversation = CAST(? AS TEXT) AND system = ?"
        " AND policy = ? AND depth = ? AND drift IS NULL"
    )
    return [
        Statement(
            sql,
            (
                schema.to_json(drift),
                None if drift.valid is None else int(drift.valid),
                schema.to_bytes(conversation),
                *rest,
            ),
        )
        for (conversation, *rest), drift in found
    ]


def _places(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
