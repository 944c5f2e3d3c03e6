"""
The tables of a run's database, and how records become rows and come back.

Scalars are plain columns and everything nested is JSON text, so that any SQLite tool can read a run.
Text may hold lone surrogates (a server can send them as JSON escapes): they are written as the three
bytes that UTF-8 would give them and come back unchanged.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypedDict, TypeVar

import msgspec

from replay.core.conversation import Passage
from replay.core.drift_evidence import Drift
from replay.core.errors import RunError
from replay.core.expectation import Expectation
from replay.core.message import Message
from replay.core.record import Timing, TurnRecord, Usage

T = TypeVar("T")


class ScenarioFact(TypedDict):
    """The scenario as it was when the run began."""

    text: str
    source: str
    folder: str


FACTS: Mapping[str, Any] = {
    "scenario": ScenarioFact,
    "name": str,
    "seed": int,
    "version": str,
    "systems": list[str],
    "policies": dict[str, str],
    "histories": dict[str, dict[str, str]],
    "tools": dict[str, str],
}
"""What a run says of itself from its beginning, by key: each fact that more than one place reads."""

VERSION = 3
"""Kept in ``PRAGMA user_version``; raised with every change of a table."""

_TURN_COLUMNS = """\
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
    asks INTEGER NOT NULL,           -- attempts without retries
    valid INTEGER,                   -- 1 or 0; NULL without a drift verdict
    drift TEXT,                      -- JSON, the evidence
    gold_answers TEXT NOT NULL,      -- JSON list
    gold_passages TEXT NOT NULL,     -- JSON list
    passages TEXT NOT NULL,          -- JSON list, as retrieved
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    cached_prompt_tokens INTEGER,    -- those of the prompt that came from the system's cache
    cost_usd REAL,
    scheduled_s REAL,                -- seconds since the engine started; NULL when skipped
    sent_s REAL,
    first_byte_s REAL,
    first_token_s REAL,
    done_s REAL,
    token_gaps_100us TEXT,           -- JSON list; NULL unless streamed
    source TEXT,                     -- the conversation's id in the data, where it is played once more
    partial TEXT,                    -- what had come of an answer that was cut off
    steps TEXT NOT NULL,             -- JSON list: calls of tools and their results before the answer
    step_times_s TEXT NOT NULL,      -- JSON list: begin and end of each, and of the last ask, since sent_s
    expect TEXT NOT NULL,            -- JSON list: what the data expects of the turn
    repeat INTEGER NOT NULL,         -- which play of the conversation, from 1
    cached INTEGER NOT NULL,         -- 1 where the answer came from a cache
    history_cut TEXT                 -- what of the history was not shown"""

TABLES = f"""
CREATE TABLE run (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL              -- JSON
) STRICT;
CREATE TABLE conversation (
    position INTEGER PRIMARY KEY,    -- order in which the data gave it, from 0
    id TEXT NOT NULL UNIQUE,
    turns INTEGER NOT NULL,
    content TEXT NOT NULL,           -- hash of all but its ids
    data TEXT NOT NULL               -- JSON, the whole conversation
) STRICT;
CREATE TABLE turn (
{_TURN_COLUMNS}
) STRICT;
CREATE TABLE superseded (            -- turns as they were before they were asked again
    superseded_at TEXT NOT NULL,     -- UTC, ISO 8601
    reason TEXT NOT NULL,
{_TURN_COLUMNS}
) STRICT;
CREATE TABLE step (                  -- of turns under way: what came since the question
    system TEXT NOT NULL,
    policy TEXT NOT NULL,
    conversation TEXT NOT NULL,
    depth INTEGER NOT NULL,
    number INTEGER NOT NULL,         -- from 0
    asked TEXT NOT NULL,             -- the question as asked
    data TEXT NOT NULL,              -- JSON: the message, and what it took
    PRIMARY KEY (system, policy, conversation, depth, number)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE checked (               -- what became of each check that the data makes
    system TEXT NOT NULL,
    policy TEXT NOT NULL,
    conversation TEXT NOT NULL,
    depth INTEGER NOT NULL,          -- the turn's; the last one's of the data for a conversation's end
    at_end INTEGER NOT NULL,         -- 1 for a check of the whole conversation
    position INTEGER NOT NULL,       -- among its turn's, or its conversation's, from 0
    kind TEXT NOT NULL,
    called TEXT,                     -- the column that it counts in beside its kind's
    value TEXT NOT NULL,             -- JSON, what was expected
    passed INTEGER,                  -- 1 or 0; NULL where it could not be looked at
    reason TEXT,                     -- why not
    evidence TEXT,                   -- what was found, in words
    PRIMARY KEY (system, policy, conversation, depth, at_end, position)
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
CREATE TABLE tally (                 -- of a load run: turns that were not kept one by one
    level INTEGER NOT NULL,          -- from 0
    system TEXT NOT NULL,
    policy TEXT NOT NULL,
    depth INTEGER NOT NULL,
    data TEXT NOT NULL,              -- JSON: turns, outcomes, histograms
    PRIMARY KEY (level, system, policy, depth)
) STRICT;
CREATE TABLE raw (                   -- replies as they came, where they are kept
    asked_at TEXT NOT NULL,          -- UTC, ISO 8601
    conversation TEXT NOT NULL,
    system TEXT NOT NULL,
    policy TEXT NOT NULL,
    depth INTEGER NOT NULL,
    attempt INTEGER NOT NULL,        -- from 1
    outcome TEXT NOT NULL,           -- of this attempt
    size_bytes INTEGER NOT NULL,     -- as it came
    cut_bytes INTEGER NOT NULL,      -- left out at its end
    data BLOB NOT NULL               -- zlib
) STRICT;
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,                -- UTC, ISO 8601
    kind TEXT NOT NULL,
    data TEXT NOT NULL               -- JSON
) STRICT;
"""

Row = tuple[Any, ...]
"""A record's values, one for each of ``RECORD_COLUMNS``."""

TURN_KEY = "CREATE UNIQUE INDEX IF NOT EXISTS turn_key ON turn (conversation, system, policy, depth)"
"""A load run gets it at its end: kept up to date turn by turn it costs as much as the turns do."""

_TEXTS = ("conversation", "turn", "recorded", "asked", "edit_note", "answer", "error", "source", "partial")
_LISTS = ("gold_answers", "gold_passages", "passages", "steps", "step_times_s", "expect")
_TOKENS = ("prompt_tokens", "completion_tokens", "cached_prompt_tokens")
_TIMES = ("scheduled_s", "sent_s", "first_byte_s", "first_token_s", "done_s")
RECORD_COLUMNS = (
    *_TEXTS,
    *("system", "policy", "depth", "edit", "outcome", "attempts", "asks", "cost_usd", "drift", "valid"),
    *_LISTS,
    *_TOKENS,
    *_TIMES,
    *("token_gaps_100us", "repeat", "cached", "history_cut"),
)
_INSERT = f"INSERT INTO turn ({', '.join(RECORD_COLUMNS)}) VALUES"
_INSERT_TEXTS = f"{_INSERT} ({', '.join('?' for _ in RECORD_COLUMNS)})"
_INSERT_BYTES = f"{_INSERT} ({', '.join('CAST(? AS TEXT)' if c in _TEXTS else '?' for c in RECORD_COLUMNS)})"
SELECT_RECORDS = f"SELECT {', '.join('t.' + c for c in RECORD_COLUMNS)} FROM turn t"
_NOTHING = "[]"
_Times = tuple[tuple[float, float], ...]


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
    """
    Inverse of ``to_json``.

    Raises:
        RunError: *text* is no JSON of that *kind*.
    """
    try:
        try:
            return msgspec.json.decode(to_bytes(text), type=kind)
        except msgspec.DecodeError:
            return msgspec.convert(json.loads(text, parse_constant=_refuse), kind)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise RunError(
            f"what the run's database holds can't be read: {text!r:.100}: {error}; it is damaged, or "
            "somebody has changed it"
        ) from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def insert_records(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """
    Insert *rows*, in one statement's executions.

    Raises:
        sqlite3.Error: they can't be; nothing is undone here, so run it in a transaction.
    """
    before = connection.total_changes
    try:
        connection.executemany(_INSERT_TEXTS, rows)
    except UnicodeEncodeError:
        # sqlite3 refuses a str with lone surrogates. Bytes cast to text cost half as much again, so
        # they are the exception, from the refused row on.
        inserted = connection.total_changes - before
        connection.executemany(_INSERT_BYTES, map(_with_bytes, rows[inserted:]))


def _with_bytes(row: Row) -> Row:
    texts = (None if text is None else to_bytes(text) for text in row[: len(_TEXTS)])
    return (*texts, *row[len(_TEXTS) :])


def record_row(record: TurnRecord) -> Row:
    """The record's values for ``insert_records``. Under load this runs for every turn, so it is spelt out."""
    drift, usage, timing = record.drift, record.usage, record.timing
    return (
        record.conversation,
        record.turn,
        record.recorded,
        record.asked,
        record.edit_note,
        record.answer,
        record.error,
        record.source,
        record.partial,
        record.system,
        record.policy,
        record.depth,
        record.edit,
        record.outcome,
        record.attempts,
        record.asks,
        record.cost_usd,
        None if drift is None else to_json(drift),
        None if drift is None or drift.valid is None else int(drift.valid),
        to_json(record.gold_answers) if record.gold_answers else _NOTHING,
        to_json(record.gold_passages) if record.gold_passages else _NOTHING,
        to_json(record.passages) if record.passages else _NOTHING,
        to_json(record.steps) if record.steps else _NOTHING,
        to_json(record.step_times_s) if record.step_times_s else _NOTHING,
        to_json(record.expect) if record.expect else _NOTHING,
        None if usage is None else usage.prompt_tokens,
        None if usage is None else usage.completion_tokens,
        None if usage is None else usage.cached_prompt_tokens,
        None if timing is None else timing.scheduled_s,
        None if timing is None else timing.sent_s,
        None if timing is None else timing.first_byte_s,
        None if timing is None else timing.first_token_s,
        None if timing is None else timing.done_s,
        to_json(timing.token_gaps_100us) if timing and timing.token_gaps_100us else None,
        record.repeat,
        int(record.cached),
        record.history_cut,
    )


def row_record(row: Sequence[Any]) -> TurnRecord:
    """The record of a row from ``SELECT_RECORDS``."""
    v = dict(zip(RECORD_COLUMNS, row, strict=True))
    tokens = {name: v.pop(name) for name in _TOKENS}
    times = {name: v.pop(name) for name in _TIMES}
    drift, gaps, _ = v.pop("drift"), v.pop("token_gaps_100us"), v.pop("valid")
    gold_answers, gold_passages, passages, steps, step_times_s, expect = (v.pop(name) for name in _LISTS)
    return TurnRecord(
        **{**v, "cached": bool(v["cached"])},
        drift=None if drift is None else from_json(drift, Drift),
        gold_answers=_texts(gold_answers),
        gold_passages=_texts(gold_passages),
        passages=() if passages == _NOTHING else from_json(passages, tuple[Passage, ...]),
        steps=() if steps == _NOTHING else from_json(steps, tuple[Message, ...]),
        step_times_s=() if step_times_s == _NOTHING else from_json(step_times_s, _Times),
        expect=() if expect == _NOTHING else from_json(expect, tuple[Expectation, ...]),
        usage=None if set(tokens.values()) == {None} else Usage(**tokens),
        timing=None
        if times["done_s"] is None
        else Timing(**times, token_gaps_100us=() if gaps is None else from_json(gaps, tuple[int, ...])),
    )


def _texts(stored: str) -> tuple[str, ...]:
    return () if stored == _NOTHING else from_json(stored, tuple[str, ...])
