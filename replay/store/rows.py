"""
What a run's database holds beside records, as rows: scores, verdicts, tallies, checks, conversations, replies
as they came, turns under way, turns that were asked again, and verdicts on drift that come after their turns.

A run's conversations are stored before anything is asked, each with a hash of its content.

By the hash a conversation is known again where the data around it changed. Readers call a log without an id
by its line, so that a line put before it gives every later one another name.

Replies as they came, kept compressed beside the turns where a scenario asks for it (``play: keep_raw``).

Apart from the turns, since a report reads all of those and never these. An ask's reply is posted before its
record, so that a durable record has its reply. Keys are hidden as in answers; what is longer than the
scenario's limit is cut, and the row says by how much.

Turns under way whose system calls tools: each step is a row until the turn has its record.

So that a run that is killed within a loop asks nothing again that was answered.

Turns that are asked again move to the table ``superseded``, and what was found out about their answers goes.
The statements belong into one transaction with the new record, so that a run that is killed there has the old
turn or the new one, never both and never none.

Scores, verdicts and checks that are made again stay beside the earlier ones until they are complete, then
take their place in one transaction: a program that is killed, or a disk that is full, half-way leaves the
earlier ones. They wait in temporary tables of the writer's connection, which go with it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from replay.core.adapter import RawReply
from replay.core.conversation import Conversation
from replay.core.drift_evidence import Drift
from replay.core.errors import RunError
from replay.core.expectation import CheckResult
from replay.core.record import Step, TurnPlace, TurnRecord, UnfinishedTurn
from replay.core.safety.redaction import redact_pieces
from replay.store.schema import RECORD_COLUMNS, from_json, row_record, to_bytes, to_json
from replay.store.writer import Statement


class StoredScore(NamedTuple):
    """One turn's observation, or why there is none."""

    conversation: str
    system: str
    policy: str
    depth: int
    value: Any
    unscored: str | None


class StoredVerdict(NamedTuple):
    """A judge's verdict on one turn, or on the conversation that ends with it."""

    judge: str
    conversation: str
    system: str
    policy: str
    depth: int
    asks: int
    cached: int
    cost_usd: float | None
    data: Any
    """``values`` by column, ``repeats`` with their votes, and the texts of the ``prompts`` by hash."""


class StoredTally(NamedTuple):
    """Turns of a load run that were counted, not kept one by one."""

    level: int
    system: str
    policy: str
    depth: int
    data: Any
    """``turns``, ``outcomes`` by name, and the encoded histograms ``latency``, ``response``, ``ttft``."""


def stored_score(row: Sequence[Any]) -> StoredScore:
    """Return the score in a row with the score's columns."""
    *key, value, unscored = row
    return StoredScore._make([*key, None if value is None else from_json(value, object), unscored])


def stored_verdict(row: Sequence[Any]) -> StoredVerdict:
    """Return the verdict in a row with the verdict's columns."""
    *key, data = row
    return StoredVerdict._make([*key, from_json(data, object)])


_OF_ITS_TURN = ("asked", "answer", "drift")
_CHECK_COLUMNS = tuple(name for name in CheckResult.__struct_fields__ if name not in _OF_ITS_TURN)
_TEXTS = ("conversation", "called", "reason", "evidence")
"""The columns that may hold lone surrogates."""
SELECT_CHECKS = f"""\
SELECT {", ".join(f"k.{name}" for name in _CHECK_COLUMNS)}, {", ".join(f"t.{name}" for name in _OF_ITS_TURN)}
FROM checked k LEFT JOIN turn t ON t.conversation = k.conversation AND t.system = k.system
    AND t.policy = k.policy AND t.depth = k.depth """
CHECKS_IN_ORDER = """\
 LEFT JOIN (SELECT DISTINCT conversation, source, repeat FROM turn) p ON p.conversation = k.conversation
LEFT JOIN conversation c ON c.id = coalesce(p.source, k.conversation)
ORDER BY c.position, p.repeat, k.conversation, k.system, k.policy, k.depth, k.at_end, k.position"""
"""Turns that were never reached have checks as well, so the table of turns alone can't say the order."""


def insert_check(check: CheckResult, table: str) -> Statement:
    """Return the statement that stores *check* in *table*, in place of an earlier one."""
    values = {name: getattr(check, name) for name in _CHECK_COLUMNS}
    texts = {name: None if values[name] is None else to_bytes(values[name]) for name in _TEXTS}
    places = ", ".join("CAST(? AS TEXT)" if name in _TEXTS else "?" for name in _CHECK_COLUMNS)
    sql = f"INSERT OR REPLACE INTO {table} ({', '.join(_CHECK_COLUMNS)}) VALUES ({places})"
    return Statement(sql, tuple({**values, **texts, "value": to_json(check.value)}.values()))


def check_result(row: Sequence[Any]) -> CheckResult:
    """Return the check result in a row of ``SELECT_CHECKS``."""
    values = dict(zip((*_CHECK_COLUMNS, *_OF_ITS_TURN), row, strict=True))
    values["value"] = from_json(values["value"], object)
    values["at_end"] = bool(values["at_end"])
    if values["passed"] is not None:
        values["passed"] = bool(values["passed"])
    if values["drift"] is not None:
        values["drift"] = from_json(values["drift"], Drift)
    return CheckResult(**values)


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
                to_json(drift),
                None if drift.valid is None else int(drift.valid),
                to_bytes(conversation),
                *rest,
            ),
        )
        for (conversation, *rest), drift in found
    ]


def insert_conversation(position: int, conversation: Conversation) -> Statement:
    """Return the statement that keeps *conversation* at *position*, which no other has."""
    return Statement(
        "INSERT INTO conversation (position, id, turns, content, data) VALUES (?, CAST(? AS TEXT), ?, ?, ?)",
        (
            position,
            to_bytes(conversation.id),
            # After the most turns that a goal allows its user is asked once more; that is none.
            len(conversation.turns) - (conversation.goal is not None),
            content_hash(conversation),
            to_json(conversation),
        ),
    )


def content_hash(conversation: Conversation) -> str:
    """Return 32 hexadecimal digits over all but the conversation's id and ids that begin with it."""
    return blake2b(to_bytes(to_json(rename_conversation(conversation, ""))), digest_size=16).hexdigest()


def rename_conversation(conversation: Conversation, name: str) -> Conversation:
    """Return *conversation* with the id *name*, and ids that begin with its own changed likewise."""
    own = conversation.id

    def new(id: str) -> str:
        return name + id[len(own) :] if id.startswith(own) else id

    return msgspec.structs.replace(
        conversation,
        id=name,
        turns=tuple(
            msgspec.structs.replace(
                turn,
                id=new(turn.id),
                gold_passages=tuple(map(new, turn.gold_passages)),
                evidence=tuple(map(new, turn.evidence)),
            )
            for turn in conversation.turns
        ),
        passages=tuple(replace(passage, id=new(passage.id)) for passage in conversation.passages),
    )


_RAW_COLUMNS = (
    *("asked_at", "conversation", "system", "policy", "depth", "attempt", "outcome"),
    *("size_bytes", "cut_bytes", "data"),
)
LARGEST_BYTES = 500_000_000
"""Of a reply that is kept: more than a scenario can ask for."""
SELECT_RAW = f"SELECT {', '.join(_RAW_COLUMNS)} FROM raw ORDER BY rowid"
_INSERT_RAW = (
    f"INSERT INTO raw ({', '.join(_RAW_COLUMNS)})"
    " VALUES (?, CAST(? AS TEXT), ?, ?, ?, ?, ?, ?, ?, deflated(?))"
)


def insert_raw(reply: RawReply, *, at: str, most_bytes: int) -> Statement:
    """Return the statement that keeps *reply*, up to *most_bytes* of it."""
    # Hidden before it is cut, so that no half of a key is left at the end.
    text = reply.data.decode("utf-8", "surrogateescape")
    data = redact_pieces(text).encode("utf-8", "surrogateescape")
    kept = data[:most_bytes]
    where = (to_bytes(reply.conversation), reply.system, reply.policy, reply.depth, reply.attempt)
    return Statement(_INSERT_RAW, (at, *where, reply.outcome, len(reply.data), len(data) - len(kept), kept))


def raw_reply(row: tuple[Any, ...]) -> RawReply:
    """Return the raw reply in a row of ``SELECT_RAW``."""
    values = dict(zip(_RAW_COLUMNS, row, strict=True))
    del values["size_bytes"]
    return RawReply(**{**values, "data": _inflate(values["data"])})


def _inflate(data: Any) -> bytes:
    """
    Return the bytes that ``deflated`` compressed to *data*.

    Raises:
        RunError: *data* is damaged, or decompresses to more than ``LARGEST_BYTES``.
    """
    inflating = zlib.decompressobj()
    try:
        reply = inflating.decompress(data, LARGEST_BYTES + 1)
    except (zlib.error, TypeError) as error:
        raise RunError(
            f"a reply that the run keeps can't be read: {error}; the database is damaged"
        ) from error
    if not inflating.eof or len(reply) > LARGEST_BYTES:
        raise RunError(
            "a reply that the run keeps is cut, or larger than any can be; the database is damaged"
        )
    return reply


_OF_TURN = "conversation = CAST(? AS TEXT) AND system = ? AND policy = ? AND depth = ?"
SELECT_STEPS = f"SELECT asked, data FROM step WHERE {_OF_TURN} ORDER BY number"


def insert_step(place: TurnPlace, number: int, asked: str, step: Step) -> list[Statement]:
    """Return the statements that store *step*, *number* from 0, of the turn at *place*."""
    columns = "conversation, system, policy, depth, number, asked, data"
    sql = f"INSERT INTO step ({columns}) VALUES (CAST(? AS TEXT), ?, ?, ?, ?, CAST(? AS TEXT), ?)"
    inserted = Statement(sql, (*place_values(place), number, to_bytes(asked), to_json(step)))
    # What is there before the first one was behind a question that is put another way now.
    return [inserted] if number else [drop_steps(place), inserted]


def drop_steps(place: TurnPlace) -> Statement:
    """Return the statement that forgets the steps of the turn at *place*."""
    return Statement(f"DELETE FROM step WHERE {_OF_TURN}", place_values(place))


def place_values(place: TurnPlace) -> tuple[Any, ...]:
    """Return the values for the placeholders of a WHERE clause."""
    conversation, *rest = place
    return to_bytes(conversation), *rest


def unfinished_turn(rows: Sequence[tuple[str, str]]) -> UnfinishedTurn | None:
    """Return the unfinished turn in rows of ``SELECT_STEPS``; None if there are none."""
    if not rows:
        return None
    return UnfinishedTurn(asked=rows[0][0], steps=tuple(from_json(data, Step) for _, data in rows))


_TURN_COLUMNS = ", ".join(RECORD_COLUMNS)
_IN_RANGE = "conversation = CAST(? AS TEXT) AND system = ? AND policy = ? AND depth BETWEEN ? AND ?"
_LAST_DEPTH = 2**62
SELECT_SUPERSEDED = f"SELECT superseded_at, reason, {_TURN_COLUMNS} FROM superseded ORDER BY rowid"


class RowRange(NamedTuple):
    """Some turns of one conversation as played by one system under one policy."""

    conversation: str
    system: str
    policy: str
    first: int = 1
    last: int | None = None
    """Depths from ``first`` to ``last``, both included; None to the conversation's end."""

    def values(self, *, to_end: bool = False) -> tuple[Any, ...]:
        """Return the values for the placeholders of the WHERE clause."""
        last = _LAST_DEPTH if to_end or self.last is None else self.last
        return to_bytes(self.conversation), self.system, self.policy, self.first, last


class SupersededTurn(NamedTuple):
    """A turn as it was before it was asked again."""

    at: str
    """UTC, ISO 8601."""
    reason: str
    record: TurnRecord


def supersede(
    span: RowRange, *, at: str, reason: str, scorers: Iterable[str], judges: Iterable[str]
) -> list[Statement]:
    """
    Return the statements that put aside the turns in *span*; it may hold none.

    *scorers* and *judges* are the names in the tables of scores and verdicts. What they, and checks, found
    in later turns of the conversation and at its end goes as well: a judge may have seen the answers before.
    """
    later = span.values(to_end=True)
    target = f"INSERT INTO superseded (superseded_at, reason, {_TURN_COLUMNS})"
    moved = f"{target} SELECT ?, ?, {_TURN_COLUMNS} FROM turn"
    return [
        Statement(f"{moved} WHERE {_IN_RANGE} ORDER BY depth", (at, reason, *span.values())),
        Statement(f"DELETE FROM turn WHERE {_IN_RANGE}", span.values()),
        Statement(f"DELETE FROM ending WHERE {_IN_RANGE}", later),
        Statement(f"DELETE FROM checked WHERE {_IN_RANGE}", later),
        Statement(f"DELETE FROM step WHERE {_IN_RANGE}", span.values()),
        *(
            Statement(f"DELETE FROM score WHERE scorer = ? AND {_IN_RANGE}", (name, *later))
            for name in scorers
        ),
        *(
            Statement(f"DELETE FROM verdict WHERE judge = ? AND {_IN_RANGE}", (name, *later))
            for name in judges
        ),
    ]


def superseded_turn(row: tuple[Any, ...]) -> SupersededTurn:
    """Return the superseded turn in a row of ``SELECT_SUPERSEDED``."""
    at, reason, *record = row
    return SupersededTurn(at, reason, row_record(record))


BEGIN_STAGING = tuple(
    Statement(sql, ())
    for table in ("score", "verdict", "checked")
    for sql in (
        f"DROP TABLE IF EXISTS temp.new_{table}",
        f"CREATE TEMP TABLE new_{table} AS SELECT * FROM {table} WHERE 0",
    )
)


def publish_staged(scorers: Iterable[str], judge: str | None, *, checks: bool) -> Iterator[Statement]:
    """Yield statements that replace the results of *scorers*, *judge* and *checks* by the staged ones."""
    for scorer in scorers:
        yield Statement("DELETE FROM score WHERE scorer = ?", [scorer])
    yield Statement("DELETE FROM verdict WHERE judge = ?", [judge])
    if checks:
        yield Statement("DELETE FROM checked", ())
    for table in ("score", "verdict", "checked"):
        yield Statement(f"INSERT OR REPLACE INTO main.{table} SELECT * FROM temp.new_{table}", ())
        yield Statement(f"DROP TABLE temp.new_{table}", ())
