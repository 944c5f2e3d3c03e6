"""
The passages of a study's data: kept once each, given to systems and searched by people.

The search is SQLite's own (FTS5, ranked by BM25: Robertson and Zaragoza, 2009, "The Probabilistic Relevance
Framework"). A word finds all that begin with it, in any case and without accents, so that results come while
one types and endings don't matter.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from replay.core.conversation import Conversation, Passage

PAGE = 20
"""Passages of a page of results."""
MOST_WORDS = 32
"""Words of a search that are looked for; the rest is left out."""

TABLES = """
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

_UNSPACED = re.compile(r"([\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])")
"""Letters of scripts without spaces, each of which counts as a word: Thai, Lao, Japanese, Chinese."""


def with_unique_ids(conversations: Iterable[Conversation]) -> list[Conversation]:
    """
    Return *conversations* with passages that have one id each, and each id one passage.

    Those with the same title and text are one, with the first one's id. Data sets that call the first passage
    of every conversation "p1" have the others named for their conversations, too: "album/p1".
    """
    ids: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    found = []
    for conversation in conversations:
        renamed: dict[str, str] = {}
        for passage in conversation.passages:
            said = (passage.title, passage.text)
            if said not in ids:
                id = passage.id if passage.id not in taken else f"{conversation.id}/{passage.id}"
                while id in taken:
                    id += "+"
                taken.add(id)
                ids[said] = id
            renamed[passage.id] = ids[said]
        passages = {renamed[one.id]: replace(one, id=renamed[one.id]) for one in conversation.passages}
        turns = [
            msgspec.structs.replace(
                turn, gold_passages=tuple(renamed.get(id, id) for id in turn.gold_passages)
            )
            for turn in conversation.turns
        ]
        found.append(
            msgspec.structs.replace(conversation, passages=tuple(passages.values()), turns=tuple(turns))
        )
    return found


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
                    (number, _spaced(f"{title}\n{text}")),
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
            rows = self._rows(f"SELECT {_COLUMNS} FROM passage WHERE {_WITHIN} ORDER BY id", of=of)
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
        terms = [f'"{term}"*' for term in re.findall(r"\w+", _spaced(words))[:MOST_WORDS]]
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


_COLUMNS = "name, title, text"
_WITHIN = "(:of IS NULL OR id IN (SELECT passage FROM conversation_passage WHERE conversation = :of))"


def _passage(row: Sequence[str]) -> Passage:
    name, title, text = row
    return Passage(id=name, title=title, text=text)


def _spaced(text: str) -> str:
    return _UNSPACED.sub(r" \1 ", text)


def _within(page: int, total: int) -> int:
    return min(max(page, 1), max(1, -(-total // PAGE)))
