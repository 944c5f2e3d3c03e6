"""
The list of a run's conversations: counted once, kept up to date while the run goes on, searched and sorted.

It is held in memory, with the texts of all turns once each, since a page of it has to be there in an
instant: a scan of the database for a word would take seconds in a large run.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from replay.report.numbers import headline
from replay.scorers.observing import combine
from replay.scorers.scorer import MeanScorer, Scorer, lower_is_better, unit_of
from replay.statistics.group import Group, groups_in_order
from replay.store import schema
from replay.store.page_queries import PlaySummary, RunBrowser
from replay.viewer.run_numbers import BrokenRule

SEARCHED = 20_000
"""Characters of an answer that are searched."""
MOST_ORDERS = 64
"""Sorted lists that are kept."""
KINDS = ("invalid", "edited", "failed")


class GroupCounts(NamedTuple):
    """What happened to some turns."""

    turns: int
    invalid: int
    edited: int
    failed: int


@dataclass(slots=True, kw_only=True)
class Entry:
    """One conversation of the list."""

    id: str
    source: str
    """Its id in the data."""
    place: int = 0
    """Where the data has it."""
    title: str = ""
    section: str = ""
    plays: dict[Group, GroupCounts] = field(default_factory=dict)
    words: str = ""
    """What was said in it, in folded case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """What is asked of the list."""

    text: str = ""
    """Words that all have to occur in a conversation."""
    order: str = ""
    """A score's name, ``drift``, ``failures``, ``edits``; as the data has them where empty."""
    system: str = ""
    policy: str = ""
    only: str = ""
    """``invalid``, ``edited`` or ``failed``: conversations with such a turn; or a broken rule's id."""

    @property
    def kind(self) -> str:
        """The kind of turns that is searched for; empty for all, or if a broken rule selects them."""
        return self.only if self.only in KINDS else ""


class ConversationRow(NamedTuple):
    """A row of the list."""

    id: str
    title: str
    section: str
    turns: int
    """Of the conversation, as far as it was played."""
    asks: int
    """Turns of all systems and policies together, as are those below."""
    invalid: int
    edited: int
    failed: int
    score: float | None
    breaking: tuple[int, ...] = ()
    """Depths of the turns that break the rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some rows of the list."""

    rows: tuple[ConversationRow, ...]
    found: int
    """Conversations that fit, on all pages."""
    of: int
    score: str
    """The one that is shown; empty without any."""


class ConversationIndex:
    """A run's conversations. Not for two threads at a time."""

    def __init__(self, browser: RunBrowser, scorers: Mapping[str, Scorer[Any]]) -> None:
        self._browser = browser
        self._scorers = dict(scorers)
        self._entries: dict[str, Entry] = {}
        self._titles: dict[str, tuple[int, str, str]] = {}
        self._turns = self._newest = self._texts_to = self._events = 0
        self._version: int | None = None
        self._sorted: dict[tuple[str, ...], list[ConversationRow]] = {}
        self._scores: dict[str, dict[str, dict[Group, Any]]] = {}

    @property
    def groups(self) -> list[Group]:
        """Systems and policies with a turn."""
        return groups_in_order({group: None for entry in self._entries.values() for group in entry.plays})

    def refresh(self, scorers: Mapping[str, Scorer[Any]]) -> None:
        """Read what has been written since the last time; *scorers* are those that the run has now."""
        version = self._browser.version()
        if version == self._version and scorers.keys() == self._scorers.keys():
            return
        self._version, self._scorers = version, dict(scorers)
        self._sorted.clear()
        self._scores.clear()
        now = self._browser.progress()
        new = self._browser.play_summaries(after=self._newest, until=now.newest)
        if now.events != self._events or self._turns + sum(one.turns for one in new) != now.turns:
            # A resumed run drops turns of half-played conversations.
            self._entries, self._turns, self._texts_to = {}, 0, 0
            new = self._browser.play_summaries(after=0, until=now.newest)
        for one in new:
            self._add(one)
        self._newest, self._events = now.newest, now.events

    def _add(self, one: PlaySummary) -> None:
        self._turns += one.turns
        entry = self._entries.get(one.conversation)
        if entry is None:
            source = one.source or one.conversation
            if source not in self._titles:
                self._titles = {one[0]: one[1:] for one in self._browser.titles()}
            place, title, section = self._titles.get(source, (0, "", ""))
            entry = Entry(id=one.conversation, source=source, place=place, title=title, section=section)
            entry.words = "\n".join((entry.id, title, section)).casefold()
            self._entries[one.conversation] = entry
        group = Group(one.system, one.policy)
        before = entry.plays.get(group, GroupCounts(0, 0, 0, 0))
        after = (one.turns, one.invalid, one.edited, one.failed)
        entry.plays[group] = GroupCounts(*(a + b for a, b in zip(before, after, strict=True)))

    def read_texts(self) -> None:
        """Read what was said in turns that are new since the last time."""
        parts: dict[str, dict[str, None]] = defaultdict(dict)
        for said in self._browser.turn_texts(after=self._texts_to, until=self._newest):
            found = parts[said.conversation]
            found[said.recorded] = found[said.asked] = None
            if said.answer:
                found[said.answer[:SEARCHED]] = None
            if said.gold_answers not in found:
                found[said.gold_answers] = None
        for conversation, texts in parts.items():
            entry = self._entries.get(conversation)
            if entry is not None:
                entry.words = "\n".join((entry.words, *map(_casefold, texts)))
        self._texts_to = self._newest

    def warming_up(self) -> Iterator[str]:
        """Read and sort all that will be asked for, in steps; gives the name of each."""
        for order in ("", *self._scorers, "drift", "failures", "edits"):
            self._in_order(ListQuery(order=order))
            yield order or "list"
        self.read_texts()
        yield "texts"

    def score_column(self, order: str) -> str:
        """Return the score to show beside an *order*: itself where it is one; empty without any."""
        units = {name: unit_of(scorer) for name, scorer in self._scorers.items()}
        return order if order in units else headline(units)

    def page(
        self, question: ListQuery, *, broken: BrokenRule | None = None, first: int = 0, count: int = 50
    ) -> Page:
        """Return *count* rows from the *first* on; worst first where an order is asked for."""
        rows = self._in_order(question)
        if broken is not None:
            turns = broken.by_conversation
            rows = [
                row._replace(breaking=tuple(dict.fromkeys(turn.depth for turn in turns[row.id])))
                for row in rows
                if row.id in turns
            ]
        words = question.text.casefold().split()
        if words:
            self.read_texts()
            entries = self._entries
            rows = [row for row in rows if all(word in entries[row.id].words for word in words)]
        return Page(
            rows=tuple(rows[first : first + count]),
            found=len(rows),
            of=len(self._entries),
            score=self.score_column(question.order),
        )

    def _in_order(self, question: ListQuery) -> list[ConversationRow]:
        shown = self.score_column(question.order)
        key = (question.order, shown, question.system, question.policy, question.kind)
        if key not in self._sorted:
            if len(self._sorted) >= MOST_ORDERS:
                self._sorted.pop(next(iter(self._sorted)))
            scores = self._scores_of(shown)
            groups = [
                group
                for group in self.groups
                if question.system in ("", group.system) and question.policy in ("", group.policy)
            ]
            found = []
            for entry in self._entries.values():
                row = self._row(entry, groups, shown, scores.get(entry.id, {}))
                if row is not None and (not question.kind or getattr(row, question.kind) > 0):
                    found.append((self._rank(row, question.order), entry.place, row.id, row))
            found.sort(key=lambda one: one[:3])
            self._sorted[key] = [row for *_, row in found]
        return self._sorted[key]

    def _row(
        self, entry: Entry, groups: list[Group], shown: str, scores: Mapping[Group, Any]
    ) -> ConversationRow | None:
        plays = [entry.plays[group] for group in groups if group in entry.plays]
        if not plays:
            return None
        asks, invalid, edited, failed = map(sum, zip(*plays, strict=True))
        turns = max(play.turns for play in plays)
        found = [scores[group] for group in groups if group in scores]
        score = self._combine(shown, found) if found else None
        return ConversationRow(
            entry.id, entry.title, entry.section, turns, asks, invalid, edited, failed, score
        )

    def _combine(self, order: str, found: list[Any]) -> float | None:
        """Return one number made of what ``_scores_of`` keeps."""
        if self._is_mean(order):
            total = sum(total for total, _ in found)
            return float(total / sum(count for _, count in found))
        score = combine(self._scorers[order], [value for values in found for value in values])
        return None if score != score else score

    def _is_mean(self, order: str) -> bool:
        scorer = self._scorers[order]
        return isinstance(scorer, MeanScorer) and scorer.is_mean

    def _rank(self, row: ConversationRow, order: str) -> tuple[float, float]:
        """Smallest first."""
        if order in self._scorers:
            if row.score is None:
                return 1.0, 0.0
            return 0.0, -row.score if lower_is_better(self._scorers[order]) else row.score
        counts = {"drift": row.invalid, "failures": row.failed, "edits": row.edited}
        return -counts.get(order, 0) / max(1, row.asks), 0.0

    def _scores_of(self, scorer: str) -> Mapping[str, Mapping[Group, Any]]:
        """By conversation and group: sum and count of a mean, all observations of anything else."""
        if scorer not in self._scorers:
            return {}
        if scorer not in self._scores:
            found: dict[str, dict[Group, Any]] = defaultdict(dict)
            groups: dict[tuple[str, str], Group] = {}
            if self._is_mean(scorer):
                for conversation, system, policy, total, count in self._browser.sums(scorer):
                    group = groups.setdefault((system, policy), Group(system, policy))
                    found[conversation][group] = total, count
            else:
                for conversation, system, policy, _, value in self._browser.observations(scorer):
                    group = groups.setdefault((system, policy), Group(system, policy))
                    found[conversation].setdefault(group, []).append(schema.from_json(value, object))
            self._scores[scorer] = found
        return self._scores[scorer]


def _casefold(text: str) -> str:
    """Return *text* in folded case; of a JSON list, which may escape letters and quotes, its texts."""
    if text.startswith("[") and text.endswith("]") and "\\" in text:
        try:
            text = "\n".join(map(str, json.loads(text)))
        except ValueError:
            return text.casefold()
    return text.casefold()
