"""
A question rewritten so that it can be understood under another history: mentions get the text of
what they refer to.

Substitution alone, with the articles, possessives, capitals and punctuation of English kept right
(``replay.coreference.substitution``); outside the mentions nothing changes. As people do when they
rewrite, only the first mention of each antecedent is replaced ("When did Ann Lee meet her husband?"),
and a clause is never put in: of "Wine is made of grapes" at most "wine" takes the place of "it".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from replay.core.conversation import CANNOT_ANSWER
from replay.core.drift_evidence import Reading
from replay.coreference.clauses import is_clause, phrase_of
from replay.coreference.ellipsis import worded
from replay.coreference.fitting import fits
from replay.coreference.mentions import REFLEXIVES
from replay.coreference.substitution import CLAUSE, TITLES, in_place
from replay.coreference.words import comparable_words, content_words

MIN_PROBABILITY = 0.2
"""Best BLEU and exact match on CANARD's development half are had from 0.15 to 0.3: a reading that is right
every second time mends more questions than it spoils."""
_MAX_INSERTED_CHARACTERS = 160  # for text that is written without spaces

_AT_A_TIME = re.compile(r"\bat (?:this|that) (?:time|point|moment)$", re.IGNORECASE)
_LOOSE_VERB = re.compile(
    r"(?<=\w\s)(?<!\bthe\s)(?<!\ba\s)(?:serves|began|begins|is|was|includes?|provides?|represents?|received"
    r"|released|called|titled|named|required)$"
)
"""What a noun phrase that was cut out of a sentence may end in: "his memoirs called"."""
_LOOSE_END = re.compile(r"^(?:and|or)\s+|\s+(?:the|The|and|of)$")


def rewrite(question: str, readings: Sequence[Reading], *, min_probability: float = MIN_PROBABILITY) -> str:
    """
    *question* with its mentions replaced by their antecedents, where that says more.

    Left alone are mentions without an antecedent, readings with a distribution that gives their
    antecedent less than *min_probability*, reflexives, antecedents that the question names already,
    antecedents of more than ``MAX_INSERTED_WORDS`` words, clauses of which no noun phrase can be had,
    what can't stand in the mention's place (``replay.coreference.fitting``), a second mention of the same
    antecedent, and any mention that overlaps one already replaced. Returns *question* itself
    when nothing applies.
    """
    pieces: list[str] = []
    named: set[str] = set()
    done = 0
    for reading in sorted(readings, key=lambda r: (r.mention.start, -r.mention.end)):
        mention = reading.mention
        if mention.start < done or question[mention.start : mention.end] != mention.text:
            continue
        if certainty(reading) < min_probability:
            continue
        reading = _standing(_widened(question, reading))
        mention, antecedent = reading.mention, reading.antecedent or ""
        said = set(comparable_words(antecedent))
        if mention.start < done or said <= named or not _is_insertable(antecedent):
            continue
        if not _says_more(question, reading, antecedent) or not fits(question, mention, antecedent):
            continue
        if mention.kind == "ellipsis":
            put = _spaced(question, mention.start, worded(question, mention, antecedent, reading.source))
        elif mention.text:
            put = in_place(question, reading, antecedent)
        else:
            put = None
        if put is None:
            continue
        named |= said
        pieces += [question[done : mention.start], put]
        done = mention.end
    return "".join([*pieces, question[done:]]) if pieces else question


def _spaced(question: str, at: int, put: str | None) -> str | None:
    """*put* with the spaces that it needs at the position *at* of *question*."""
    if put is None:
        return None
    before = "" if question[:at][-1:].isspace() or at == 0 else " "
    after = " " if question[at : at + 1].isalnum() else ""
    return f"{before}{put}{after}"


def _standing(reading: Reading) -> Reading:
    """With the antecedent as it may stand in the mention's place; "" where a clause gives no such phrase."""
    antecedent = tidy(reading.antecedent or "")
    if reading.source == CLAUSE or (reading.source not in TITLES and is_clause(antecedent)):
        phrase = phrase_of(reading.antecedent or "", reading.mention) or ""
        return replace(reading, antecedent=tidy(phrase), source="phrase")
    if reading.source in ("phrase", "words"):
        antecedent = _LOOSE_VERB.sub("", antecedent).rstrip()
    # Whose "your plan" and "our shop" are depends on who said it; asked again, it is "the plan".
    return replace(reading, antecedent=re.sub(r"^(?:your|our)\s(?=[a-z])", "the ", antecedent, flags=re.I))


def _widened(question: str, reading: Reading) -> Reading:
    """With the "at" of "at that time" in the mention, since "in 1990" takes the place of both."""
    mention = reading.mention
    found = _AT_A_TIME.search(question[: mention.end]) if mention.kind == "this-noun" else None
    if found is None or found.start() >= mention.start:
        return reading
    wider = replace(mention, start=found.start(), text=found[0], kind="then")
    return replace(reading, mention=wider)


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


def _is_insertable(antecedent: str) -> bool:
    short = len(antecedent) <= _MAX_INSERTED_CHARACTERS
    return any(c.isalnum() for c in antecedent) and short and antecedent != CANNOT_ANSWER


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
