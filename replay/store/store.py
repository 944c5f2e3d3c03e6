"""
A run's database: created, opened for reading, or opened by the one process that writes it.

SQLite in WAL mode. A record is durable against a killed process once ``write`` returns; with
``durability="power"`` against a power cut too (the disk is synced at every commit).
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from replay.core.conversation import Conversation
from replay.core.errors import RunError
from replay.core.raw_reply import RawReply
from replay.core.record import TurnRecord
from replay.store import database, remaking, schema
from replay.store.completeness import OPEN, Mark, Missing, missing, read_mark
from replay.store.conversations import insert_conversation
from replay.store.lock import hold, let_go
from replay.store.outlines import SELECT_OUTLINES, outline_record
from replay.store.raw_replies import SELECT_RAW, insert_raw, raw_reply
from replay.store.stored import StoredScore, StoredTally, StoredVerdict, stored_score, stored_verdict
from replay.store.superseding import SELECT_SUPERSEDED, Span, Superseded, supersede, superseded
from replay.store.writer import Statement, Writer

Durability = Literal["process", "power"]
DATABASE = "run.db"
_IN_ORDER = (
    " JOIN conversation c ON c.id = coalesce(t.source, t.conversation)"
    " ORDER BY c.position, t.source IS NOT NULL, t.conversation, t.system, t.policy, t.depth"
)
_LOST = "turns-lost"
_JUDGED_IN = (("scorer", "score"), ("judge", "verdict"))


class RunStore:
    """Reads a run's database; a writable one also writes it. Close it when done."""

    def __init__(
        self, folder: Path, *, write: bool = False, durability: Durability = "process", keyed: bool = True
    ) -> None:
        """
        Open the run in *folder*.

        To write it, turns are made quick to find if they aren't yet (a load run that was killed), unless
        *keyed* says not to.

        Raises:
            RunError: there is no run, another process writes it, or its version is not ours.
        """
        self.folder = folder
        self.path = folder / DATABASE
        if not self.path.is_file():
            raise RunError(f'there is no run in "{folder}" (no {DATABASE}); `replay run` makes one')
        mark = read_mark(folder)
        self._lock = hold(folder) if write else None
        self._reading = threading.RLock()
        self._judged_by: tuple[list[str], ...] | None = None
        self._writer: Writer | None = None
        self.missing: Missing | None = None
        """What of its commits the run was found to lack when it was opened for writing."""
        try:
            self._connection = database.connect_checked(self.path)
        except BaseException:
            let_go(self._lock)
            raise
        if self._lock:
            try:
                self.missing = self._lacks(mark)
                self._begin_writing()
            except BaseException:
                self._connection.close()
                let_go(self._lock)
                raise
            synchronous = "FULL" if durability == "power" else "NORMAL"
            self._writer = Writer(self.path, synchronous=synchronous, lock=self._lock)
            if self.missing:
                self.add_event(_LOST, self.missing)
            if keyed:
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
                with suppress(RunError):  # which closing the writer raises again
                    self.set_fact(OPEN, False)
                self._writer.close()
        finally:
            self._connection.close()
            let_go(self._lock)

    # Reading -----------------------------------------------------------------------------------------

    def rows(self, sql: str, values: Iterable[Any] = ()) -> Iterator[Any]:
        """
        Rows of a query, a thousand at a time, so that other threads get the connection between.

        Raises:
            RunError: the database can't be read.
        """
        try:
            with self._reading:
                cursor = self._connection.execute(sql, tuple(values))
            while True:
                with self._reading:
                    rows = cursor.fetchmany(1000)
                if not rows:
                    return
                yield from rows
        except sqlite3.DatabaseError as error:
            cause = f"{error}; it is damaged, or from another version of convreplay"
            raise RunError(f'"{self.path}" can\'t be read: {cause}') from error

    def fact(self, key: str) -> Any:
        """What the run table says of *key*; None when nothing."""
        for (value,) in self.rows("SELECT value FROM run WHERE key = ?", [key]):
            return schema.from_json(value, schema.FACTS.get(key, object))
        return None

    def needed(self, key: str) -> Any:
        """
        What the run table says of *key*.

        Raises:
            RunError: nothing.
        """
        if (value := self.fact(key)) is None:
            raise RunError(f'"{self.path}" says nothing of its {key}; it is damaged, or somebody changed it')
        return value

    def metadata(self, key: str) -> list[Any]:
        """What stands under *key* in the metadata of the conversations that have it."""
        path = f'$.metadata."{key}"'
        rows = self.rows(
            # Most conversations don't have it, and searching a text is quicker than parsing it.
            "SELECT json_extract(data, ?) FROM conversation WHERE instr(data, ?) ORDER BY position",
            [path, f'"{key}"'],
        )
        return [schema.from_json(value, object) for (value,) in rows if isinstance(value, str)]

    def lost(self) -> list[Missing]:
        """What was missing of the commits whenever the run was opened for writing, and what is now."""
        now = self._lacks(read_mark(self.folder))
        return [Missing(*one) for one in self.events(_LOST)] + ([now] if now else [])

    def _lacks(self, mark: Mark | None) -> Missing | None:
        try:
            with self._reading:
                return missing(mark, self._connection, self.path)
        except sqlite3.DatabaseError as error:
            raise RunError(f'"{self.path}" can\'t be read: {error}') from error

    def _begin_writing(self) -> None:
        """Mark a closed run as open, in the database's own file: a copy of that alone has to tell."""
        if self.fact(OPEN):
            return
        try:
            self._connection.execute("INSERT OR REPLACE INTO run VALUES (?, 'true')", [OPEN])
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.Error as error:
            raise RunError(f'"{self.path}" can\'t be written: {error}') from error

    def conversation_lengths(self) -> dict[str, int]:
        """Turns of each conversation, in the order of the data."""
        return dict(self.rows("SELECT id, turns FROM conversation ORDER BY position"))

    def contents(self) -> dict[str, str]:
        """The hash of each conversation's content by its id, in the order of the data."""
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
        """The conversations, as the data set had them when the run met them, in order."""
        return (schema.from_json(data, Conversation) for data in self.conversation_texts())

    def conversation_texts(self) -> Iterator[str]:
        """The same, as the JSON that is stored."""
        for (data,) in self.rows("SELECT data FROM conversation ORDER BY position"):
            yield data

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """What is read within goes together, whatever another process writes meanwhile."""
        with self._reading:
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            with self._reading:
                self._connection.execute("COMMIT")

    def records(self) -> Iterator[TurnRecord]:
        """All records by conversation, system, policy and depth."""
        return map(schema.row_record, self.rows(schema.SELECT_RECORDS + _IN_ORDER))

    def outlines(self) -> Iterator[TurnRecord]:
        """All records in the same order, without their texts: what a table counts."""
        return map(outline_record, self.rows(SELECT_OUTLINES + _IN_ORDER))

    def records_of(self, conversation: str, system: str, policy: str) -> tuple[TurnRecord, ...]:
        """One conversation as played by one system under one policy, by depth."""
        where = " WHERE t.conversation = CAST(? AS TEXT) AND t.system = ? AND t.policy = ? ORDER BY t.depth"
        values = [schema.to_bytes(conversation), system, policy]
        return tuple(map(schema.row_record, self.rows(schema.SELECT_RECORDS + where, values)))

    def records_due(self, from_s: float, to_s: float) -> Iterator[TurnRecord]:
        """Records whose turn was due from *from_s* until before *to_s*, seconds since the engine started."""
        where = " WHERE t.scheduled_s >= ? AND t.scheduled_s < ?"
        return map(schema.row_record, self.rows(schema.SELECT_RECORDS + where, [from_s, to_s]))

    def outcomes(self) -> dict[str, int]:
        """How many turns came to which outcome, tallied ones included."""
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

    def count_records(self) -> int:
        (count,) = next(self.rows("SELECT count(*) FROM turn"))
        return int(count)

    def superseded(self) -> Iterator[Superseded]:
        """Turns as they were before they were asked again, in the order in which they gave way."""
        return map(superseded, self.rows(SELECT_SUPERSEDED))

    def count_superseded(self) -> tuple[int, int]:
        """How many turns were asked again, and how many earlier answers and failures are kept."""
        again = "SELECT 1 FROM superseded GROUP BY conversation, system, policy, depth"
        ((turns, attempts),) = self.rows(f"SELECT (SELECT count(*) FROM ({again})), count(*) FROM superseded")
        return turns, attempts

    def raw_replies(self) -> Iterator[RawReply]:
        """Replies as they came, as far as they were kept, in the order of the asks."""
        return map(raw_reply, self.rows(SELECT_RAW))

    def scores(self, scorer: str) -> Iterator[StoredScore]:
        """All observations of one scorer."""
        sql = f"SELECT {', '.join(StoredScore._fields)} FROM score WHERE scorer = ?"
        return map(stored_score, self.rows(sql, [scorer]))

    def verdicts(self, judge: str) -> Iterator[StoredVerdict]:
        """All verdicts of one judge, by conversation, system, policy and depth."""
        columns = ", ".join(f"v.{name}" for name in StoredVerdict._fields)
        order = (
            " FROM verdict v JOIN turn t USING (conversation, system, policy, depth)"
            " JOIN conversation c ON c.id = coalesce(t.source, t.conversation) WHERE v.judge = ?"
            " ORDER BY c.position, t.source IS NOT NULL, v.conversation, v.system, v.policy, v.depth"
        )
        return map(stored_verdict, self.rows(f"SELECT {columns}{order}", [judge]))

    def tallies(self) -> Iterator[StoredTally]:
        """What a load run counted without keeping it turn by turn."""
        columns = ", ".join(StoredTally._fields)
        rows = self.rows(f"SELECT {columns} FROM tally ORDER BY level, system, policy, depth")
        return (StoredTally._make([*key, schema.from_json(data, object)]) for *key, data in rows)

    def events(self, kind: str) -> list[Any]:
        """The data of all events of one kind, oldest first."""
        rows = self.rows("SELECT data FROM event WHERE kind = ? ORDER BY id", [kind])
        return [schema.from_json(data, object) for (data,) in rows]

    # Writing -----------------------------------------------------------------------------------------

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
        return self._writing.write(schema.record_row(record))

    def write_rows(self, rows: list[schema.Row]) -> asyncio.Future[None]:
        """
        Store what ``schema.record_row`` made of records; the future is done when they are durable.

        Raises:
            RunError: the database can't be written.
        """
        return self._writing.write_all(rows)

    def add_raw(self, reply: RawReply, *, most_bytes: int) -> None:
        """Keep *reply*, up to *most_bytes* of it; durable with the record that is written next."""
        self._writing.post(*insert_raw(reply, at=_now(), most_bytes=most_bytes))

    def add_turn_key(self) -> None:
        """Make turns quick to find, where the run was created without that."""
        self._writing.post(schema.TURN_KEY, ())

    def set_tally(self, tally: StoredTally) -> None:
        """Keep *tally*, in the place of an earlier one."""
        sql = "INSERT OR REPLACE INTO tally (level, system, policy, depth, data) VALUES (?, ?, ?, ?, ?)"
        self._writing.post(sql, [*tally[:4], schema.to_json(tally.data)])

    def add_conversation(self, position: int, conversation: Conversation) -> None:
        """Keep *conversation*; neither another one's id nor its position may be the same."""
        self._writing.post(*insert_conversation(position, conversation))

    def drop_conversations(self) -> None:
        """Forget all conversations, of which none may have a turn."""
        self._writing.post("DELETE FROM conversation", ())

    def forget(self, conversation: str, system: str, policy: str) -> None:
        """Put a half-played conversation aside that has to start again, since the system kept its history."""
        span = Span(conversation, system, policy)
        self._writing.post_all(self._supersede(span, "the system's session was gone"))

    def replace(self, record: TurnRecord, reason: str, *, and_later: bool) -> asyncio.Future[None]:
        """
        Store *record* in the place of an earlier one, which is put aside in the same transaction.

        With *and_later* so are the turns after it, which leaned on the earlier answer. The future is done
        when it is durable.

        Raises:
            RunError: the database can't be written.
        """
        last = None if and_later else record.depth
        span = Span(record.conversation, record.system, record.policy, record.depth, last)
        return self._writing.write_all([schema.record_row(record)], self._supersede(span, reason))

    def _supersede(self, span: Span, reason: str) -> list[Statement]:
        if self._judged_by is None:  # nothing is scored while turns are asked
            names = (self.rows(f"SELECT DISTINCT {c} FROM {t}") for c, t in _JUDGED_IN)
            self._judged_by = tuple([name for (name,) in rows] for rows in names)
        scorers, judges = self._judged_by
        return supersede(span, at=_now(), reason=reason, scorers=scorers, judges=judges)

    async def flush(self) -> None:
        """
        Wait until everything posted so far is committed.

        Raises:
            RunError: something could not be written.
        """
        await asyncio.to_thread(self.settle)

    def settle(self) -> None:
        """The same as ``flush``, for a caller that may block."""
        self._writing.flush()

    def set_fact(self, key: str, value: Any) -> None:
        self._writing.post(*_fact(key, value))

    def add_scores(self, scorer: str, scores: Iterable[StoredScore], *, anew: bool = False) -> None:
        """Keep *scores* beside those that *scorer* has; *anew* they wait for ``switch``."""
        columns = "scorer, conversation, system, policy, depth, value, unscored"
        into = "temp.new_score" if anew else "score"
        sql = f"INSERT INTO {into} ({columns}) VALUES (?, CAST(? AS TEXT), ?, ?, ?, ?, ?)"
        for s in scores:
            value = None if s.unscored is not None else schema.to_json(s.value)
            where = (schema.to_bytes(s.conversation), s.system, s.policy, s.depth)
            self._writing.post(sql, (scorer, *where, value, s.unscored))

    def add_verdict(self, verdict: StoredVerdict, *, anew: bool = False) -> None:
        """Keep *verdict*, in the place of an earlier one on the same turn; *anew* it waits for ``switch``."""
        values = verdict._asdict()
        values["conversation"] = schema.to_bytes(verdict.conversation)
        values["data"] = schema.to_json(verdict.data)
        places = ", ".join("CAST(? AS TEXT)" if name == "conversation" else "?" for name in values)
        into = "temp.new_verdict" if anew else "verdict"
        sql = f"INSERT OR REPLACE INTO {into} ({', '.join(values)}) VALUES ({places})"
        self._writing.post(sql, tuple(values.values()))

    def begin_anew(self) -> None:
        """Take scores and verdicts *anew*; what waited from before is dropped."""
        self._writing.post_all(remaking.BEGIN)

    def switch(
        self,
        scorers: Iterable[str],
        *,
        judge: str | None = None,
        facts: Mapping[str, Any],
        event: tuple[str, Any],
    ) -> None:
        """
        Put what waits in the place of all that *scorers*, and *judge*, found before.

        With the *facts* and the *event* that say so, in one transaction: all of it holds, or nothing.
        """
        said = [*(_fact(key, value) for key, value in facts.items()), _event(*event)]
        self._writing.post_all([*remaking.switch(scorers, judge), *said])

    def add_event(self, kind: str, data: Any) -> None:
        self._writing.post(*_event(kind, data))

    def drop_events(self, kind: str) -> None:
        """Forget all events of *kind*."""
        self._writing.post("DELETE FROM event WHERE kind = ?", [kind])


def _fact(key: str, value: Any) -> Statement:
    return Statement("INSERT OR REPLACE INTO run VALUES (?, ?)", [key, schema.to_json(value)])


def _event(kind: str, data: Any) -> Statement:
    return Statement(
        "INSERT INTO event (at, kind, data) VALUES (?, ?, ?)", [_now(), kind, schema.to_json(data)]
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
