"""Counts and shares of a data set's questions and answers."""

from __future__ import annotations

import random
import statistics as stdlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from replay.core.conversation import CANNOT_ANSWER, Conversation, Turn
from replay.core.drift_evidence import MentionKind
from replay.core.errors import PluginError
from replay.coreference.reading.language import ENGLISH_ONLY, not_readable
from replay.coreference.reading.mentions import find_mentions
from replay.coreference.reading.readings import read_all
from replay.coreference.reading.resolver import Resolver, recorded_document
from replay.coreference.reading.words import content_words, words
from replay.datasets.near_duplicates import duplicate_turns
from replay.synthesis.question_kinds import (
    QUESTION_WORDS,
    is_elliptical,
    is_yes_no,
    question_word,
)

SAMPLE = 400
"""Questions that are read by a resolver at most, where the data has no standalone form of them."""
_WINDOW = 6
"""Exchanges before a question that the resolver reads."""
REFERENCES: dict[str, tuple[MentionKind, ...]] = {
    "pronoun": ("he", "she", "they", "it"),
    "demonstrative": ("this", "this-noun"),
    "definite noun phrase": ("the-noun",),
    "one of several": ("one",),
    "there, then": ("there", "then"),
}
"""What a question may refer back with; by its words, not by what it means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportion:
    """So many of so many."""

    count: int
    of: int

    @property
    def share(self) -> float | None:
        """Return the share in [0, 1]; None of nothing."""
        return self.count / self.of if self.of else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthSummary:
    """Lengths in words; all 0 where there is no text."""

    mean: float = 0.0
    median: float = 0.0
    p90: float = 0.0
    longest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthProfile:
    """The turns of one depth."""

    depth: int
    turns: int
    question_words: float
    """Words of a question, in the mean."""
    anaphora: Proportion
    ellipsis: Proportion
    leaning: Proportion | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataStatistics:
    """What a data set is made of. Follow-ups are the questions after a conversation's first."""

    name: str
    conversations: int
    turns: int
    passages: int
    depths: tuple[DepthProfile, ...]
    question_words: Mapping[str, int]
    """Questions by the word that asks, in the order of ``QUESTION_WORDS``."""
    question_length: LengthSummary
    answer_length: LengthSummary
    """Of answers other than CANNOTANSWER."""
    yes_no: Proportion
    """Questions that yes or no could answer."""
    answered_yes_no: Proportion
    """Answers that begin so."""
    anaphora: Proportion
    """Follow-ups that refer back with any of ``REFERENCES``."""
    references: Mapping[str, Proportion]
    ellipsis: Proportion
    """Follow-ups that are fragments, or ask for more of what was said."""
    leaning: Proportion | None
    """Follow-ups that can't be understood without what was said before; None if unknown."""
    leaning_by: str
    """Who says that."""
    unanswerable: Proportion
    """Turns with the gold answer CANNOTANSWER, of those with a gold answer."""
    without_answer: Proportion
    """Turns without a gold answer."""
    topic_shifts: Proportion | None
    """Follow-ups with other gold passages than the turn before has; None where passages don't tell."""
    duplicates: Proportion | None
    """Turns that nearly repeat an earlier one, question and answer; None if not counted."""
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return all figures as plain JSON values; shares are in [0, 1]."""
        return {"schema": 1, **_with_shares(msgspec.to_builtins(self))}


def _with_shares(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"count", "of"}:
            return {**value, "share": value["count"] / value["of"] if value["of"] else None}
        return {key: _with_shares(inner) for key, inner in value.items()}
    return [_with_shares(inner) for inner in value] if isinstance(value, list | tuple) else value


def data_statistics(
    name: str,
    conversations: Iterable[Conversation],
    *,
    resolver: Resolver | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
) -> DataStatistics:
    """
    Return the figures of *conversations*.

    Whether a follow-up leans on what was said is told by the data's standalone questions where nine of ten
    have one: it does if that says content words that the question doesn't. Else *resolver* says so, of at
    most *sample* follow-ups drawn with *seed*; without one it is unknown.

    Args:
        name: What the data set is called in reports.
        conversations: The conversations.
        resolver: Reads questions without a standalone form.
        sample: Follow-ups that are read at most.
        seed: Of the draw, and of what finds duplicates.
    """
    data = list(conversations)
    turns = [(one, depth, turn) for one in data for depth, turn in enumerate(one.turns, 1)]
    follow_ups = [(one, depth) for one, depth, _ in turns if depth > 1]
    kinds = {
        (one.id, depth): frozenset(mention.kind for mention in find_mentions(turn.question))
        for one, depth, turn in turns
        if depth > 1
    }
    back = frozenset(kind for group in REFERENCES.values() for kind in group)
    anaphora = {key: bool(found & back) for key, found in kinds.items()}
    ellipsis = {(one.id, depth): is_elliptical(one.turns[depth - 1].question) for one, depth in follow_ups}
    leaning, leaning_by = _leaning(follow_ups, resolver, sample, seed)
    asked = Counter(question_word(turn.question) for _, _, turn in turns)
    answers = [turn.gold_answer for _, _, turn in turns if turn.gold_answer]
    given = [answer for answer in answers if answer != CANNOT_ANSWER]
    notes: list[str] = []
    return DataStatistics(
        name=name,
        conversations=len(data),
        turns=len(turns),
        passages=len({passage.id for one in data for passage in one.passages}),
        depths=_depths(turns, anaphora, ellipsis, leaning),
        question_words={word: asked[word] for word in QUESTION_WORDS if asked[word]},
        question_length=_lengths(turn.question for _, _, turn in turns),
        answer_length=_lengths(given),
        yes_no=_proportion(is_yes_no(turn.question) for _, _, turn in turns),
        answered_yes_no=_proportion(words(answer)[:1] in (("yes",), ("no",)) for answer in given),
        anaphora=_proportion(anaphora.values()),
        references={
            label: _proportion(not found.isdisjoint(group) for found in kinds.values())
            for label, group in REFERENCES.items()
        },
        ellipsis=_proportion(ellipsis.values()),
        leaning=_proportion(leaning.values()) if leaning else None,
        leaning_by=leaning_by,
        unanswerable=Proportion(count=len(answers) - len(given), of=len(answers)),
        without_answer=_proportion(not turn.gold_answer for _, _, turn in turns),
        topic_shifts=_topic_shifts(data),
        duplicates=_duplicates(data, len(turns), notes),
        notes=tuple(notes),
    )


def leans_by_standalone(turn: Turn) -> bool:
    """Return whether the standalone form of *turn* says content words that its question doesn't."""
    return bool(Counter(content_words(turn.standalone or "")) - Counter(content_words(turn.question)))


def _leaning(
    follow_ups: Sequence[tuple[Conversation, int]], resolver: Resolver | None, sample: int, seed: int
) -> tuple[dict[tuple[str, int], bool], str]:
    """Return for follow-ups whether they lean on what was said before, and by whom that is told."""
    worded = [(one, depth) for one, depth in follow_ups if one.turns[depth - 1].standalone]
    if worded and 10 * len(worded) >= 9 * len(follow_ups):
        told = {(one.id, depth): leans_by_standalone(one.turns[depth - 1]) for one, depth in worded}
        return told, "by the data's standalone questions"
    if resolver is None:
        return {}, "not read: the data has no standalone questions, and no resolver was to read it"
    languages = getattr(resolver, "languages", ENGLISH_ONLY)
    readable = [
        (one, depth)
        for one, depth in follow_ups
        if not_readable(one.turns[depth - 1].question, one, languages) is None
    ]
    drawn = readable
    if len(readable) > sample:
        places = sorted(random.Random(seed).sample(range(len(readable)), sample))
        drawn = [readable[place] for place in places]
    documents = [recorded_document(one, depth, window=_WINDOW, background=True) for one, depth in drawn]
    found = {
        (one.id, depth): any(reading.antecedent is not None for reading in readings)
        for (one, depth), readings in zip(drawn, read_all(resolver, documents), strict=True)
    }
    of = f"all {len(drawn):,}" if len(drawn) == len(follow_ups) else f"{len(drawn):,} of {len(follow_ups):,}"
    seeded = f", drawn with seed {seed}" if len(drawn) < len(readable) else ""
    return found, f"by {resolver.signature}, which read {of} follow-ups{seeded}"


def _depths(
    turns: Sequence[tuple[Conversation, int, Turn]],
    anaphora: Mapping[tuple[str, int], bool],
    ellipsis: Mapping[tuple[str, int], bool],
    leaning: Mapping[tuple[str, int], bool],
) -> tuple[DepthProfile, ...]:
    by_depth: dict[int, list[tuple[str, Turn]]] = {}
    for one, depth, turn in turns:
        by_depth.setdefault(depth, []).append((one.id, turn))

    def share_of(told: Mapping[tuple[str, int], bool], depth: int) -> Proportion:
        return _proportion(told[name, depth] for name, _ in by_depth[depth] if (name, depth) in told)

    return tuple(
        DepthProfile(
            depth=depth,
            turns=len(found),
            question_words=stdlib.fmean(len(words(turn.question)) for _, turn in found),
            anaphora=share_of(anaphora, depth),
            ellipsis=share_of(ellipsis, depth),
            leaning=share_of(leaning, depth) if leaning else None,
        )
        for depth, found in sorted(by_depth.items())
    )


def _topic_shifts(data: Sequence[Conversation]) -> Proportion | None:
    """Return how many follow-ups have other gold passages; None if no two turns ever share one."""
    pairs = [
        (set(before.gold_passages), set(turn.gold_passages))
        for one in data
        for before, turn in zip(one.turns, one.turns[1:], strict=False)
        if before.gold_passages and turn.gold_passages
    ]
    shifts = sum(before.isdisjoint(after) for before, after in pairs)
    return Proportion(count=shifts, of=len(pairs)) if shifts < len(pairs) else None


def _duplicates(data: Sequence[Conversation], turns: int, notes: list[str]) -> Proportion | None:
    try:
        return Proportion(count=len(duplicate_turns(data)), of=turns)
    except PluginError as error:
        notes.append(f"duplicates are not counted: {error}")
        return None


def _proportion(told: Iterable[bool]) -> Proportion:
    listed = list(told)
    return Proportion(count=sum(listed), of=len(listed))


def _lengths(texts: Iterable[str]) -> LengthSummary:
    lengths = sorted(len(words(text)) for text in texts)
    if not lengths:
        return LengthSummary()
    return LengthSummary(
        mean=stdlib.fmean(lengths),
        median=stdlib.median(lengths),
        p90=lengths[min(len(lengths) - 1, (9 * len(lengths)) // 10)],
        longest=lengths[-1],
    )
