"""
A question rewritten so that it can be understood under another history: mentions get the text of
what they refer to.

Substitution alone, with the possessives, capitals and punctuation of English kept right; everything
outside the mentions stays as it was. As people do when they rewrite, only the first pronoun of each
antecedent is replaced ("When did Ann Lee meet her husband?"), and nothing longer than a clause is
put in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from replay.coreference.mentions import PRONOUN_KINDS, REFLEXIVES
from replay.coreference.words import (
    ARTICLES,
    FUNCTION_WORDS,
    comparable_words,
    content_words,
    tokens,
    word_set,
)
from replay.evidence import Reading

MAX_INSERTED_WORDS = 15
"""A longer antecedent is left out: the mention then stays as it is."""
CLAUSE = "clause"
"""The source of a reading whose antecedent is a whole utterance. It goes behind its mention, in
parentheses, since a sentence can't take a noun's place."""
_MAX_INSERTED_CHARACTERS = 160  # the same for text that is written without spaces

_POSSESSIVE_ENDING = re.compile(r"(?:['’]s|s['’])$", re.IGNORECASE)
_SENTENCE_START = re.compile(r"(?:^|[.?!]['\"”’)]*\s)[\s\"'“‘(\[]*$")
_SAID_BY_THE_NAME = word_set(
    """
    man woman men women person people guy time year years period era decade day month week point moment
    date place way thing things question answer
    """
)
"""Nouns that add nothing to the name or date that takes their place."""
_PREPOSITIONS = word_set("in at on from with for during after before by near under")
_DETERMINERS = ARTICLES | word_set("his her its their my our your this that these those")


def rewrite(question: str, readings: Sequence[Reading]) -> str:
    """
    *question* with its mentions replaced by their antecedents, where that says more.

    Left alone are mentions without an antecedent, reflexives, antecedents that the question names
    already, antecedents of more than ``MAX_INSERTED_WORDS`` words, a second pronoun of the same
    antecedent, and any mention that overlaps one already replaced. Returns *question* itself when
    nothing applies.
    """
    pieces: list[str] = []
    named: set[tuple[str, ...]] = set()
    done = 0
    for reading in sorted(readings, key=lambda r: (r.mention.start, -r.mention.end)):
        mention = reading.mention
        if mention.start < done or question[mention.start : mention.end] != mention.text or not mention.text:
            continue
        antecedent = tidy(reading.antecedent or "")
        key = comparable_words(antecedent)
        if mention.kind in PRONOUN_KINDS and key in named:
            continue
        if not _is_insertable(antecedent) or not _says_more(question, reading, antecedent):
            continue
        named.add(key)
        pieces += [question[done : mention.start], _inserted(question, reading, antecedent)]
        done = mention.end
    return "".join([*pieces, question[done:]]) if pieces else question


def tidy(antecedent: str) -> str:
    """On one line, without the punctuation around it."""
    text = " ".join(antecedent.split()).strip(' ,;:!?"“”')
    # "Washington D.C." and "Ray Jr." keep their stop, the end of a sentence doesn't.
    return text.rstrip(".") if re.search(r"[^\W\d_]{4,}\.+$|\d\.+$", text) else text


def with_possessive(text: str, *, plural: bool) -> str:
    """ "Ann Lee's", "the Beatles'"; a text that ends in a possessive stays."""
    if _POSSESSIVE_ENDING.search(text):
        return text
    return f"{text}'" if plural and text[-1:] in "sS" else f"{text}'s"


def at_sentence_start(text: str, position: int) -> bool:
    """Whether a sentence begins at *position*."""
    return _SENTENCE_START.search(text[max(0, position - 40) : position]) is not None


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _is_insertable(antecedent: str) -> bool:
    return (
        any(c.isalnum() for c in antecedent)
        and len(antecedent.split()) <= MAX_INSERTED_WORDS
        and len(antecedent) <= _MAX_INSERTED_CHARACTERS
    )


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


def _inserted(question: str, reading: Reading, antecedent: str) -> str:
    mention = reading.mention
    starts_sentence = at_sentence_start(question, mention.start)
    if reading.source == CLAUSE:
        return f"{mention.text} ({_without_sentence_capital(antecedent)})"
    text = antecedent if starts_sentence else _without_sentence_capital(antecedent)
    first, _, rest = text.partition(" ")
    if rest and first in _PREPOSITIONS and question[: mention.start].lower().split()[-1:] == [first]:
        text = rest  # "in that year" and "in 1990"
    if mention.kind in ("this-noun", "the-noun"):
        text = _with_noun(mention.text, text)
    if mention.possessive:
        text = with_possessive(text, plural=mention.kind == "they" or _is_plural_name(text))
    return capitalized(text) if starts_sentence else text


def _with_noun(mention: str, antecedent: str) -> str:
    """ "this album" and "Thriller" make "the album Thriller"; a whole noun phrase stands alone."""
    _, _, noun = mention.partition(" ")
    head = noun.split()[-1].lower() if noun.split() else ""
    line = tokens(antecedent)
    if line[0].text in _PREPOSITIONS and head not in _SAID_BY_THE_NAME:
        return f"the {noun.strip()} {antecedent}"
    if head in _SAID_BY_THE_NAME or line[0].normal in _DETERMINERS or not line[0].is_capitalized:
        return antecedent
    if any(token.normal.rstrip("s") == head.rstrip("s") for token in line):
        return antecedent
    is_name = all(t.is_capitalized or t.normal in FUNCTION_WORDS or not t.text[0].isalpha() for t in line)
    return f"the {noun.strip()} {antecedent}" if is_name else antecedent


def _without_sentence_capital(antecedent: str) -> str:
    """ "The first album" from a sentence's start becomes "the first album"; "The Beatles" stays."""
    first, _, rest = antecedent.partition(" ")
    opens_phrase = rest and not rest[0].isupper() and first.lower() in FUNCTION_WORDS and first != "I"
    return first.lower() + " " + rest if opens_phrase and first[1:].islower() | (first == "A") else antecedent


def _is_plural_name(text: str) -> bool:
    """ "the Beatles", "the United States", but not "Charles"."""
    return text.lower().startswith("the ") and text[-1:] in "sS" and text[-2:].lower() != "ss"
