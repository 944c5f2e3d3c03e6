"""Which noun phrases say by themselves what they mean, and which only the page around them tells."""

from __future__ import annotations

import re
from collections.abc import Sequence

from replay.coreference.reading.words import word_set
from replay.synthesis.documents.document import SourceSentence
from replay.synthesis.questions.phrases import noun_phrase
from replay.synthesis.questions.verbs import verb
from replay.synthesis.questions.words import DETERMINERS, LEANING, PREPOSITIONS, Vocabulary, Word, words_of

VAGUE = word_set(
    """
    value values option options command commands file files example examples page section table list
    result results output input step steps process method methods function functions argument arguments
    parameter parameters field fields name names number numbers type types object objects class item
    items default reason purpose goal idea case cases way ways thing things problem issue problems
    issues change changes difference version system user users code data first second third last rest
    part parts point note time key keys line lines string text message error errors setting settings
    feature features behavior behaviour approach answer question attribute attributes property
    properties information content contents document documentation tool tools test tests project team
    variable variables column columns row rows
    """
)
"""Heads of noun phrases that name nothing by themselves."""
_META = word_set(
    """
    documentation docs page article post example examples table figure diagram section guide tutorial
    screenshot list
    """
)
"""Heads of noun phrases that mean the document itself."""
_OPENINGS = word_set(
    """
    available new both old resulting provided given perhaps maybe first second third fourth fifth last next
    rest
    only following main additional different another two three four five lot number someone something anything
    couple few bit everything everyone anyone nothing people most some many all both none
    """
)
"""First words of noun phrases that only their surroundings complete."""
_POINTING_ADJECTIVES = word_set(
    """
    resulting given new old specified selected corresponding respective provided generated equivalent actual
    available remaining desired appropriate proper correct relevant entire first second third last next
    necessary
    """
)
"""What "the" goes with where something was spoken of before."""
_SHOWN = word_set("section statement example variant snippet sample line screenshot diagram listing figure")
"""What "the products ..." means that a page shows."""
_KNOWN_TO_ALL = word_set(
    """
    user users browser internet world web network terminal keyboard screen mouse clock time day week month
    year future past end start beginning background
    """
)
"""What "the" needs no telling before."""


def names_something(words: Sequence[Word], known: Vocabulary) -> bool:
    """Return whether the noun phrase *words* says by itself what it means."""
    inside = [word for word in words if word.low not in DETERMINERS]
    if not inside or any(word.low in LEANING and not word.is_literal for word in inside):
        return False
    if inside[0].low in _OPENINGS or (
        verb(inside[0].low, "gerund") is not None and inside[0].text[:1].isupper()
    ):
        return False
    if any(word.is_literal and re.search("[A-Za-z]", word.text) for word in inside):
        return len(inside) > 1 or not (inside[0].text.isalpha() and inside[0].text.islower())
    head = words[noun_phrase(words, 0) - 1].low
    if head in _META:
        return False
    content = [word for word in inside if word.low not in PREPOSITIONS]
    if len(content) >= 2:
        return not all(word.low in VAGUE for word in content)
    word = content[0]
    if word.low in VAGUE or len(word.low) < 3:
        return False
    if words[0].low in ("the", "your"):
        return known.has_named(word.low)
    return (
        word is not words[0] or word.text in known.names or (word.low in known.common and word.low[-1] == "s")
    )


_COMPARES = re.compile(r"\b(?:older|newer|earlier|later|higher|lower|bigger|smaller|larger)\b(?!.*\bthan\b)")
_NAMES_LITTLE = re.compile(r"(?<!\w)(?:-\w|[A-Z]{1,3}|my[A-Z]\w*|step \d+|steps)(?!\w)")
"""Short options, abbreviations, names of examples and steps, which mean something on their own page alone."""


def _acts(word: Word, following: Sequence[Word]) -> bool:
    """Return whether *word* after a noun is its verb, as far as *following* tells: "the command finishes"."""
    ends = any(one.low in DETERMINERS | PREPOSITIONS or not one.text[:1].isalnum() for one in following)
    return verb(word.low, "base") is not None or (ends and verb(word.low, "third") is not None)


def is_told_elsewhere(question: str, known: Vocabulary) -> bool:
    """Return whether *question* speaks of something that only the page around it tells ("the form")."""
    if _COMPARES.search(question) or _NAMES_LITTLE.search(question.replace("I ", "").replace("I'", "")):
        return True
    words = words_of(SourceSentence(text=question, start=0))
    for at, (word, noun, after) in enumerate(zip(words, words[1:], [*words[2:], None], strict=False)):
        thing = noun.text.removesuffix("'s").removesuffix("’s")
        if word.low != "the" or thing[:1].isupper() or not thing.isalpha():
            continue
        is_done = thing.endswith("ed") and verb(thing, "participle") is not None
        if thing in _POINTING_ADJECTIVES or (is_done and not known.has_named(thing)):
            return True
        if after is not None and after.low.removesuffix("s") in _SHOWN and not noun.is_literal:
            return True
        goes_on = after is not None and (after.is_noun_like or after.low == "of")
        if after is not None and goes_on and not _acts(after, words[at + 3 : at + 4]):
            continue
        if thing not in _KNOWN_TO_ALL and not known.has_named(thing):
            return True
    return False
