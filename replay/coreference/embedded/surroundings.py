"""What stands around a candidate where it was said: the words of the question, names, verbs."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from replay.coreference.embedded.candidates import Candidate
from replay.coreference.embedded.layout import Part, layout
from replay.coreference.embedded.mention_features import AUXILIARIES, PREPOSITIONS
from replay.coreference.resolver import Document
from replay.coreference.words import ARTICLES, content_words, word_set

_ENDS_OF_SENTENCES = (". ", "? ", "! ", "\n")
_BEFORE_SUBJECTS = frozenset('.?!\n:;"“')
_AFTER_SUBJECTS = AUXILIARIES | word_set("may might also then said")
_OTHER_SUBJECTS = word_set("he she it they i you we who that this there")
_RECENT_OCCURRENCES = 8
_STEM = 5
"""Words with the same first letters, so many, are taken for forms of one word."""


class Sentences:
    """The sentences of a document's history, and which of the question's words each shares."""

    def __init__(self, document: Document, question_words: frozenset[str]) -> None:
        self._asked = {word[:_STEM] for word in question_words}
        self._starts: list[int] = []
        self._shared: list[frozenset[str]] = []
        for part in layout(document):
            for start, sentence in _sentences(part):
                self._starts.append(start)
                self._shared.append(
                    frozenset(word for word in content_words(sentence) if word[:_STEM] in self._asked)
                )

    def around(self, place: int, key: set[str]) -> list[float]:
        """
        The share of the question's words in the sentence at offset *place*, the words *key* apart;
        and how near that sentence is, 1 for the last.
        """
        index = bisect_right(self._starts, place) - 1
        shared = len(self._shared[index] - key) if index >= 0 else 0
        return [shared / max(1, len(self._asked)), 1.0 / (len(self._starts) - index)]


def _sentences(part: Part) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(part.text):
        ends = [found + 1 for mark in _ENDS_OF_SENTENCES if (found := part.text.find(mark, start)) >= 0]
        end = min(ends, default=len(part.text))
        yield part.start + start, part.text[start:end]
        start = end


class Names:
    """The names of a document, to see how much is said of each, by whatever part of it."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._by_word: dict[str, list[tuple[frozenset[str], int]]] = {}
        counts = []
        for candidate in candidates:
            if candidate.kind in ("title", "name"):
                name = (frozenset(candidate.key), len(candidate.occurrences))
                counts.append(name[1])
                for word in candidate.key:
                    self._by_word.setdefault(word, []).append(name)
        self._counts = sorted(counts)

    def salience(self, candidate: Candidate) -> list[float]:
        """How much is said of *candidate*; "Zappa" counts for "Frank Zappa", and the other way round."""
        key = frozenset(candidate.key)
        kin = {name for word in key for name in self._by_word.get(word, ())}
        fuller = sum(count for name, count in kin if name > key)
        shorter = sum(count for name, count in kin if name < key)
        said = len(candidate.occurrences) + fuller + shorter
        said_more = len(self._counts) - bisect_right(self._counts, said)
        return [
            math.log1p(said) / 2,
            float(fuller > 0),
            float(shorter > 0),
            1.0 / (1 + said_more),
            math.log1p(len({o.turn for o in candidate.occurrences})) / 2,
        ]


def role(context: str, candidate: Candidate) -> list[float]:
    """What part *candidate* plays in its sentences, by the words around it in *context*."""
    recent = candidate.occurrences[-_RECENT_OCCURRENCES:]
    opens = acts = owns = oblique = 0
    for occurrence in recent:
        before = context[max(0, occurrence.start - 2) : occurrence.start].strip()
        after = context[occurrence.end : occurrence.end + 14]
        next_word = after[1:].partition(" ")[0] if after[:1] == " " else ""
        opens += not before or before[-1] in _BEFORE_SUBJECTS
        acts += next_word in _AFTER_SUBJECTS or (next_word.endswith("ed") and len(next_word) > 3)
        owns += after[:2] in ("'s", "’s", "' ")
        oblique += occurrence.before in PREPOSITIONS or occurrence.before == "and"
    before_last = candidate.last.before
    return [
        opens / len(recent),
        float(opens > 0),
        acts / len(recent),
        float(acts > 0),
        float(owns > 0),
        oblique / len(recent),
        float(before_last in _OTHER_SUBJECTS),
        float(before_last == "to"),
        float(before_last in AUXILIARIES),
        float(before_last in ARTICLES),
        float(not before_last),
    ]
