"""Noun phrases, and verb phrases of what somebody wants to do, as far as a list of verbs tells them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from replay.coreference.reading.words import word_set
from replay.synthesis.questions.verbs import verb
from replay.synthesis.questions.words import (
    DETERMINERS,
    PREPOSITIONS,
    Word,
    in_first_person,
    looks_plural,
    points,
)

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


LONGEST_WISH = 14
"""Words."""
_NO_ACTS = word_set("be find see notice have get now")
_WITH_IN = word_set("log sign check opt zoom plug type fill")
_OFFERS = word_set("can should must need have may could")


def wish_of(said: str) -> str | None:
    """Return the verb phrase *said* as somebody says it who wants to do it, None for what is none."""
    words = said.split()
    first = words[0].lower()
    if verb(first, "base") is None or first in ("see", "learn", "summarize", "be", "avoid", "help"):
        return None
    if words[1:2] == ["in"] and first not in _WITH_IN:
        return None
    if points(said) or " but " in said or "not want" in said:
        return None
    if words[-1].lower() in PREPOSITIONS | DETERMINERS or not 2 <= len(words) <= LONGEST_WISH:
        return None
    return in_first_person(said)


def is_doing(main: str) -> bool:
    """Return whether *main* says what to do: an imperative, or what "you" can, should or must."""
    words = main.removeprefix("please ").split()
    low = [word.lower().strip(",.") for word in words[:4]]
    if low[:1] == ["you'll"] or low[:1] == ["you’ll"]:
        return low[1:3] in (["need", "to"], ["have", "to"])
    if low[:1] == ["you"]:
        if low[1:2] in (["need"], ["have"]) and low[2:3] != ["to"]:
            return False  # "you need Ruby"
        return len(low) > 2 and low[1] in _OFFERS and low[2] not in _NO_ACTS
    if not low or low[0] in ("see", "refer", "read", "check"):
        return False
    return verb(low[0], "base") is not None and words[0].islower() and low[1:2] != ["is"]
