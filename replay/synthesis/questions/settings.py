"""What a page tells and a question on it does not: taken from the headings that it stands under."""

from __future__ import annotations

import re
from collections.abc import Sequence

from replay.coreference.reading.words import content_words, word_set
from replay.synthesis.questions.verbs import gerund, verb
from replay.synthesis.questions.words import in_first_person, points

LONGEST_HEADING = 7
"""Words."""
_SAYS_NOTHING = word_set(
    """
    overview syntax introduction notes note usage options option description example examples parameters
    parameter summary background details general other misc prerequisites requirements reference
    references about more faq questions answers synopsis output input result results see also features
    limitations known issues troubleshooting configuration settings setup getting started basics basic
    advanced guide documentation docs tips steps step what why how response request responses requests
    fields field default defaults
    """
)
_ACTS = word_set(
    """
    install configure set create add remove update upgrade enable disable use run build deploy connect
    delete start stop restart change manage write test make reload migrate install
    secure publish choose get send receive move rename restore join
    """
)
"""Verbs that open a heading and hardly ever are nouns or adjectives there."""
_HOW_TO = re.compile(r"^(?:how (?:to|do i|do you|can i|can you)) ", re.IGNORECASE)


def setting_of(question: str, title: str, headings: Sequence[str]) -> str:
    """
    Return what tells where *question* belongs, if nothing in it does: "About TLS", "When joining a node".

    Empty where a word of it stands in a heading or in the *title*, or where none of them says anything.
    """
    asked = {_stem(word) for word in content_words(question)}
    above = [*reversed(headings), title]
    if any(asked & {_stem(word) for word in content_words(heading)} for heading in above):
        return ""
    return next((found for heading in above if (found := _setting(heading))), "")


def _setting(heading: str) -> str:
    said = heading.strip(" .:?!`")
    words = said.split()
    if not words or len(words) > LONGEST_HEADING or points(said) or not re.match(r"[A-Za-z]", said):
        return ""
    if all(word.lower().strip(",()") in _SAYS_NOTHING for word in words) or heading.strip().endswith("?"):
        return ""
    how_to = _HOW_TO.sub("", said)
    first, _, thing = how_to.partition(" ")
    base = verb(first.lower(), "gerund") or verb(first.lower(), "base")
    if base is not None and thing and (base in _ACTS or how_to != said):
        return f"When {gerund(base)} {in_first_person(thing)}"
    return "" if how_to != said else f"About {said}"


def _stem(word: str) -> str:
    return re.sub(r"(?:ies|es|s|ing|ed)$", "", word)
