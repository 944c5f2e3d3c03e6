"""
The tables of a study's database: making them, and how what is in them becomes rows and comes back.

The passages of a study's data are kept once each, given to systems and searched by people. The search is
SQLite's own (FTS5, ranked by BM25: Robertson and Zaragoza, 2009, "The Probabilistic Relevance Framework"). A
word finds all that begin with it, in any case and without accents, so that results come while one types and
endings don't matter.
"""

from __future__ import annotations

import json
import re
import secrets
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import msgspec

from replay.core.conversation import Conversation, Passage
from replay.core.decoding import convert_to
from replay.core.errors import InputError
from replay.store.schema import to_json
from replay.study.tasks import Assignment, NewTask, TalkTurn, Task

VERSION = 1
"""Kept in ``PRAGMA user_version``; raised with every change of a table."""

TABLES = """
CREATE TABLE study (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL              -- JSON
) STRICT;
CREATE TABLE rater (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    joined_at TEXT,                  -- by the platform's link, the name being their id there
    declined_at TEXT,
    consent_version TEXT,
    consent_text TEXT,               -- as it was shown
    consented_at TEXT,               -- all times UTC, ISO 8601
    instructed_at TEXT,
    qualified_at TEXT,
    failed_at TEXT,                  -- practice failed for good
    stopped_at TEXT,                 -- too many attention items were wrong
    finished_at TEXT,                -- their code was shown
    left_at TEXT,
    withdrawn_at TEXT
) STRICT;
CREATE TABLE task (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- a form that is still open must not meet another's number
    kind TEXT NOT NULL,
    content TEXT NOT NULL,           -- JSON
    conversation TEXT NOT NULL,
    system TEXT,
    raters INTEGER,                  -- NULL: everyone
    only TEXT,                       -- JSON list of raters; NULL: all
    never TEXT NOT NULL,             -- JSON list of raters
    unseen INTEGER NOT NULL,
    round INTEGER NOT NULL,
    practice TEXT,                   -- JSON, the right answers; NULL: real work
    attention INTEGER NOT NULL,      -- such an item among the work
    sources TEXT NOT NULL            -- JSON list of assignments, with which it is erased
) STRICT;
CREATE TABLE assignment (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task INTEGER NOT NULL,
    rater INTEGER NOT NULL,
    state TEXT NOT NULL,
    given_at TEXT NOT NULL,
    ended_at TEXT,
    reason TEXT,
    talk_ended INTEGER NOT NULL DEFAULT 0,
    draw INTEGER NOT NULL            -- for what is shown in an order of this rater's own
) STRICT;
CREATE UNIQUE INDEX assignment_open ON assignment (rater) WHERE state = 'open';
CREATE TABLE judgement (
    id INTEGER PRIMARY KEY,
    click TEXT NOT NULL UNIQUE,
    assignment INTEGER NOT NULL,
    step TEXT NOT NULL,
    answer TEXT NOT NULL,            -- JSON, by field
    comment TEXT NOT NULL,
    at TEXT NOT NULL,
    seconds REAL                     -- since the screen was last shown
) STRICT;
CREATE INDEX judgement_of ON judgement (assignment);
CREATE TABLE shown (
    assignment INTEGER NOT NULL,
    step TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (assignment, step)
) STRICT, WITHOUT ROWID;
CREATE TABLE talk_turn (
    assignment INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    click TEXT NOT NULL UNIQUE,
    question TEXT NOT NULL,
    asked_at TEXT NOT NULL,
    outcome TEXT,                    -- NULL as long as an answer is waited for
    answer TEXT,
    passages TEXT NOT NULL,          -- JSON list, as retrieved
    error TEXT,
    attempts INTEGER NOT NULL,
    latency_s REAL,
    PRIMARY KEY (assignment, depth)
) STRICT, WITHOUT ROWID;
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL               -- JSON
) STRICT;
CREATE TABLE passage (
    id INTEGER PRIMARY KEY,          -- from 1, as the data has them
    name TEXT NOT NULL UNIQUE,       -- its id in the data, which other passages may not have
    title TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE TABLE conversation_passage (
    conversation TEXT NOT NULL,
    passage INTEGER NOT NULL,
    PRIMARY KEY (conversation, passage)
) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE passage_words USING fts5(
    words, content='', tokenize='unicode61 remove_diacritics 2', prefix='1 2'
);
"""

COLUMNS = tuple(one.name for one in fields(NewTask))
NESTED = ("content", "only", "never", "practice", "sources")
"""Columns of a task that hold JSON."""
INSERT_TASK = f"INSERT INTO task ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"


def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30.0)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA journal_mode=WAL")
    # What a person takes back must not stay in pages that the file no longer uses.
    connection.execute("PRAGMA secure_delete=ON")
    # A click is confirmed once it would survive a loss of power.
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def sound(text: str) -> str:
    """Return *text* without lone surrogates, which a server can send and SQLite doesn't take."""
    return text.encode("utf-8", "replace").decode()


def sound_json(value: Any) -> str:
    """Return the JSON text of *value*, without lone surrogates, which no reader of ours would take."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return sound(json.dumps(msgspec.to_builtins(value), ensure_ascii=False))


def task_row(task: NewTask) -> tuple[Any, ...]:
    """Return the values for ``INSERT_TASK``."""
    values = {name: getattr(task, name) for name in COLUMNS}
    nested = {name: sound_json(values[name]) for name in NESTED if values[name] is not None}
    return tuple({**values, **nested}.values())


def task_of(row: sqlite3.Row) -> Task:
    nested = {name: msgspec.json.decode(row[name]) for name in NESTED if row[name] is not None}
    flags = {key: bool(row[key]) for key in ("unseen", "attention")}
    return convert_to({**dict(row), **nested, **flags}, Task)


def assignment_of(row: sqlite3.Row) -> Assignment:
    return Assignment(**{**dict(row), "talk_ended": bool(row["talk_ended"])})


def talk_turn_of(row: sqlite3.Row) -> TalkTurn:
    return convert_to({**dict(row), "passages": msgspec.json.decode(row["passages"])}, TalkTurn)


def make_study(
    path: Path,
    facts: Mapping[str, Any],
    raters: Sequence[str],
    tasks: Sequence[NewTask],
    conversations: Sequence[Conversation] = (),
) -> None:
    """
    Make the database of a new study at *path*, with *facts*, *raters* (ids from 1) and *tasks*.

    Of *conversations* the passages are kept.

    Raises:
        InputError: it can't be made.
    """
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.unlink(missing_ok=True)
        unfinished.touch(0o600)
        with closing(connect(unfinished)) as connection:
            connection.executescript(f"BEGIN; {TABLES} PRAGMA user_version={VERSION}; COMMIT;")
            kept = {**facts, "secret": secrets.token_hex(32)}
            connection.executemany(
                "INSERT INTO study VALUES (?, ?)", [(key, to_json(value)) for key, value in kept.items()]
            )
            connection.executemany("INSERT INTO rater (name) VALUES (?)", [(name,) for name in raters])
            connection.execute("BEGIN")
            connection.executemany(INSERT_TASK, map(task_row, tasks))
            keep_passages(connection, conversations)
            connection.execute("COMMIT")
        # A program that is killed before this leaves no study, rather than half of one.
        unfinished.rename(path)
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"the study's database \"{path}\" can't be made: {error}") from error


PAGE = 20
"""Passages of a page of results."""
MOST_WORDS = 32
"""Words of a search that are looked for; the rest is left out."""
_UNSPACED = re.compile(r"([\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])")
"""Letters of scripts without spaces, each of which counts as a word: Thai, Lao, Japanese, Chinese."""


def keep_passages(connection: sqlite3.Connection, conversations: Iterable[Conversation]) -> None:
    """Keep the passages of *conversations*, in which an id stands for one passage everywhere."""
    kept: dict[str, int] = {}
    for conversation in conversations:
        for passage in conversation.passages:
            number = kept.get(passage.id, len(kept) + 1)
            if passage.id not in kept:
                kept[passage.id] = number
                title, text = (
                    said.encode("utf-8", "replace").decode() for said in (passage.title, passage.text)
                )
                connection.execute(
                    "INSERT INTO passage VALUES (?, ?, ?, ?)", (number, passage.id, title, text)
                )
                connection.execute(
                    "INSERT INTO passage_words (rowid, words) VALUES (?, ?)",
                    (number, _space_letters(f"{title}\n{text}")),
                )
            connection.execute("INSERT INTO conversation_passage VALUES (?, ?)", (conversation.id, number))


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A page of what a search found."""

    passages: Sequence[Passage]
    """Best first; as the data has them where no word was given."""
    total: int
    """Of all pages."""
    page: int
    """From 1."""
    any_word: bool = False
    """No passage has all the words, so these have some of them."""

    @property
    def pages(self) -> int:
        """Return how many there are, at least one."""
        return max(1, -(-self.total // PAGE))


class PassageIndex:
    """The passages that a study's database holds, all or those of one conversation; for any thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: dict[str | None, tuple[Passage, ...]] = {}

    def passages(self, of: str | None = None) -> tuple[Passage, ...]:
        """
        Return all passages, or those of conversation *of*, in the data's order; the same objects each time.
        """
        if of not in self._read:
            rows = self._rows(f"SELECT {_PASSAGE_COLUMNS} FROM passage WHERE {_WITHIN} ORDER BY id", of=of)
            self._read[of] = tuple(map(_passage, rows))
        return self._read[of]

    def has(self, name: str, of: str | None = None) -> bool:
        """Return whether there is a passage called *name*."""
        return bool(self._rows(f"SELECT 1 FROM passage WHERE name = :name AND {_WITHIN}", name=name, of=of))

    def search(self, words: str, *, of: str | None = None, page: int = 1) -> SearchResult:
        """
        Return the passages in which all *words* occur, or begin one that does; of conversation *of* or of
        all.

        Where there are none, those in which any of the words does. Without words, every passage.
        """
        terms = [f'"{term}"*' for term in re.findall(r"\w+", _space_letters(words))[:MOST_WORDS]]
        if not terms:
            everything = self.passages(of)
            page = _within(page, len(everything))
            begin = (page - 1) * PAGE
            return SearchResult(passages=everything[begin : begin + PAGE], total=len(everything), page=page)
        for joined in (" AND ", " OR "):
            found = self._search(joined.join(terms), of, page, any_word=joined == " OR ")
            if found.total or len(terms) == 1:
                break
        return found

    def _search(self, query: str, of: str | None, page: int, *, any_word: bool) -> SearchResult:
        matching = self._rows(
            f"SELECT rowid AS id FROM passage_words WHERE words MATCH :query AND {_WITHIN} ORDER BY rank, id",
            query=query,
            of=of,
        )
        page = _within(page, len(matching))
        everything = self.passages()
        shown = [everything[id - 1] for (id,) in matching[(page - 1) * PAGE : page * PAGE]]
        return SearchResult(passages=shown, total=len(matching), page=page, any_word=any_word)

    def _rows(self, statement: str, **values: str | int | None) -> list[Any]:
        # A connection of its own: a click must not wait until a search is through.
        with closing(sqlite3.connect(self._path)) as connection:
            connection.execute("PRAGMA trusted_schema=OFF")
            return connection.execute(statement, values).fetchall()


_PASSAGE_COLUMNS = "name, title, text"
_WITHIN = "(:of IS NULL OR id IN (SELECT passage FROM conversation_passage WHERE conversation = :of))"


def _passage(row: Sequence[str]) -> Passage:
    name, title, text = row
    return Passage(id=name, title=title, text=text)


def _space_letters(text: str) -> str:
    return _UNSPACED.sub(r" \1 ", text)


def _within(page: int, total: int) -> int:
    return min(max(page, 1), max(1, -(-total // PAGE)))
