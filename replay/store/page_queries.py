"""
Reads a run's database piece by piece, for pages that show a part of it.

``RunStore`` gives whole columns of a run; somebody who looks at one conversation among ten thousand, or
watches a run that is being written, must not wait for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from replay.core.conversation import Conversation
from replay.core.expectation import CheckResult
from replay.core.record import TurnRecord
from replay.store import schema
from replay.store.rows import (
    SELECT_CHECKS,
    StoredScore,
    StoredVerdict,
    check_result,
    stored_score,
    stored_verdict,
)
from replay.store.store import RunStore


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


class PlaySummary(NamedTuple):
    """What happened to the turns of one conversation under one policy."""

    conversation: str
    source: str | None
    system: str
    policy: str
    turns: int
    invalid: int
    edited: int
    failed: int


class TurnTexts(NamedTuple):
    """The texts of a turn."""

    conversation: str
    depth: int
    recorded: str
    asked: str
    answer: str | None
    gold_answers: str
    """JSON list."""


class TimedTurn(NamedTuple):
    """When an answered turn's first piece came."""

    system: str
    policy: str
    depth: int
    ttft_s: float


class RecordKey(NamedTuple):
    """Which turn, of all that were asked."""

    conversation: str
    system: str
    policy: str
    depth: int


_NUMBER = "CAST(CASE value WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE value END AS REAL)"
"""An observation that is a number, or a yes or no."""
_INTERVENED = (
    "t.interventions IS NOT NULL AND (?1 = '' OR EXISTS (SELECT 1 FROM json_each(t.interventions)"
    " WHERE json_extract(value, '$.occasion') = ?1))"
)
"""A user did something in the turn; for one reason, unless that is empty."""


class TurnScore(NamedTuple):
    """One observation, or why there is none."""

    scorer: str
    system: str
    policy: str
    depth: int
    value: Any
    unscored: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayProgress:
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
    """A run's database open for reading; several threads may call it."""

    def __init__(self, folder: Path) -> None:
        """
        Raises:
            RunError: there is no run in *folder*, or it comes from another version.
        """
        self._store = RunStore(folder)
        self.path: Path = self._store.path
        self.close: Callable[[], None] = self._store.close
        self.fact: Callable[[str], Any] = self._store.fact

    def _rows(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        return list(self._store.rows(sql, values))

    def version(self) -> int:
        """Return a number that changes whenever another connection has written something."""
        return int(self._rows("PRAGMA data_version")[0][0])

    def progress(self) -> PlayProgress:
        """Return how far the run has come; cheap enough to be asked every second."""
        ((turns, newest),) = self._rows("SELECT count(*), max(rowid) FROM turn")
        ((conversations,),) = self._rows("SELECT count(*) FROM conversation")
        ((events,),) = self._rows("SELECT max(id) FROM event")
        return PlayProgress(
            turns=turns,
            conversations=conversations,
            newest=newest or 0,
            events=events or 0,
            finished=bool(self.fact("finished")),
        )

    def events(self) -> list[tuple[str, str]]:
        """Return (time, kind) of each event, oldest first."""
        return [(at, kind) for at, kind in self._rows("SELECT at, kind FROM event ORDER BY id")]

    def outcomes(self) -> list[OutcomeRow]:
        """Return turns, cost and tokens by system, policy and outcome."""
        return [
            OutcomeRow(*row)
            for row in self._rows(
                "SELECT system, policy, outcome, count(*), sum(attempts), sum(cost_usd),"
                " sum(prompt_tokens) FILTER (WHERE NOT cached),"
                " sum(completion_tokens) FILTER (WHERE NOT cached), min(sent_s), max(done_s)"
                " FROM turn GROUP BY system, policy, outcome ORDER BY system, policy, outcome"
            )
        ]

    def recorded_turns(self) -> int:
        """Return how many questions were reached, each counted once for all systems, policies and repeats."""
        repeats = (self.fact("repeats") or {}).get("times", 1) > 1
        # Without an index to follow, so only where it makes a difference.
        one = "coalesce(source, conversation)" if repeats else "conversation"
        sql = f"SELECT count(DISTINCT depth) AS turns FROM turn GROUP BY {one}"
        return int(self._rows(f"SELECT coalesce(sum(turns), 0) FROM ({sql})")[0][0])

    def play_summaries(self, *, after: int, until: int) -> list[PlaySummary]:
        """Return counts of the turns in rows *after* to *until*, by conversation, system and policy."""
        rows = self._rows(
            "SELECT conversation, min(source), system, policy, count(*), count(*) FILTER (WHERE valid = 0),"
            " count(*) FILTER (WHERE edit IN ('rewritten', 'replaced', 'augmented')),"
            " count(*) FILTER (WHERE outcome NOT IN ('answered', 'skipped'))"
            " FROM turn WHERE rowid > ? AND rowid <= ? GROUP BY conversation, system, policy"
            " ORDER BY min(rowid)",
            [after, until],
        )
        return [PlaySummary(*row) for row in rows]

    def drift_verdicts(self, policy: str) -> list[tuple[str, str, int, bool]]:
        """Return system, conversation, depth and verdict of each turn of *policy* that was judged."""
        sql = "SELECT system, conversation, depth, valid FROM turn WHERE policy = ? AND valid IS NOT NULL"
        return self._rows(sql, [policy])

    def reworded_questions(self) -> list[tuple[str, str, str, int, str]]:
        """Return conversation, system, policy, depth and question of each turn not asked as recorded."""
        sql = "SELECT conversation, system, policy, depth, asked FROM turn WHERE asked != recorded"
        return self._rows(sql)

    def sources(self) -> dict[str, str]:
        """Return the recorded conversation's id of each play that has another."""
        sql = "SELECT DISTINCT conversation, source FROM turn WHERE source IS NOT NULL"
        return dict(self._rows(sql))

    def groups(self) -> list[tuple[str, str]]:
        """Return the systems and policies that have a turn."""
        return self._rows("SELECT DISTINCT system, policy FROM turn")

    def turn_texts(self, *, after: int, until: int) -> Iterator[TurnTexts]:
        """Yield the texts of the turns in rows *after* (excluded) to *until* (included), in order."""
        sql = (
            "SELECT rowid, conversation, depth, recorded, asked, answer, gold_answers FROM turn"
            " WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT 2000"
        )
        while rows := self._rows(sql, [after, until]):
            for row, *texts in rows:
                yield TurnTexts(*texts)
                after = row

    def titles(self) -> list[tuple[str, int, str, str]]:
        """Return id, position in the data, title and section of each conversation."""
        return self._rows(
            "SELECT id, position, coalesce(json_extract(data, '$.title'), ''),"
            " coalesce(json_extract(data, '$.section'), '') FROM conversation ORDER BY position"
        )

    def first_pieces(self) -> list[TimedTurn]:
        """Return the time to the first piece of every answer that came in pieces."""
        return [
            TimedTurn(*row)
            for row in self._rows(
                "SELECT system, policy, depth, first_token_s - sent_s FROM turn"
                " WHERE first_token_s IS NOT NULL AND sent_s IS NOT NULL AND outcome = 'answered'"
            )
        ]

    def observations(self, scorer: str) -> list[tuple[str, str, str, int, str]]:
        """Return conversation, system, policy, depth and JSON value of each scored turn of *scorer*."""
        return self._rows(
            "SELECT conversation, system, policy, depth, value FROM score"
            " WHERE scorer = ? AND value IS NOT NULL",
            [scorer],
        )

    def sums(self, scorer: str) -> list[tuple[str, str, str, float, int]]:
        """Return conversation, system, policy, sum and count of *scorer*'s numeric observations."""
        return self._rows(
            f"SELECT conversation, system, policy, sum({_NUMBER}), count(*) FROM score"
            " WHERE scorer = ? AND value IS NOT NULL GROUP BY system, policy, conversation",
            [scorer],
        )

    def means(self, scorer: str) -> list[tuple[str, str, float]]:
        """Return system, policy and mean of *scorer*'s numeric observations."""
        return self._rows(
            f"SELECT system, policy, avg({_NUMBER}) FROM score"
            " WHERE scorer = ? AND value IS NOT NULL GROUP BY system, policy",
            [scorer],
        )

    def noes(self, scorer: str) -> list[RecordKey]:
        """Return the turns on which *scorer* says no; none if its scores are more than yes and no."""
        of_scorer = "FROM score WHERE scorer = ? AND value"
        if self._rows(
            f"SELECT 1 {of_scorer} NOT IN ('0', '0.0', 'false', '1', '1.0', 'true') LIMIT 1", [scorer]
        ):
            return []
        sql = f"SELECT {', '.join(RecordKey._fields)} {of_scorer} IN ('0', '0.0', 'false')"
        return [RecordKey(*row) for row in self._rows(sql, [scorer])]

    def due(
        self, from_s: float, to_s: float, condition: str = "1", values: Sequence[Any] = ()
    ) -> list[RecordKey]:
        """Return the turns due in [*from_s*, *to_s*) of which an SQL *condition* holds."""
        sql = f"SELECT {', '.join(RecordKey._fields)} FROM turn WHERE scheduled_s >= ? AND scheduled_s < ?"
        return [RecordKey(*row) for row in self._rows(f"{sql} AND {condition}", [from_s, to_s, *values])]

    def conversation(self, id: str) -> Conversation | None:
        """Return the conversation as the data has it; *id* may be that of a play of it."""
        rows = self._rows(
            "SELECT data FROM conversation WHERE id = coalesce((SELECT source FROM turn"
            " WHERE conversation = CAST(?1 AS TEXT) LIMIT 1), CAST(?1 AS TEXT))",
            [schema.to_bytes(id)],
        )
        return schema.from_json(rows[0][0], Conversation) if rows else None

    def records(self, conversation: str) -> list[TurnRecord]:
        """Return all turns of one conversation, by system, policy and depth."""
        where = " WHERE t.conversation = CAST(? AS TEXT) ORDER BY t.system, t.policy, t.depth"
        rows = self._rows(schema.SELECT_RECORDS + where, [schema.to_bytes(conversation)])
        return [schema.row_record(row) for row in rows]

    def occasions(self) -> dict[str, int]:
        """Return the number of interventions by reason."""
        return dict(
            self._rows(
                "SELECT json_extract(value, '$.occasion') AS occasion, count(*)"
                " FROM turn, json_each(turn.interventions) GROUP BY occasion"
            )
        )

    def groups_with_interventions(self) -> list[tuple[str, str]]:
        """Return the systems and policies under which a user did something."""
        return self._rows("SELECT DISTINCT system, policy FROM turn WHERE interventions IS NOT NULL")

    def count_turns_with_interventions(self, occasion: str) -> int:
        """Return the number of turns in which a user did something, for the reason *occasion* if given."""
        return int(self._rows(f"SELECT count(*) FROM turn t WHERE {_INTERVENED}", [occasion])[0][0])

    def turns_with_interventions(self, occasion: str, *, first: int, count: int) -> list[TurnRecord]:
        """Return *count* such turns at most, by conversation and depth, from number *first* on, from 0."""
        order = "t.system, t.policy, t.conversation, t.depth"
        where = f" WHERE {_INTERVENED} ORDER BY {order} LIMIT ?2 OFFSET ?3"
        rows = self._rows(schema.SELECT_RECORDS + where, [occasion, count, first])
        return [schema.row_record(row) for row in rows]

    def endings(self, conversation: str) -> list[TurnRecord]:
        """Return how one conversation without recorded questions ended, by system and policy."""
        where = " WHERE t.conversation = CAST(? AS TEXT) ORDER BY t.system, t.policy"
        rows = self._rows(schema.SELECT_ENDINGS + where, [schema.to_bytes(conversation)])
        return [schema.row_record(row) for row in rows]

    def scores(
        self, conversation: str, scorers: Sequence[str], groups: Iterable[tuple[str, str]]
    ) -> list[TurnScore]:
        """Return the observations of one conversation's turns, for these scorers, systems and policies."""
        sql = (
            f"SELECT {', '.join(StoredScore._fields)} FROM score WHERE scorer = ?"
            " AND system = ? AND policy = ? AND conversation = CAST(? AS TEXT) ORDER BY depth"
        )
        found: list[TurnScore] = []
        for system, policy in groups:
            for scorer in scorers:
                rows = self._rows(sql, [scorer, system, policy, schema.to_bytes(conversation)])
                found += [TurnScore(scorer, *stored_score(row)[1:]) for row in rows]
        return found

    def verdicts(
        self, conversation: str, judges: Sequence[str], groups: Iterable[tuple[str, str]]
    ) -> list[StoredVerdict]:
        """Return the judges' verdicts on one conversation's turns, with their evidence."""
        columns = ", ".join(StoredVerdict._fields)
        sql = (
            f"SELECT {columns} FROM verdict WHERE judge = ? AND system = ? AND policy = ?"
            " AND conversation = CAST(? AS TEXT) ORDER BY depth"
        )
        found: list[StoredVerdict] = []
        for system, policy in groups:
            for judge in judges:
                rows = self._rows(sql, [judge, system, policy, schema.to_bytes(conversation)])
                found += map(stored_verdict, rows)
        return found

    def checks(self, conversation: str) -> list[CheckResult]:
        """Return a conversation's check results by system, policy and depth, those of its end last."""
        where = "WHERE k.conversation = CAST(? AS TEXT)"
        order = " ORDER BY k.system, k.policy, k.depth, k.at_end, k.position"
        rows = self._rows(SELECT_CHECKS + where + order, [schema.to_bytes(conversation)])
        return [check_result(row) for row in rows]
