"""What somebody wants to do, and what a sentence says that one does for it."""

from __future__ import annotations

from replay.coreference.reading.words import word_set
from replay.synthesis.questions.verbs import verb
from replay.synthesis.questions.words import DETERMINERS, PREPOSITIONS, in_first_person, points

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
        return len(low) > 2 and low[1] in _OFFERS and low[2] not in _NO_ACTS
    if not low or low[0] in ("see", "refer", "read", "check"):
        return False
    return verb(low[0], "base") is not None and words[0].islower() and low[1:2] != ["is"]
