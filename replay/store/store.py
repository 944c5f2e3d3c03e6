"""
A run's database: created, or opened by the process that writes it and by its workers; ``reader`` reads it.

SQLite in WAL mode. A record is durable against a killed process once ``write`` returns; with
``durability="power"`` against a power cut too (the disk is synced at every commit).
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from replay.core.adapter import RawReply
from replay.core.conversation import Conversation
from replay.core.drift_evidence import Drift
from replay.core.errors import RunError
from replay.core.expectation import CheckResult
from replay.core.lifetimes import in_thread
from replay.core.record import Step, TurnPlace, TurnRecord
from replay.store import database, schema, tables
from replay.store.database import OPEN, Missing, lock_run, read_mark, unlock_run
from replay.store.reader import DATABASE, LOST, RunReader, database_in
from replay.store.rows import (
    BEGIN_STAGING,
    RowRange,
    StoredScore,
    StoredTally,
    StoredVerdict,
    drop_steps,
    insert_check,
    insert_conversation,
    insert_raw,
    insert_step,
    publish_staged,
    supersede,
    with_drift,
)
from replay.store.writer import Statement, Writer

Durability = Literal["process", "power"]
_JUDGED_IN = (("scorer", "score"), ("judge", "verdict"))


class RunStore(RunReader):
    """Reads a run's database; a writable one also writes it. Close it when done."""

    def __init__(
        self,
        folder: Path,
        *,
        write: bool = False,
        durability: Durability = "process",
        keyed: bool = True,
        worker: int | None = None,
    ) -> None:
        """
        Open the run in *folder*.

        To write it, turns are made quick to find if they aren't yet (a load run that was killed), unless
        *keyed* says not to. The *worker* of that number, from 0, writes it beside the process that holds it.

        Raises:
            RunError: there is no run, another process writes it, or its version is not ours.
        """
        database_in(folder)  # or the lock's file would be made beside none
        mark = read_mark(folder)
        self._is_worker = worker is not None
        self._lock = lock_run(folder, is_alone=not self._is_worker) if write else None
        self._judged_by: tuple[list[str], ...] | None = None
        self._writer: Writer | None = None
        self._has_steps = False
        self.missing: Missing | None = None
        """What of its commits the run was found to lack when it was opened for writing."""
        try:
            super().__init__(folder)
        except BaseException:
            unlock_run(self._lock)
            raise
        if self._lock:
            try:
                if not self._is_worker:
                    self.missing = self._lacks(mark)
                    self._begin_writing()
                self._has_steps = self.has_begun_turns()
            except BaseException:
                self._connection.close()
                unlock_run(self._lock)
                raise
            synchronous = "FULL" if durability == "power" else "NORMAL"
            number = 0 if worker is None else worker + 1
            self._writer = Writer(self.path, synchronous=synchronous, lock=self._lock, number=number)
            if self.missing:
                self.add_event(LOST, self.missing)
            if keyed and not self._is_worker:
                self.add_turn_key()

    @classmethod
    def create(
        cls,
        folder: Path,
        facts: Mapping[str, Any],
        durability: Durability = "process",
        *,
        has_turn_key: bool = True,
    ) -> RunStore:
        """
        Make a new run in *folder*, which must not exist yet, and open it for writing.

        Without a turn key turns are found slowly, and nothing keeps one from being written twice;
        ``add_turn_key`` ends that.

        Raises:
            RunError: the folder exists or can't be made.
        """
        database.make(folder / DATABASE, facts, has_turn_key=has_turn_key)
        return cls(folder, write=True, durability=durability, keyed=has_turn_key)

    def close(self) -> None:
        """
        Commit what is queued and let go of the run.

        Raises:
            RunError: something could not be written.
        """
        try:
            if self._writer:
                if not self._is_worker:
                    with suppress(RunError):  # which closing the writer raises again
                        self.set_fact(OPEN, False)
                self._writer.close()
        finally:
            super().close()
            unlock_run(self._lock)

    def _begin_writing(self) -> None:
        """Mark a closed run as open, in the database's own file: a copy of that alone has to tell."""
        if self.fact(OPEN):
            return
        try:
            self._connection.execute("INSERT OR REPLACE INTO run VALUES (?, 'true')", [OPEN])
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.Error as error:
            raise RunError(f'"{self.path}" can\'t be written: {error}') from error

    @property
    def lock(self) -> int:
        """The descriptor of the run's lock; a worker that has it as well holds the run for as long."""
        assert self._lock is not None, "the run was opened for reading"
        return self._lock.fileno()

    @property
    def _writing(self) -> Writer:
        assert self._writer is not None, "the run was opened for reading"
        return self._writer

    def write(self, record: TurnRecord) -> asyncio.Future[None]:
        """
        Store *record*; the future is done when it is durable. Cancelling that doesn't take it back.

        Raises:
            RunError: the database can't be written; by the future where that shows later.
        """
        return self.write_row(schema.record_row(record))

    def write_row(self, row: schema.Row) -> asyncio.Future[None]:
        """Write the record that ``schema.record_row`` made *row* of, as ``write``."""
        return self.write_rows([row]) if self._has_steps else self._writing.write(row)

    def write_step(self, place: TurnPlace, number: int, asked: str, step: Step) -> asyncio.Future[None]:
        """
        Store *step*, the one of that *number* from 0 of the turn at *place*, asked as *asked*; it goes with
        the turn's record. The future is done when it is durable.

        Raises:
            RunError: the database can't be written.
        """
        self._has_steps = True
        return self._writing.write_all([], insert_step(place, number, asked, step))

    def write_rows(self, rows: list[schema.Row]) -> asyncio.Future[None]:
        """
        Store what ``schema.record_row`` made of records; the future is done when they are durable.

        Raises:
            RunError: the database can't be written.
        """
        dropped = [drop_steps(schema.row_place(row)) for row in rows] if self._has_steps else ()
        return self._writing.write_all(rows, dropped)

    def add_raw(self, reply: RawReply, *, most_bytes: int) -> None:
        """
        Keep *reply*, up to *most_bytes* of it; durable with the record that is written next.

        It came now, unless it says when.
        """
        self._writing.post(*insert_raw(reply, at=reply.asked_at or now(), most_bytes=most_bytes))

    def add_turn_key(self) -> None:
        """Make turns quick to find, where the run was created without that."""
        self._writing.post(tables.TURN_KEY, ())

    def set_tally(self, tally: StoredTally) -> None:
        """Keep *tally*, in place of an earlier one."""
        sql = "INSERT OR REPLACE INTO tally (level, system, policy, depth, data) VALUES (?, ?, ?, ?, ?)"
        self._writing.post(sql, [*tally[:4], schema.to_json(tally.data)])

    def add_drift(self, found: Iterable[tuple[TurnPlace, Drift]]) -> None:
        """Keep verdicts that came after their turns, all in one transaction."""
        self._writing.post_all(with_drift(found))

    def add_conversations(self, conversations: Sequence[Conversation], first: int = 0) -> None:
        """
        Keep *conversations*, all in one transaction, in positions from *first* on; neither another one's id
        nor its position may be the same.
        """
        self._writing.post_all([insert_conversation(*one) for one in enumerate(conversations, first)])

    def drop_conversations(self) -> None:
        """Forget all conversations, of which none may have a turn."""
        self._writing.post("DELETE FROM conversation", ())

    def forget(self, conversation: str, system: str, policy: str) -> None:
        """Put a half-played conversation aside that has to start again, since the system kept its history."""
        span = RowRange(conversation, system, policy)
        self._writing.post_all(self._supersede(span, "the system's session was gone"))

    def replace(self, record: TurnRecord, reason: str, *, and_later: bool) -> asyncio.Future[None]:
        """
        Store *record* in place of an earlier one, which is put aside in the same transaction.

        With *and_later* so are the turns after it, which leaned on the earlier answer. The future is done
        when it is durable.

        Raises:
            RunError: the database can't be written.
        """
        last = None if and_later else record.depth
        span = RowRange(record.conversation, record.system, record.policy, record.depth, last)
        return self._writing.write_all([schema.record_row(record)], self._supersede(span, reason))

    def _supersede(self, span: RowRange, reason: str) -> list[Statement]:
        if self._judged_by is None:  # nothing is scored while turns are asked
            names = (self.rows(f"SELECT DISTINCT {c} FROM {t}") for c, t in _JUDGED_IN)
            self._judged_by = tuple([name for (name,) in rows] for rows in names)
        scorers, judges = self._judged_by
        return supersede(span, at=now(), reason=reason, scorers=scorers, judges=judges)

    async def flush(self) -> None:
        """
        Wait until everything posted so far is committed.

        Raises:
            RunError: something could not be written.
        """
        await in_thread(self.settle)

    def settle(self) -> None:
        """Flush as ``flush``, for a caller that may block."""
        self._writing.flush()

    def set_fact(self, key: str, value: Any) -> None:
        self._writing.post(*_fact(key, value))

    def add_scores(self, scorer: str, scores: Iterable[StoredScore], *, anew: bool = False) -> None:
        """Keep *scores* beside those that *scorer* has; *anew* they wait to be published."""
        columns = "scorer, conversation, system, policy, depth, value, unscored"
        into = "temp.new_score" if anew else "score"
        sql = f"INSERT INTO {into} ({columns}) VALUES (?, CAST(? AS TEXT), ?, ?, ?, ?, ?)"
        for s in scores:
            value = None if s.unscored is not None else schema.to_json(s.value)
            where = (schema.to_bytes(s.conversation), s.system, s.policy, s.depth)
            self._writing.post(sql, (scorer, *where, value, s.unscored))

    def add_checks(self, checks: Iterable[CheckResult], *, anew: bool = False) -> None:
        """Keep *checks*, each in place of an earlier one; *anew* they wait to be published."""
        table = "temp.new_checked" if anew else "checked"
        for one in checks:
            self._writing.post(*insert_check(one, table))

    def add_verdict(self, verdict: StoredVerdict, *, anew: bool = False) -> None:
        """Keep *verdict* in place of an earlier one on the same turn; *anew* it waits to be published."""
        values = verdict._asdict()
        values["conversation"] = schema.to_bytes(verdict.conversation)
        values["data"] = schema.to_json(verdict.data)
        places = ", ".join("CAST(? AS TEXT)" if name == "conversation" else "?" for name in values)
        into = "temp.new_verdict" if anew else "verdict"
        sql = f"INSERT OR REPLACE INTO {into} ({', '.join(values)}) VALUES ({places})"
        self._writing.post(sql, tuple(values.values()))

    def begin_staging(self) -> None:
        """Take scores, verdicts and checks *anew*; what waited from before is dropped."""
        self._writing.post_all(BEGIN_STAGING)

    def publish_staged(
        self,
        scorers: Iterable[str],
        *,
        judge: str | None = None,
        checks: bool = False,
        facts: Mapping[str, Any],
        event: tuple[str, Any],
    ) -> None:
        """
        Put what waits in place of all that *scorers*, and *judge*, found before; and of all *checks*.

        With the *facts* and the *event* that say so, in one transaction: all of it holds, or nothing.
        """
        said = [*(_fact(key, value) for key, value in facts.items()), _event(*event)]
        self._writing.post_all([*publish_staged(scorers, judge, checks=checks), *said])

    def add_event(self, kind: str, data: Any) -> None:
        self._writing.post(*_event(kind, data))

    def drop_events(self, kind: str) -> None:
        """Forget all events of *kind*."""
        self._writing.post("DELETE FROM event WHERE kind = ?", [kind])


def _fact(key: str, value: Any) -> Statement:
    return Statement("INSERT OR REPLACE INTO run VALUES (?, ?)", [key, schema.to_json(value)])


def _event(kind: str, data: Any) -> Statement:
    return Statement(
        "INSERT INTO event (at, kind, data) VALUES (?, ?, ?)", [now(), kind, schema.to_json(data)]
    )


def now() -> str:
    """Return the current time as a run's database stores it: UTC, ISO 8601, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
