"""
Reads a run's database: what happened, turn by turn, and what was found of it.

A run that is being written can be read; who reads it sees what was committed.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from replay.core.adapter import RawReply
from replay.core.conversation import Conversation
from replay.core.errors import RunError
from replay.core.expectation import CheckResult
from replay.core.record import ServerTimes, TurnPlace, TurnRecord, UnfinishedTurn
from replay.store import database, schema
from replay.store.database import Mark, Missing, missing, read_mark
from replay.store.rows import (
    CHECKS_IN_ORDER,
    SELECT_CHECKS,
    SELECT_RAW,
    SELECT_STEPS,
    SELECT_SUPERSEDED,
    StoredScore,
    StoredTally,
    StoredVerdict,
    SupersededTurn,
    check_result,
    place_values,
    raw_reply,
    stored_score,
    stored_verdict,
    superseded_turn,
    unfinished_turn,
)
from replay.store.schema import SELECT_OUTLINES, outline_record

DATABASE = "run.db"
LOST = "turns-lost"
"""The event of a run that was found to lack commits when it was opened for writing."""
_IN_ORDER = (
    " JOIN conversation c ON c.id = coalesce(t.source, t.conversation)"
    " ORDER BY c.position, t.repeat, t.conversation, t.system, t.policy, t.depth"
)


def database_in(folder: Path) -> Path:
    """
    Return the database of the run in *folder*.

    Raises:
        RunError: there is none.
    """
    path = folder / DATABASE
    if not path.is_file():
        below = sorted(folder.glob(f"*/{DATABASE}"), key=lambda one: one.stat().st_ctime)
        if below:
            raise RunError(f'"{folder}" is a folder of runs; name one of them, as "{below[-1].parent}"')
        raise RunError(f'there is no run in "{folder}" (no {DATABASE}); `replay run` makes one')
    return path


class RunReader:
    """Reads a run's database. Close it when done."""

    def __init__(self, folder: Path) -> None:
        """
        Open the run in *folder*.

        Raises:
            RunError: there is no run, or its version is not ours.
        """
        self.folder = folder
        self.path: Path = database_in(folder)
        self._reading = threading.RLock()
        self._connection = database.connect_checked(self.path)

    def close(self) -> None:
        """Let go of the run."""
        self._connection.close()

    def rows(self, sql: str, values: Iterable[Any] = (), *, at_once: int = 1000) -> Iterator[Any]:
        """
        Yield the rows of a query, some read *at_once*, letting other threads use the connection between.

        Raises:
            RunError: the database can't be read.
        """
        try:
            with self._reading:
                cursor = self._connection.execute(sql, tuple(values))
            while True:
                with self._reading:
                    rows = cursor.fetchmany(at_once)
                if not rows:
                    return
                yield from rows
        except sqlite3.DatabaseError as error:
            cause = f"{error}; it is damaged, or from another version of convreplay"
            raise RunError(f'"{self.path}" can\'t be read: {cause}') from error

    def fact(self, key: str) -> Any:
        """Return the value of *key* in the run table; None if it is not there."""
        for (value,) in self.rows("SELECT value FROM run WHERE key = ?", [key]):
            return schema.from_json(value, schema.FACTS.get(key, object))
        return None

    def required_fact(self, key: str) -> Any:
        """
        Return the value of *key* in the run table.

        Raises:
            RunError: it is not there.
        """
        if (value := self.fact(key)) is None:
            raise RunError(f'"{self.path}" says nothing of its {key}; it is damaged, or somebody changed it')
        return value

    def metadata(self, key: str) -> list[Any]:
        """Return the values of *key* in the conversations' metadata, of those conversations that have it."""
        path = f'$.metadata."{key}"'
        rows = self.rows(
            # Most conversations don't have it, and searching a text is quicker than parsing it.
            "SELECT json_extract(data, ?) FROM conversation WHERE instr(data, ?) ORDER BY position",
            [path, f'"{key}"'],
        )
        return [schema.from_json(value, object) for (value,) in rows if isinstance(value, str)]

    def lost_turns(self) -> list[Missing]:
        """Return what was found missing whenever the run was opened for writing, and what is missing now."""
        now = self._lacks(read_mark(self.folder))
        return [Missing(*one) for one in self.events(LOST)] + ([now] if now else [])

    def _lacks(self, mark: Mark | None) -> Missing | None:
        try:
            with self._reading:
                return missing(mark, self._connection, self.path)
        except sqlite3.DatabaseError as error:
            raise RunError(f'"{self.path}" can\'t be read: {error}') from error

    def conversation_lengths(self) -> dict[str, int]:
        """Return the number of turns of each conversation, in the order of the data."""
        return dict(self.rows("SELECT id, turns FROM conversation ORDER BY position"))

    def has_goals(self) -> bool:
        """Return whether the conversations have goals in the place of recorded questions: all, or none."""
        sql = "SELECT json_extract(data, '$.goal') IS NOT NULL FROM conversation ORDER BY position LIMIT 1"
        return any(bool(has_goal) for (has_goal,) in self.rows(sql))

    def rewritten(self) -> Iterator[tuple[str, str, str, str]]:
        """System, policy, question as asked and standalone one of each rewritten turn whose data has one."""
        standalone = "json_extract(c.data, '$.turns[' || (t.depth - 1) || '].standalone')"
        return self.rows(
            f"SELECT t.system, t.policy, t.asked, {standalone} FROM turn t"
            " JOIN conversation c ON c.id = coalesce(t.source, t.conversation)"
            f" WHERE t.edit = 'rewritten' AND {standalone} IS NOT NULL ORDER BY t.rowid"
        )

    def recorded_answers(self) -> list[tuple[str, str, bool]]:
        """
        Return each system and policy that gave recorded answers alone, and whether only the first references.
        """
        first = "min(answer = json_extract(gold_answers, '$[0]'))"
        any_of_them = "min(answer IN (SELECT value FROM json_each(gold_answers)))"
        rows = self.rows(
            f"SELECT system, policy, {first} FROM turn WHERE outcome = 'answered' AND gold_answers != '[]'"
            f" GROUP BY system, policy HAVING {any_of_them}"
        )
        return [(system, policy, bool(is_first)) for system, policy, is_first in rows]

    def contents(self) -> dict[str, str]:
        """Return the hash of each conversation's content by its id, in the order of the data."""
        return dict(self.rows("SELECT id, content FROM conversation ORDER BY position"))

    def conversation(self, id: str) -> Conversation:
        """
        Raises:
            KeyError: the run has none of that *id*.
        """
        where = "SELECT data FROM conversation WHERE id = CAST(? AS TEXT)"
        for (data,) in self.rows(where, [schema.to_bytes(id)]):
            return schema.from_json(data, Conversation)
        raise KeyError(id)

    def conversations(self) -> Iterator[Conversation]:
        """Yield the conversations as the run stored them, in order."""
        return (schema.from_json(data, Conversation) for data in self.conversation_texts())

    def expecting(self) -> Iterator[Conversation]:
        """Return the conversations with expectations on a turn or on their end, in order."""
        # Searching a text is quicker than parsing it, and in a text of somebody's the quote is escaped.
        some = """(instr(data, '"expect":[{') OR instr(data, '"expect": [{'))"""
        rows = self.rows(f"SELECT data FROM conversation WHERE {some} ORDER BY position", at_once=20)
        found = (schema.from_json(data, Conversation) for (data,) in rows)
        return (one for one in found if one.expect or any(turn.expect for turn in one.turns))

    def conversation_texts(self) -> Iterator[str]:
        """Yield the stored JSON of the conversations, in order."""
        # A conversation may have megabytes.
        for (data,) in self.rows("SELECT data FROM conversation ORDER BY position", at_once=20):
            yield data

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read consistently within the block, whatever other processes write meanwhile."""
        with self._reading:
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            with self._reading:
                self._connection.execute("COMMIT")

    def records(self) -> Iterator[TurnRecord]:
        """Yield all records by conversation, system, policy and depth."""
        return map(schema.row_record, self.rows(schema.SELECT_RECORDS + _IN_ORDER))

    def outlines(self) -> Iterator[TurnRecord]:
        """Yield all records in the same order, without their texts: what a table counts."""
        return map(outline_record, self.rows(SELECT_OUTLINES + _IN_ORDER))

    def rows_from(self, rowid: int) -> Iterator[tuple[int, schema.Row]]:
        """Yield the rows of turns from *rowid* on, each after its own, in the order in which they came."""
        columns = ", ".join(schema.RECORD_COLUMNS)
        rows = self.rows(f"SELECT rowid, {columns} FROM turn WHERE rowid >= ? ORDER BY rowid", [rowid])
        return ((row[0], row[1:]) for row in rows)

    def last_row(self) -> int:
        """Return the rowid of the turn that came last; 0 where there is none."""
        (rowid,) = next(self.rows("SELECT coalesce(max(rowid), 0) FROM turn"))
        return int(rowid)

    def records_of(self, conversation: str, system: str, policy: str) -> tuple[TurnRecord, ...]:
        """Return one conversation as played by one system under one policy, by depth."""
        where = " WHERE t.conversation = CAST(? AS TEXT) AND t.system = ? AND t.policy = ? ORDER BY t.depth"
        values = [schema.to_bytes(conversation), system, policy]
        return tuple(map(schema.row_record, self.rows(schema.SELECT_RECORDS + where, values)))

    def endings(self) -> dict[tuple[str, str, str], TurnRecord]:
        """Return by conversation, system and policy how conversations without recorded questions ended."""
        found = map(schema.row_record, self.rows(schema.SELECT_ENDINGS + _IN_ORDER))
        return {(one.conversation, one.system, one.policy): one for one in found}

    def has_ended(self, conversation: str, system: str, policy: str) -> bool:
        """Return whether that is over, of a conversation without recorded questions."""
        sql = "SELECT 1 FROM ending WHERE conversation = CAST(? AS TEXT) AND system = ? AND policy = ?"
        return any(True for _ in self.rows(sql, [schema.to_bytes(conversation), system, policy]))

    def begun_turn(self, place: TurnPlace) -> UnfinishedTurn | None:
        """Return the steps of the turn at *place* if its loop of tool calls was interrupted; else None."""
        return unfinished_turn(list(self.rows(SELECT_STEPS, place_values(place))))

    def has_begun_turns(self) -> bool:
        """Return whether some turn's loop of tool calls was interrupted."""
        return any(True for _ in self.rows("SELECT 1 FROM step LIMIT 1"))

    def records_due(self, from_s: float, to_s: float) -> Iterator[TurnRecord]:
        """Yield the records of turns due in [*from_s*, *to_s*), in seconds since the engine started."""
        where = " WHERE t.scheduled_s >= ? AND t.scheduled_s < ?"
        return map(schema.row_record, self.rows(schema.SELECT_RECORDS + where, [from_s, to_s]))

    def outcomes(self) -> dict[str, int]:
        """Return how many turns came to which outcome, tallied ones included."""
        counts = Counter(dict(self.rows("SELECT outcome, count(*) FROM turn GROUP BY outcome")))
        for tally in self.tallies():
            counts.update(tally.data["outcomes"])
        return dict(sorted(counts.items()))

    def failures(self) -> Iterator[Any]:
        """
        System, outcome, error, how many turns, and the first one's policy, conversation and depth, for each
        text of an error; in the order in which they were met.
        """
        # SQLite takes bare columns from the row that has the minimum.
        sql = (
            "SELECT system, outcome, error, count(*), policy, conversation, depth, min(rowid) AS first"
            " FROM turn WHERE outcome NOT IN ('answered', 'skipped')"
            " GROUP BY system, outcome, error ORDER BY first"
        )
        return (row[:-1] for row in self.rows(sql))

    def same_answers(self, times: int) -> Iterator[Any]:
        """
        System, policy, how many turns were answered in all their *times* plays, and to how many of those
        always with the same text.
        """
        turns = (
            "SELECT system, policy, count(DISTINCT answer) = 1 AS same FROM turn WHERE outcome = 'answered'"
            " GROUP BY system, policy, coalesce(source, conversation), depth HAVING count(*) = ?"
        )
        sql = f"SELECT system, policy, count(*), sum(same) FROM ({turns}) GROUP BY system, policy"
        return self.rows(sql, [times])

    def server_times(self) -> Iterator[tuple[str, str, int, float, float | None, ServerTimes]]:
        """Yield system, policy, depth, latency and TTFT of each answer whose server said what it took."""
        rows = self.rows(
            "SELECT system, policy, depth, done_s - sent_s, first_token_s - sent_s, server_times FROM turn"
            " WHERE server_times IS NOT NULL AND outcome = 'answered'"
        )
        return ((*row[:-1], schema.from_json(row[-1], ServerTimes)) for row in rows)

    def count_records(self) -> int:
        (count,) = next(self.rows("SELECT count(*) FROM turn"))
        return int(count)

    def superseded_turns(self) -> Iterator[SupersededTurn]:
        """Yield the turns as they were before they were asked again, in the order of replacement."""
        return map(superseded_turn, self.rows(SELECT_SUPERSEDED))

    def count_superseded(self) -> tuple[int, int]:
        """Return how many turns were asked again, and how many earlier answers and failures are kept."""
        again = "SELECT 1 FROM superseded GROUP BY conversation, system, policy, depth"
        ((turns, attempts),) = self.rows(f"SELECT (SELECT count(*) FROM ({again})), count(*) FROM superseded")
        return turns, attempts

    def raw_replies(self) -> Iterator[RawReply]:
        """Yield the raw replies that were kept, in the order of the asks."""
        return map(raw_reply, self.rows(SELECT_RAW))

    def scores(self, scorer: str) -> Iterator[StoredScore]:
        """Yield all observations of one scorer."""
        sql = f"SELECT {', '.join(StoredScore._fields)} FROM score WHERE scorer = ?"
        return map(stored_score, self.rows(sql, [scorer]))

    def checks(self) -> Iterator[CheckResult]:
        """Yield every check with its turn, by conversation, play, system, policy and depth."""
        return map(check_result, self.rows(SELECT_CHECKS + CHECKS_IN_ORDER))

    def verdicts(self, judge: str) -> Iterator[StoredVerdict]:
        """Yield all verdicts of one judge, by conversation, system, policy and depth."""
        columns = ", ".join(f"v.{name}" for name in StoredVerdict._fields)
        order = (
            " FROM verdict v JOIN turn t USING (conversation, system, policy, depth)"
            " JOIN conversation c ON c.id = coalesce(t.source, t.conversation) WHERE v.judge = ?"
            " ORDER BY c.position, t.repeat, v.conversation, v.system, v.policy, v.depth"
        )
        return map(stored_verdict, self.rows(f"SELECT {columns}{order}", [judge]))

    def tallies(self) -> Iterator[StoredTally]:
        """Yield the counts of a load run's turns that were not stored one by one."""
        columns = ", ".join(StoredTally._fields)
        rows = self.rows(f"SELECT {columns} FROM tally ORDER BY level, system, policy, depth")
        return (StoredTally._make([*key, schema.from_json(data, object)]) for *key, data in rows)

    def events(self, kind: str) -> list[Any]:
        """Return the data of all events of one kind, oldest first."""
        rows = self.rows("SELECT data FROM event WHERE kind = ? ORDER BY id", [kind])
        return [schema.from_json(data, object) for (data,) in rows]
