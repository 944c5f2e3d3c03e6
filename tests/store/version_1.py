"""Builds runs as version 1 of the database had them, from the statements that it was made with."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from replay.store import schema

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


SURROGATE = "half a pair: \ud83d, NUL: \x00, right to left: \u05d0"
USAGE = '{"prompt_tokens":12,"completion_tokens":3}'
TIMING = '{"scheduled_s":0.5,"sent_s":0.75,"done_s":2.0,"first_byte_s":1.5,"first_token_s":null}'
SCENARIO = """
name: old
data: {path: talks.jsonl}
systems: [{name: s, adapter: scripted}]
policies: [pred]
drift: {nlp_workers: 0}
"""
COLUMNS = (
    *("system", "policy", "conversation", "depth", "turn", "recorded", "asked", "edit", "edit_note"),
    *("outcome", "answer", "error", "attempts", "valid", "drift", "gold_answers", "gold_passages"),
    *("passages", "usage", "cost_usd", "timing"),
)


def old_run(folder: Path, *, conversations: int = 2, answer: str = SURROGATE, verdicts: bool = True) -> Path:
    """The database of a run of two-turn conversations; the second turn of each failed without usage."""
    folder.mkdir(parents=True)
    talks = [_talk(f"c{n}") for n in range(conversations)]
    (folder / "talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    path = folder / "run.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        tables = TABLES if verdicts else TABLES.replace(TABLES[_verdict()], "")
        connection.executescript(f"{tables} PRAGMA user_version=1;")
        scenario = {"text": SCENARIO, "source": "old.yaml", "folder": str(folder)}
        facts = {
            "scenario": scenario,
            "name": "old",
            "seed": 0,
            "systems": ["s"],
            "version": "0.0",
            "policies": {"pred": "pred"},
            "finished": True,
            "scorers": [{"label": "em", "name": "em", "settings": {}}],
        }
        connection.executemany(
            "INSERT INTO run VALUES (?, ?)", [(k, json.dumps(v)) for k, v in facts.items()]
        )
        for position, talk in enumerate(talks):
            row = (position, talk["id"], len(talk["turns"]), json.dumps(talk))
            connection.execute("INSERT INTO conversation VALUES (?, ?, ?, ?)", row)
            for depth in (1, 2):
                _insert(connection, talk["id"], depth, answer)
        connection.execute("INSERT INTO event VALUES (1, '2026-01-01T00:00:00.000+00:00', 'scored', '{}')")
        connection.commit()
    return path


def _talk(id: str) -> dict:
    turns = [
        {"id": f"{id}#{depth}", "question": f"Who sang {id} {depth}?", "gold_answers": [f"Mira {depth}."]}
        for depth in (1, 2)
    ]
    return {"id": id, "turns": turns}


def _insert(connection: sqlite3.Connection, id: str, depth: int, answer: str) -> None:
    answered = depth == 1
    question = schema.to_bytes(f"Who sang {id} {depth}?")
    values = (
        *("s", "pred", schema.to_bytes(id), depth, schema.to_bytes(f"{id}#{depth}"), question, question),
        *("kept", None, "answered" if answered else "timed-out"),
        schema.to_bytes(answer) if answered else None,
        None if answered else b"no reply",
        *(1, None, None, json.dumps([f"Mira {depth}."]), "[]", "[]"),
        USAGE if answered else None,
        0.25 if answered else None,
        TIMING,
    )
    texts = ("conversation", "turn", "recorded", "asked", "answer", "error")
    places = ", ".join("CAST(? AS TEXT)" if column in texts else "?" for column in COLUMNS)
    connection.execute(f"INSERT INTO turn ({', '.join(COLUMNS)}) VALUES ({places})", values)
    score = ("em", "s", "pred", id, depth, "0.0" if answered else None, None if answered else "no answer")
    connection.execute("INSERT INTO score VALUES (?, ?, ?, ?, ?, ?, ?)", score)


def _verdict() -> slice:
    start = TABLES.index("CREATE TABLE verdict")
    return slice(start, TABLES.index("CREATE TABLE event"))
