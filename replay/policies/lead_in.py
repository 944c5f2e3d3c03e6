"""
A clause of the previous gold answer, put before a question.

The person who asks takes up what was said, as people do: a sentence stands as it is ("She was born in
Port Ellis. What is it known for?"), a fragment before a colon ("In Port Ellis: What is it known for?").
"""

from __future__ import annotations

import re

from replay.core.conversation import CANNOT_ANSWER
from replay.coreference.reading.clauses import capped, is_clause, sentences
from replay.coreference.reading.substitution import capitalized
from replay.coreference.reading.words import FUNCTION_WORDS, words

PREFIX_WORDS = 15

_UNKNOWN = frozenset(
    {
        CANNOT_ANSWER.lower(), "i don't know", "i do not know", "unknown", "unanswerable", "not known", "n/a",
        "none", "no answer", "no response",
    }
)  # fmt: skip
"""How data sets write that there is no answer."""
_SAYS_NOTHING = FUNCTION_WORDS | {"yes", "yeah", "nope", "sure", "ok", "okay", "maybe", "perhaps", "correct"}
# Bounded, since each line of a long run of empty ones would be looked through to its end.
_MARKUP = re.compile(r"^\s{0,99}+(?:#+|[-*•]|\d+[.)])\s+|\*\*|__|`", re.MULTILINE)


def lead_in(answer: str | None, max_words: int) -> str:
    """
    Return the part of *answer* to put before the next question, with a space at its end; may be empty.

    It is the first sentence that says more than yes or no, cut to *max_words* words: where a clause ends, or
    else after a word, with dots. An unknown answer gives an empty text.
    """
    text = _MARKUP.sub("", answer or "").strip()
    if not text or text.lower().rstrip(".!") in _UNKNOWN:
        return ""
    for sentence in sentences(text):
        if any(word not in _SAYS_NOTHING for word in words(sentence)):
            short = capped(sentence, max_words).rstrip(".!?") or _broken_off(sentence, max_words)
            end = "" if short.endswith("...") else "." if is_clause(short) else ":"
            return f"{capitalized(short)}{end} " if short else ""
    return ""


def _broken_off(sentence: str, max_words: int) -> str:
    kept = sentence.split()[:max_words]
    while len(kept) > 1 and kept[-1].lower() in FUNCTION_WORDS:
        kept.pop()
    return " ".join(kept).rstrip(",;:.(") + " ..."
