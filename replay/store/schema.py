"""
The tables of a run's database, and how records become rows and come back.

Scalars are plain columns and everything nested is JSON text, so that any SQLite tool can read a run.
Text may hold lone surrogates (a server can send them as JSON escapes): they are written as the three
bytes that UTF-8 would give them and come back unchanged.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, TypeVar, cast

import msgspec

from replay.conversation import Conversation, Passage
from replay.evidence import Drift
from replay.record import Edit, Outcome, Timing, TurnRecord, Usage

T = TypeVar("T")

VERSION = 1
"""Kept in ``PRAGMA user_version``; raised with every change of a table."""

TABLES = """
CREATE TABLE run (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL              -- JSON
) STRICT;
CREATE TABLE conversation (
    position INTEGER PRIMARY KEY,    -- order in the data, from 0
    id TEXT NOT NULL UNIQUE,
    turns INTEGER NOT NULL,
    data TEXT NOT NULL               -- JSON, the whole conversation
) STRICT;
CREATE TABLE turn (
    system TEXT NOT NULL,
    policy TEXT NOT NULL,
    conversation TEXT NOT NULL,
    depth INTEGER NOT NULL,          -- 1 for the first turn
    turn TEXT NOT NULL,              -- its id in the data
    recorded TEXT NOT NULL,          -- question as recorded
    asked TEXT NOT NULL,             -- question as asked
    edit TEXT NOT NULL,
    edit_note TEXT,                  -- why a rewriting failed
    outcome TEXT NOT NULL,
    answer TEXT,
    error TEXT,
    attempts INTEGER NOT NULL,
    valid INTEGER,                   -- 1 or 0; NULL without a drift verdict
    drift TEXT,                      -- JSON, the evidence
    gold_answers TEXT NOT NULL,      -- JSON list
    gold_passages TEXT NOT NULL,     -- JSON list
    passages TEXT NOT NULL,          -- JSON list, as retrieved
    usage TEXT,                      -- JSON
    cost_usd REAL,
    timing TEXT,                     -- JSON, seconds since the engine started
    UNIQUE (conversation, system, policy, depth)
) STRICT;
CREATE TABLE score (
    scorer TEXT NOT NULL,
    system TEXT NOT NULL,
    policy TEXT NOT NULL,
    conversation TEXT NOT NULL,
    depth INTEGER NOT NULL,
    value TEXT,                      -- JSON observation; NULL when unscored
    unscored TEXT,                   -- the reason; NULL when scored
    PRIMARY KEY (scorer, system, policy, conversation, depth)
) STRICT, WITHOUT ROWID;
CREATE TABLE verdict (
    judge TEXT NOT NULL,             -- its name in the scenario
    system TEXT NOT NULL,
    policy TEXT NOT NULL,
    conversation TEXT NOT NULL,
    depth INTEGER NOT NULL,          -- the judged turn; the last one of a judged conversation
    asks INTEGER NOT NULL,           -- replies that were asked for, and failed asks
    cached INTEGER NOT NULL,         -- replies that the cache gave
    cost_usd REAL,
    data TEXT NOT NULL,              -- JSON: values, votes, prompts, raw replies, how they were read
    PRIMARY KEY (judge, system, policy, conversation, depth)
) STRICT, WITHOUT ROWID;
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,                -- UTC, ISO 8601
    kind TEXT NOT NULL,
    data TEXT NOT NULL               -- JSON
) STRICT;
"""

_STORED_AS_THEY_ARE = ("system", "policy", "depth", "edit", "outcome", "attempts", "cost_usd")
_STORED_AS_JSON = ("drift", "gold_answers", "gold_passages", "passages", "usage", "timing")
# Text goes in as bytes and is cast, since sqlite3 refuses a str with lone surrogates.
_STORED_AS_BYTES = ("conversation", "turn", "recorded", "asked", "edit_note", "answer", "error")
RECORD_COLUMNS = (*_STORED_AS_THEY_ARE, *_STORED_AS_BYTES, *_STORED_AS_JSON, "valid")
_PLACES = ", ".join("CAST(? AS TEXT)" if c in _STORED_AS_BYTES else "?" for c in RECORD_COLUMNS)
INSERT_RECORD = f"INSERT INTO turn ({', '.join(RECORD_COLUMNS)}) VALUES ({_PLACES})"
SELECT_RECORDS = f"SELECT {', '.join('t.' + c for c in RECORD_COLUMNS)} FROM turn t"


def to_bytes(text: str) -> bytes:
    """UTF-8, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


def to_text(stored: bytes) -> str:
    """Inverse of ``to_bytes``; the connection's ``text_factory``."""
    return stored.decode("utf-8", "surrogatepass")


def to_json(value: Any) -> str:
    """JSON text of a dataclass, list or plain value."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # a lone surrogate, which only the escaping encoder can write
        return json.dumps(msgspec.to_builtins(value))


def from_json(text: str, kind: type[T]) -> T:
    """Inverse of ``to_json``."""
    try:
        return msgspec.json.decode(to_bytes(text), type=kind)
    except msgspec.DecodeError:
        return msgspec.convert(json.loads(text), kind)


def record_row(record: TurnRecord) -> tuple[Any, ...]:
    """Values for ``INSERT_RECORD``."""
    texts = [getattr(record, column) for column in _STORED_AS_BYTES]
    nested = [getattr(record, column) for column in _STORED_AS_JSON]
    return (
        *(getattr(record, column) for column in _STORED_AS_THEY_ARE),
        *(None if text is None else to_bytes(text) for text in texts),
        *(None if value is None else to_json(value) for value in nested),
        None if record.drift is None else int(record.drift.valid),
    )


def row_record(row: Sequence[Any]) -> TurnRecord:
    """The record of a row from ``SELECT_RECORDS``."""
    v = dict(zip(RECORD_COLUMNS, row, strict=True))
    return TurnRecord(
        system=v["system"],
        policy=v["policy"],
        conversation=v["conversation"],
        depth=v["depth"],
        turn=v["turn"],
        recorded=v["recorded"],
        asked=v["asked"],
        edit=cast(Edit, v["edit"]),
        edit_note=v["edit_note"],
        drift=None if v["drift"] is None else from_json(v["drift"], Drift),
        outcome=cast(Outcome, v["outcome"]),
        answer=v["answer"],
        error=v["error"],
        gold_answers=from_json(v["gold_answers"], tuple[str, ...]),
        gold_passages=from_json(v["gold_passages"], tuple[str, ...]),
        passages=from_json(v["passages"], tuple[Passage, ...]),
        usage=None if v["usage"] is None else from_json(v["usage"], Usage),
        cost_usd=v["cost_usd"],
        attempts=v["attempts"],
        timing=None if v["timing"] is None else from_json(v["timing"], Timing),
    )


def conversation_row(position: int, conversation: Conversation) -> tuple[Any, ...]:
    """Values for the four columns of ``conversation``."""
    return position, to_bytes(conversation.id), len(conversation.turns), to_json(conversation)


def connect(path: str) -> sqlite3.Connection:
    """A connection that any one thread at a time may use."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30.0)
    connection.text_factory = to_text
    return connection
