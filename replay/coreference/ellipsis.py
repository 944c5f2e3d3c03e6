"""
The wording of what a question leaves out: "What else did he do?" -> "What else did he do besides Blue Sky?"

A mention of the kind "ellipsis" is a place in a question, and what is put there is a frame and the
antecedent: "besides", a preposition that the word before it asks for ("the phone number of", "care
about"), the one of a time ("in 2019"), or none behind a noun that only lacks its name ("the film"). The
words were counted in what people insert when they rewrite questions of CANARD, QReCC, GECOR, PACIFIC,
CAsT and iKAT, and kept where the sets agree. Where nothing says which frame it takes, there is none: a
question that stays as it was harms nobody.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from replay.core.drift_evidence import Mention
from replay.coreference.leaning import PREPOSITIONS, time_phrase
from replay.coreference.substitution import GROUP_NOUNS, WORK_NOUNS
from replay.coreference.words import FUNCTION_WORDS, Token, tokens, word_set

_MAX_WORDS = 8
_BESIDES = re.compile(r"\b(?:else|elsewhere|others?|another|additional)\b", re.IGNORECASE)
_OTHER_THINGS = re.compile(
    r"\b(?:other|another) (?:than|hand|side|words|day|night)\b|\beach other\b", re.IGNORECASE
)
_FRAGMENT = re.compile(
    r"^(?:and|or|but|so|ok|okay|yes|no)?[\s,]*(?:(?:what|how) about|and|or)\b", re.IGNORECASE
)
_HAPPENED = re.compile(r"^(?:and\s)?(?:what|did\sanything)\b.*\bhappen(?:ed|s)?\b", re.IGNORECASE)
_LEAST_WORDS = 3
_QUESTION_WORDS = word_set("what who whom where when why how which that")
_ASKS = word_set(
    """
    what who whom where when why how which is are was were am do does did has have had can could will would
    should may might i i'd please tell give need want like describe list name explain show find looking
    provide
    """
)
"""What one of stands in everything that asks; "Pre-contract costs." asks by the question before."""
_PART_OF_TOWN = re.compile(
    r"^(?:the|a|an)\s.*\b(?:north|south|east|west|centre|center|part|side|area|region|district|town|range)$",
    re.IGNORECASE,
)
_FRAMES = {
    word: frame
    for frame, listed in {
        "of": """number numbers address postcode code range area type types kind kinds name names population
            capital size meaning definition history cause causes symptoms benefits benefit advantages
            disadvantages price prices cost costs color director author founder purpose origin result results
            members member examples example characteristics importance length height weight age value values
            percentage average sum total features drawbacks risks sides location score""",
        "about": "care know think say said information details learn hear article interesting concerned",
        "on": "preference preferences opinion opinions",
        "in": "change increase decrease difference involved role restaurant restaurants food interested",
        "than": "better worse cheaper faster bigger larger smaller older younger easier safer stronger",
        "for": "award awards reason reasons recipe recipes treatment treatments requirements responsible",
        "with": "help wrong",
        "to": "similar related compared happened respond react",
        "after": "next afterwards later",
    }.items()
    for word in listed.split()
}
_IS = word_set("is are was were")
_DOES = word_set("do does did has have had can could will would should")
_PASSED_OVER = word_set("please too also again now exactly then")
"""Words that may stand between the place and the word that decides."""


def worded(question: str, mention: Mention, antecedent: str) -> str | None:
    """
    What *question* gets at the place of *mention*, an empty span; *antecedent* is tidy.

    None where no wording would do: for a fragment ("2019?", "What about the fees?"), and where neither
    the words before the place nor the antecedent say how it is to be joined.
    """
    before = re.split(r"[.?!]\s+", question[: mention.start])[-1]
    said = [token for token in tokens(before) if token.is_word]
    while said and said[-1].normal in _PASSED_OVER:
        said.pop()
    line = [token for token in tokens(antecedent) if token.is_word]
    if len(said) < _LEAST_WORDS or not line or len(line) > _MAX_WORDS or _FRAGMENT.match(before.strip()):
        return None
    last = said[-1].normal
    if last in PREPOSITIONS or (antecedent[0].isdigit() and time_phrase(antecedent) is None):
        return None  # "What is it about?" asks for it, and an amount is no part of a question
    if not _ASKS.intersection(token.normal for token in said) or line[0].normal in _QUESTION_WORDS:
        return None
    if time := time_phrase(antecedent):
        return None if re.search(r"\b(?:1\d|20)\d\d\b|\bwhen\b", question, re.IGNORECASE) else time
    if line[0].normal in PREPOSITIONS:
        return f"{antecedent[0].lower()}{antecedent[1:]}"
    frame = _FRAMES.get(last)
    if _PART_OF_TOWN.search(antecedent) and frame in (None, "in", "after"):
        return f"in {antecedent}"
    if _BESIDES.search(before) and not _OTHER_THINGS.search(before):
        return f"besides {antecedent}"
    named = any(t.is_capitalized for t in line if t.normal not in FUNCTION_WORDS)
    if last in WORK_NOUNS | GROUP_NOUNS and len(said) > 1 and said[-2].normal == "the":
        return antecedent if named and line[0].normal not in ("a", "an", "his", "her", "their") else None
    if frame is None and _HAPPENED.match(before):
        frame = "to"
    elif frame is None and _asks_for_a_part(said):
        frame = "of"
    return f"{frame} {antecedent}" if frame else None


def _asks_for_a_part(said: Sequence[Token]) -> bool:
    """ "What is the scientific name": of what?"""
    if said[-1].normal in FUNCTION_WORDS or said[-1].is_capitalized:
        return False
    at = len(said) - 2
    while at > 0 and len(said) - at < 4 and said[at].normal not in FUNCTION_WORDS:
        at -= 1
    before = said[at - 1].normal if at else ""
    predicate = before in _DOES or (before in _IS and at == 1)
    return said[at].normal == "the" and not predicate  # not "Was the film good?"
