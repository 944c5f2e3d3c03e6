"""
Reads a run's database piece by piece, for pages that show a part of it.

``RunStore`` gives whole columns of a run; somebody who looks at one conversation among ten thousand, or
watches a run that is being written, must not wait for that.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from replay.conversation import Conversation
from replay.errors import RunError
from replay.record import TurnRecord
from replay.store import schema
from replay.store.store import DATABASE, RunStore, StoredVerdict


class OutcomeRow(NamedTuple):
    """The turns of one system under one policy that ended alike."""

    system: str
    policy: str
    outcome: str
    turns: int
    attempts: int
    cost_usd: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    first_sent_s: float | None
    last_done_s: float | None


class PlayedTurn(NamedTuple):
    """What a list of conversations needs of a turn."""

    row: int
    conversation: str
    source: str | None
    system: str
    policy: str
    depth: int
    valid: int | None
    edit: str
    outcome: str


class TimedTurn(NamedTuple):
    """When an answered turn's first piece came."""

    system: str
    policy: str
    depth: int
    ttft_s: float


class TurnScore(NamedTuple):
    """One observation, or why there is none."""

    scorer: str
    system: str
    policy: str
    depth: int
    value: Any
    unscored: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run has come, as far as counting rows can tell."""

    turns: int
    conversations: int
    """Conversations met so far."""
    newest: int
    """Number of the row written last; with ``turns`` it tells one state from another."""
    events: int
    finished: bool
    """Everything was asked; scoring may still go on."""


class RunBrowser:
    """A run's database open for reading; calls from several threads wait for each other."""

    def __init__(self, folder: Path) -> None:
        """
        Raises:
            RunError: there is no run in *folder*, or it comes from another version.
        """
        self.folder = folder
        self.path = folder / DATABASE
        RunStore(folder).close()  # complains of what is no run, in the store's words
        self._connection = schema.connect(str(self.path))
        self._connection.create_function("holds", 2, _holds, deterministic=True)
        self._turns = threading.RLock()

    def close(self) -> None:
        with self._turns:
            self._connection.close()

    def _rows(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        with self._turns:
            try:
                return self._connection.execute(sql, tuple(values)).fetchall()
            except sqlite3.DatabaseError as error:
                raise RunError(f'"{self.path}" can\'t be read: {error}') from error

    def version(self) -> int:
        """Another number whenever another connection has written something."""
        return int(self._rows("PRAGMA data_version")[0][0])

    def progress(self) -> Progress:
        """How far the run has come; cheap enough to be asked every second."""
        ((turns, newest),) = self._rows("SELECT count(*), max(rowid) FROM turn")
        ((conversations,),) = self._rows("SELECT count(*) FROM conversation")
        ((events,),) = self._rows("SELECT max(id) FROM event")
        return Progress(
            turns=turns,
            conversations=conversations,
            newest=newest or 0,
            events=events or 0,
            finished=bool(self.fact("finished")),
        )

    def fact(self, key: str) -> Any:
        """What the run says of *key*; None when nothing."""
        rows = self._rows("SELECT value FROM run WHERE key = ?", [key])
        return schema.from_json(rows[0][0], object) if rows else None

    def events(self) -> list[tuple[str, str]]:
        """When what kind of event happened, oldest first."""
        return [(at, kind) for at, kind in self._rows("SELECT at, kind FROM event ORDER BY id")]

    def outcomes(self) -> list[OutcomeRow]:
        """Turns, cost and tokens by system, policy and outcome."""
        return [
            OutcomeRow(*row)
            for row in self._rows(
                "SELECT system, policy, outcome, count(*), sum(attempts), sum(cost_usd),"
                " sum(prompt_tokens), sum(completion_tokens), min(sent_s), max(done_s)"
                " FROM turn GROUP BY system, policy, outcome ORDER BY system, policy, outcome"
            )
        ]

    def played_turns(self, *, after: int = 0) -> list[PlayedTurn]:
        """Turns written after row *after*, in the order of writing."""
        columns = "rowid, conversation, source, system, policy, depth, valid, edit, outcome"
        rows = self._rows(f"SELECT {columns} FROM turn WHERE rowid > ? ORDER BY rowid", [after])
        return [PlayedTurn(*row) for row in rows]

    def titles(self) -> list[tuple[str, int, str, str]]:
        """Id, place in the data, title and section of each conversation."""
        return self._rows(
            "SELECT id, position, coalesce(json_extract(data, '$.title'), ''),"
            " coalesce(json_extract(data, '$.section'), '') FROM conversation ORDER BY position"
        )

    def first_pieces(self) -> list[TimedTurn]:
        """The time to the first piece of every answer that came in pieces."""
        return [
            TimedTurn(*row)
            for row in self._rows(
                "SELECT system, policy, depth, first_token_s - sent_s FROM turn"
                " WHERE first_token_s IS NOT NULL AND sent_s IS NOT NULL AND outcome = 'answered'"
            )
        ]

    def observations(self, scorer: str) -> list[tuple[str, str, str, int, str]]:
        """Conversation, system, policy, depth and JSON value of each scored turn of *scorer*."""
        return self._rows(
            "SELECT conversation, system, policy, depth, value FROM score"
            " WHERE scorer = ? AND value IS NOT NULL",
            [scorer],
        )

    def having(self, text: str) -> set[str]:
        """
        Conversations with *text* in a question, in an answer or in their id, in any letter case.

        A scan; SQLite's own LIKE knows the case of ASCII letters only, so other letters take longer.
        """
        places = ("conversation", "recorded", "asked", "answer", "gold_answers")
        if text.isascii() and not set(text) & set("%_\\\""):
            test, value = "{} LIKE CAST(?1 AS TEXT)", schema.to_bytes(f"%{text}%")
        else:
            test, value = "holds(?1, CAST({} AS BLOB))", schema.to_bytes(text.casefold())
        sql = " OR ".join(test.format(place) for place in places)
        return {row[0] for row in self._rows(f"SELECT DISTINCT conversation FROM turn WHERE {sql}", [value])}

    def conversation(self, id: str) -> Conversation | None:
        """The conversation as the data has it; *id* may be that of a play of it."""
        rows = self._rows(
            "SELECT data FROM conversation WHERE id = coalesce((SELECT source FROM turn"
            " WHERE conversation = CAST(?1 AS TEXT) LIMIT 1), CAST(?1 AS TEXT))",
            [schema.to_bytes(id)],
        )
        return schema.from_json(rows[0][0], Conversation) if rows else None

    def records(self, conversation: str) -> list[TurnRecord]:
        """All turns of one conversation, by system, policy and depth."""
        where = " WHERE t.conversation = CAST(? AS TEXT) ORDER BY t.system, t.policy, t.depth"
        rows = self._rows(schema.SELECT_RECORDS + where, [schema.to_bytes(conversation)])
        return [schema.row_record(row) for row in rows]

    def scores(
        self, conversation: str, scorers: Sequence[str], groups: Iterable[tuple[str, str]]
    ) -> list[TurnScore]:
        """The observations of one conversation's turns, for these scorers, systems and policies."""
        sql = (
            "SELECT scorer, system, policy, depth, value, unscored FROM score WHERE scorer = ?"
            " AND system = ? AND policy = ? AND conversation = CAST(? AS TEXT) ORDER BY depth"
        )
        found = []
        for system, policy in groups:
            for scorer in scorers:
                for row in self._rows(sql, [scorer, system, policy, schema.to_bytes(conversation)]):
                    score = TurnScore(*row)
                    value = None if score.value is None else schema.from_json(score.value, object)
                    found.append(score._replace(value=value))
        return found

    def verdicts(
        self, conversation: str, judges: Sequence[str], groups: Iterable[tuple[str, str]]
    ) -> list[StoredVerdict]:
        """The judges' verdicts on one conversation's turns, with their evidence."""
        columns = ", ".join(StoredVerdict._fields)
        sql = (
            f"SELECT {columns} FROM verdict WHERE judge = ? AND system = ? AND policy = ?"
            " AND conversation = CAST(? AS TEXT) ORDER BY depth"
        )
        found = []
        for system, policy in groups:
            for judge in judges:
                for row in self._rows(sql, [judge, system, policy, schema.to_bytes(conversation)]):
                    verdict = StoredVerdict(*row)
                    found.append(verdict._replace(data=schema.from_json(verdict.data, object)))
        return found


def _holds(sought: bytes, stored: bytes | None) -> bool:
    """Whether *sought*, in folded case, is in *stored*; of bytes, since a text may hold lone surrogates."""
    if stored is None:
        return False
    text, place = schema.to_text(sought), schema.to_text(stored)
    # Lists are kept as JSON text, which escapes quotes and may escape letters.
    return text in place.casefold() or ("\\" in place and text in _unescaped(place).casefold())


def _unescaped(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)
