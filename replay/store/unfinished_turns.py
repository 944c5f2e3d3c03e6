"""
Turns under way whose system calls tools: each step is a row until the turn has its record.

So that a run that is killed within a loop asks nothing again that was answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replay.core.step import Step, TurnPlace, UnfinishedTurn
from replay.store.schema import from_json, to_bytes, to_json
from replay.store.writer import Statement

_WHERE = "conversation = CAST(? AS TEXT) AND system = ? AND policy = ? AND depth = ?"
SELECT_STEPS = f"SELECT asked, data FROM step WHERE {_WHERE} ORDER BY number"


def insert_step(place: TurnPlace, number: int, asked: str, step: Step) -> list[Statement]:
    """Return the statements that store *step*, *number* from 0, of the turn at *place*."""
    columns = "conversation, system, policy, depth, number, asked, data"
    sql = f"INSERT INTO step ({columns}) VALUES (CAST(? AS TEXT), ?, ?, ?, ?, CAST(? AS TEXT), ?)"
    inserted = Statement(sql, (*place_values(place), number, to_bytes(asked), to_json(step)))
    # What is there before the first one was behind a question that is put another way now.
    return [inserted] if number else [drop_steps(place), inserted]


def drop_steps(place: TurnPlace) -> Statement:
    """Return the statement that forgets the steps of the turn at *place*."""
    return Statement(f"DELETE FROM step WHERE {_WHERE}", place_values(place))


def place_values(place: TurnPlace) -> tuple[Any, ...]:
    """Return the values for the placeholders of a WHERE clause."""
    conversation, *rest = place
    return to_bytes(conversation), *rest


def unfinished_turn(rows: Sequence[tuple[str, str]]) -> UnfinishedTurn | None:
    """Return the unfinished turn in rows of ``SELECT_STEPS``; None if there are none."""
    if not rows:
        return None
    return UnfinishedTurn(asked=rows[0][0], steps=tuple(from_json(data, Step) for _, data in rows))
