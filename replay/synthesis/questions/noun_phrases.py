"""Noun phrases, as far as they can be told without a tagger."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from replay.coreference.reading.words import word_set
from replay.synthesis.questions.verbs import verb
from replay.synthesis.questions.words import DETERMINERS, PREPOSITIONS, Word, looks_plural

_INSIDE_A_SUBJECT = word_set("of for in between with on")


def noun_phrase(words: Sequence[Word], start: int) -> int:
    """Return where the noun phrase at *start* ends; *start* if there is none."""
    at = start
    if at < len(words) and words[at].low in DETERMINERS:
        at += 1
    first = at
    while at < len(words) and words[at].is_noun_like and at - first < 6:
        at += 1
    return at if at > first else start


def subject_end(words: Sequence[Word], start: int) -> int:
    """Return where the subject at *start* ends, "of" phrases among it, as if no verb were among its words."""
    at = noun_phrase(words, start)
    for _ in range(2):
        if at == start or at >= len(words) or words[at].low not in _INSIDE_A_SUBJECT:
            break
        after = noun_phrase(words, at + 1)
        if after == at + 1:
            break
        at = after
    return at


def hides_a_verb(words: Sequence[Word]) -> bool:
    """Return whether a noun phrase could as well be a subject with its verb: "latency ensures members"."""
    if any(word.low in DETERMINERS and before.low not in PREPOSITIONS for before, word in pairwise(words)):
        return True
    for before, word in pairwise(words[:-1]):
        if before.low in DETERMINERS | PREPOSITIONS or word.is_literal or not word.text.islower():
            continue
        is_third = verb(word.low, "third") is not None and not looks_plural(before)
        if is_third or (
            looks_plural(before) and any(verb(word.low, form) for form in ("base", "gerund", "past"))
        ):
            return True
    return len(words) > 1 and looks_plural(words[-2]) and verb(words[-1].low, "gerund") is not None
