"""Where what a clause says of its subject ends, and whether a second verb goes on with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from replay.coreference.reading.words import word_set
from replay.synthesis.questions.verbs import verb
from replay.synthesis.questions.words import AUXILIARIES, DETERMINERS, LEANING, PREPOSITIONS, Word

OBJECT_STARTS = (
    DETERMINERS
    | PREPOSITIONS
    | word_set(
        """
        you your up to that whether how when if what multiple several many more additional new existing only
        one two three four five different certain specific other another zero its their various certain
        additional
        """
    )
)
_ENDS_A_REST = re.compile(
    r",?\s+(?:because|so that|since|although|though|unless|whereas|while|but|including|such as)\s"
    r"|,?\s(?:and|or) (?:it|they|you|then)\s"
    r"|,\s(?:which|and|so|if|when|where|or|for example|making|allowing|ensuring|meaning)\s"
    r"|;|:\s|\s[-–—]+\s|\s\([^()]*\)$|,\s\w+ing\s"
)
"""What may end a clause early."""
_NO_PLAIN_END = re.compile(
    r"[,;()–—\"“”]|\. "
    r"|\b(?:and|or) (?:[\w-]+ ){0,4}(?:is|are|was|were|can|must|will|should|has|have|had|does|do|did)\b"
)
"""What a clause of ours never holds: lists are cut nowhere, and neither are parentheses."""
_NEGATIONS_INSIDE = word_set("not no don't doesn't isn't anymore yet")
LONGEST_REST = 16
_AND_VERB = re.compile(r"\b(?:and|or) ([a-z]+s)\b")


def rest_of(text: str, words: Sequence[Word], at: int) -> tuple[str | None, bool, int]:
    """
    Return what *text* says from the word at *at* to the end of its clause, and whether that is cut.

    Last comes the offset of an "and" that joins a second verb, -1 without one. The text is None where nobody
    can tell where the clause ends.
    """
    if at >= len(words):
        return None, False, -1
    whole = text[words[at].start :].rstrip(" .!;:")
    literals = [
        (word.start - words[at].start, word.end - words[at].start) for word in words[at:] if word.is_literal
    ]
    cut = next(
        (
            found.start()
            for found in _ENDS_A_REST.finditer(whole)
            if not any(start <= found.start() < end for start, end in literals)
        ),
        None,
    )
    rest = whole if cut is None else whole[:cut].rstrip()
    second = _second_verb(words, at, words[at].start + len(rest))
    if second is not None:
        rest, cut = text[words[at].start : second].rstrip(" ,"), second
    bare = rest
    for start, end in reversed(literals):
        if end <= len(rest):
            bare = bare[:start] + "x" * (end - start) + bare[end:]
    joined = _AND_VERB.findall(bare)
    if _NO_PLAIN_END.search(bare) or not rest or any(verb(word, "third") for word in joined):
        return None, False, -1
    inside = [word for word in words[at:] if word.start - words[at].start < len(rest)]
    if (
        not inside
        or len(inside) > LONGEST_REST
        or inside[-1].low in PREPOSITIONS | DETERMINERS | {"and", "or", "to"}
        or (len(inside) > 1 and inside[-2].low in ("that", "which", "who"))
        or (second is not None and inside[-1].is_adverb)
    ):
        return None, False, -1
    if any(_leans(before, word) for before, word in pairwise([words[at - 1], *inside])):
        return None, False, -1
    return rest, cut is not None, -1 if second is None else second


def _leans(before: Word, word: Word) -> bool:
    """Return whether *word* points at what stands elsewhere; not the "that" of "a flag that skips"."""
    if word.is_literal or word.low in ("its", "their") or (word.low == "that" and before.is_noun_like):
        return False
    return word.low in LEANING or word.low in _NEGATIONS_INSIDE


def _second_verb(words: Sequence[Word], start: int, end: int) -> int | None:
    """Return the offset of an "and" that joins a second verb to the first, before *end*."""
    for at in range(start, len(words) - 1):
        if words[at].end > end or words[at].low in ("that", "which", "who", "whether"):
            return None  # whose verb a second one would be, nobody can tell
        shares_object = at == start + 1 or (at > start + 1 and words[at - 2].low == "to")
        if shares_object and verb(words[at - 1].low, "base"):
            continue  # "ask to explain or follow the rules"
        if words[at].low in ("and", "or", "but") and not words[at + 1].is_literal:
            ahead = at + 1
            while ahead < len(words) - 1 and words[ahead].is_adverb:
                ahead += 1
            word, after = words[ahead], words[ahead + 1] if ahead + 1 < len(words) else words[ahead]
            joins = word.low in AUXILIARIES or (
                word.text.islower()
                and (
                    (
                        (verb(word.low, "third") or verb(word.low, "past"))
                        and (after.low in OBJECT_STARTS - PREPOSITIONS or after.is_literal)
                    )
                    or (verb(word.low, "base") and after.low in DETERMINERS)
                )
            )
            if joins:
                return words[at].start
    return None
