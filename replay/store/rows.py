"""
What a run's database holds beside records, as rows: scores, verdicts, tallies, checks, conversations, replies
as they came, and turns under way.

A run's conversations are stored before anything is asked, each with a hash of its content.

By the hash a conversation is known again where the data around it changed. Readers call a log without an id
by its line, so that a line put before it gives every later one another name.

Replies as they came, kept compressed beside the turns where a scenario asks for it (``play: keep_raw``).

Apart from the turns, since a report reads all of those and never these. An ask's reply is posted before its
record, so that a durable record has its reply. Keys are hidden as in answers; what is longer than the
scenario's limit is cut, and the row says by how much.

Turns under way whose system calls tools: each step is a row until the turn has its record.

So that a run that is killed within a loop asks nothing again that was answered.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from replay.core.adapter import RawReply
from replay.core.conversation import Conversation
from replay.core.drift_evidence import Drift
from replay.core.errors import RunError
from replay.core.expectation import CheckResult
from replay.core.record import Step, TurnPlace, UnfinishedTurn
from replay.core.safety.redaction import redact_pieces
from replay.store import schema
from replay.store.schema import from_json, to_bytes, to_json
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
    return StoredScore._make([*key, None if value is None else schema.from_json(value, object), unscored])


def stored_verdict(row: Sequence[Any]) -> StoredVerdict:
    """Return the verdict in a row with the verdict's columns."""
    *key, data = row
    return StoredVerdict._make([*key, schema.from_json(data, object)])


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
    texts = {name: None if values[name] is None else schema.to_bytes(values[name]) for name in _TEXTS}
    places = ", ".join("CAST(? AS TEXT)" if name in _TEXTS else "?" for name in _CHECK_COLUMNS)
    sql = f"INSERT OR REPLACE INTO {table} ({', '.join(_CHECK_COLUMNS)}) VALUES ({places})"
    return Statement(sql, tuple({**values, **texts, "value": schema.to_json(check.value)}.values()))


def check_result(row: Sequence[Any]) -> CheckResult:
    """Return the check result in a row of ``SELECT_CHECKS``."""
    values = dict(zip((*_CHECK_COLUMNS, *_OF_ITS_TURN), row, strict=True))
    values["value"] = schema.from_json(values["value"], object)
    values["at_end"] = bool(values["at_end"])
    if values["passed"] is not None:
        values["passed"] = bool(values["passed"])
    if values["drift"] is not None:
        values["drift"] = schema.from_json(values["drift"], Drift)
    return CheckResult(**values)


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
    return RawReply(**{**values, "data": _inflated(values["data"])})


def _inflated(data: Any) -> bytes:
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
