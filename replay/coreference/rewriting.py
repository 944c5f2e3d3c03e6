"""
A question rewritten so that it can be understood under another history: mentions get the text of
what they refer to.

Substitution alone, with the articles, possessives, capitals and punctuation of English kept right
(``replay.coreference.substitution``); outside the mentions nothing changes but a verb that must agree
("Are they touring?" -> "Is Slipknot touring?"). As people do when they rewrite, only the first mention
of each antecedent is replaced ("When did Ann Lee meet her husband?"), and nothing longer than a clause
is put in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from replay.core.conversation import CANNOT_ANSWER
from replay.core.drift_evidence import Reading
from replay.coreference.mentions import REFLEXIVES
from replay.coreference.substitution import CLAUSE, capitalized, in_place, is_name
from replay.coreference.words import comparable_words, content_words

MIN_PROBABILITY = 0.2
"""Best BLEU and exact match on CANARD's development half are had from 0.15 to 0.3: a reading that is right
every second time mends more questions than it spoils."""
_MAX_INSERTED_CHARACTERS = 160  # for text that is written without spaces
_MAX_CLAUSE_CHARACTERS = 1000

_SINGULAR = {
    "are": "is", "were": "was", "do": "does", "have": "has",
    "aren't": "isn't", "weren't": "wasn't", "don't": "doesn't", "haven't": "hasn't",
}  # fmt: skip
_LOOSE_END = re.compile(r"^(?:and|or)\s+|\s+(?:the|The|and|of)$")
_AGREEING = re.compile(rf"\b({'|'.join(_SINGULAR)})(?=\s+$)", re.IGNORECASE)


def rewrite(question: str, readings: Sequence[Reading], *, min_probability: float = MIN_PROBABILITY) -> str:
    """
    *question* with its mentions replaced by their antecedents, where that says more.

    Left alone are mentions without an antecedent, readings with a distribution that gives their
    antecedent less than *min_probability*, reflexives, antecedents that the question names already,
    antecedents of more than ``MAX_INSERTED_WORDS`` words that are no clauses, a second mention of the
    same antecedent, and any mention that overlaps one already replaced. Returns *question* itself
    when nothing applies.
    """
    pieces: list[str] = []
    named: set[str] = set()
    done = 0
    for reading in sorted(readings, key=lambda r: (r.mention.start, -r.mention.end)):
        mention = reading.mention
        if mention.start < done or question[mention.start : mention.end] != mention.text or not mention.text:
            continue
        antecedent = tidy(reading.antecedent or "")
        said = set(comparable_words(antecedent))
        if said <= named or certainty(reading) < min_probability:
            continue
        if not _is_insertable(antecedent, reading) or not _says_more(question, reading, antecedent):
            continue
        put = in_place(question, reading, antecedent)
        if put is None:
            continue
        named |= said
        pieces += [_agreeing(question[done : mention.start], reading, antecedent), put]
        done = mention.end
    return "".join([*pieces, question[done:]]) if pieces else question


def tidy(antecedent: str) -> str:
    """On one line, without the punctuation around it."""
    text = " ".join(antecedent.split()).strip(' ,;:!?"“”')
    text = _LOOSE_END.sub("", text) or text
    # "Washington D.C." and "Ray Jr." keep their stop, the end of a sentence doesn't.
    return text.rstrip(".") if re.search(r"[^\W\d_]{4,}\.+$|\d\.+$", text) else text


def certainty(reading: Reading) -> float:
    """The probability of the reading's antecedent, in [0, 1]; 1 where there is no distribution."""
    if not reading.distribution:
        return 1.0
    return sum(probability for probability, text in reading.distribution if text == reading.antecedent)


def _is_insertable(antecedent: str, reading: Reading) -> bool:
    longest = _MAX_CLAUSE_CHARACTERS if reading.source == CLAUSE else _MAX_INSERTED_CHARACTERS
    return any(c.isalnum() for c in antecedent) and len(antecedent) <= longest and antecedent != CANNOT_ANSWER


def _says_more(question: str, reading: Reading, antecedent: str) -> bool:
    mention = reading.mention
    if mention.text.lower() in REFLEXIVES:
        return False
    around = f"{question[: mention.start]} {question[mention.end :]}"
    new = set(comparable_words(antecedent)) - set(content_words(around))
    if mention.kind != "other":
        return bool(new)
    # A resolver may link names and whole noun phrases too. Those mean something as they stand, so
    # only a fuller form of the same words takes their place ("Zappa" -> "Frank Zappa").
    own = content_words(mention.text)
    return bool(own) and set(own) < set(content_words(antecedent)) and bool(new - set(own))


def _agreeing(before: str, reading: Reading, antecedent: str) -> str:
    """*before* with its last verb in the singular, where "they" became one name."""
    if reading.mention.kind != "they" or reading.mention.possessive or not _is_singular_name(antecedent):
        return before

    def singular(found: re.Match[str]) -> str:
        verb = _SINGULAR[found[1].lower()]
        return capitalized(verb) if found[1][0].isupper() else verb

    return _AGREEING.sub(singular, before)


def _is_singular_name(text: str) -> bool:
    joined = re.search(r"\band\b|\bor\b|[&,+/]", text, re.IGNORECASE)
    plural = text[-1:].lower() == "s" or text.lower().startswith("the ")
    return is_name(text) and not joined and not plural
