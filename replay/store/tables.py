"""The tables of a run's database. Scalars are plain columns and everything nested is JSON text."""

from __future__ import annotations

VERSION = 7
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
    server_times TEXT,               -- JSON: what the server says it took; NULL where it says nothing
    source TEXT,                     -- the conversation's id in the data, where it is played once more
    partial TEXT,                    -- what had come of an answer that was cut off
    steps TEXT NOT NULL,             -- JSON list: calls of tools and their results before the answer
    step_times_s TEXT NOT NULL,      -- JSON list: begin and end of each, and of the last ask, since sent_s
    expect TEXT NOT NULL,            -- JSON list: what the data expects of the turn
    repeat INTEGER NOT NULL,         -- which play of the conversation, from 1
    cached INTEGER NOT NULL,         -- 1 where the answer came from a cache
    history_cut TEXT,                -- what of the history was not shown
    interventions TEXT,              -- JSON list: what a user did in the turn; NULL for nothing
    kind TEXT,                       -- of the question, in the data's words
    sessions_back INTEGER,           -- sessions between the turn and its farthest evidence
    turns_back INTEGER,              -- turns between them
    started_at REAL                  -- when the engine started, in seconds since 1970"""

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
CREATE TABLE ending (                -- ends of conversations without recorded questions, as turns
{_TURN_COLUMNS}
    , PRIMARY KEY (conversation, system, policy)
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

TURN_KEY = "CREATE UNIQUE INDEX IF NOT EXISTS turn_key ON turn (conversation, system, policy, depth)"
"""A load run gets it at its end: kept up to date turn by turn it costs as much as the turns do."""
