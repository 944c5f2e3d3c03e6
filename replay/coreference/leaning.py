"""
The wording of what stands for one of several, a place or a time: "the second one", "there", "by then".

``replay.coreference.substitution`` asks for these by the mention's kind; each function returns None
where no wording would do.
"""

from __future__ import annotations

import re

from replay.core.drift_evidence import Mention
from replay.coreference.fitting import is_plural
from replay.coreference.words import ARTICLES, FUNCTION_WORDS, content_words, tokens, word_set

_OF_THEM = re.compile(r"\bof\s+(?:them|these|those|the (?:two|three|four|five))$", re.IGNORECASE)
_COMPARED = re.compile(
    r"^the\s+(?:(?!(?:other|former|latter|first|last|next)\b)\w+(?:er|est)|(?:more|most|less|least)\s+\w+"
    r"|best|better|worst|worse)\b",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(in|at|on|to|from|near|around|by|since|until|till|before|after|during|over|inside|outside|behind)\s+",
    re.IGNORECASE,
)
_MOVES = word_set(
    """
    go goes going went gone get gets getting got travel traveled travelled traveling fly flies flew flying
    drive drove driving walk walking move moved moving come comes came coming return returned bring brings
    brought send sent ship head headed relocate relocated trip
    """
)
"""Verbs after which "there" is where something goes, one word between at most: "moved back there"."""
_BUILDINGS = word_set(
    """
    university college school academy institute museum gallery hotel restaurant cafe bar pub company airport
    station theatre theater hospital church cathedral clinic club library shop store bank office stadium tate
    company corporation studio studios camp embassy court zoo palace castle records
    """
)
_FOLLOWS_ANYTHING = word_set("please instead too today now exactly again still really cost costs")
PREPOSITIONS = word_set(
    """
    in at on from to near around of about like by with for during since until till before after through into
    over within towards toward besides outside inside behind between past
    """
)
_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)
_ON = re.compile(
    rf"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:{_MONTHS})\.?\s+\d\d?(?:st|nd|rd|th)?\b(?!\d)"
    rf"|\b\d\d?(?:st|nd|rd|th)?(?:\s+of)?\s+(?:{_MONTHS})\b|\b\d\d?(?:st|nd|rd|th)$|\bday\b",
    re.IGNORECASE,
)
_AT = re.compile(r"^(?:\d\d?[:.]\d\d|\d\d?\s*(?:am|pm|a\.m\.|p\.m\.|o'clock)|noon|midnight)", re.IGNORECASE)
_IN = re.compile(
    rf"\b1\d\d\d|\b20\d\d|\b\d0s\b|^(?:the\s+)?(?:{_MONTHS}|spring|summer|autumn|fall|winter)\b|\bcentury\b"
    r"|\b(?:morning|afternoon|evening)\b",
    re.IGNORECASE,
)
_BARE = re.compile(r"^(?:last|next|this|tomorrow|yesterday|today|tonight)\b|\b(?:ago|later)$", re.IGNORECASE)


def one_of_several(mention: Mention, antecedent: str, after: str) -> str | None:
    """
    "the second one" -> "the Vento 15"; "which of them" -> "which of DHL and Hermes"; "the cheaper one" with
    two to choose from -> "the cheaper one of DHL and Hermes".
    """
    several = is_plural(antecedent)
    said = re.sub(r"['’]s?$", "", mention.text.lower())
    if of_them := _OF_THEM.search(mention.text):
        if several:
            return f"{mention.text[: of_them.start()]}of {_definite(antecedent)}"
        return _definite(antecedent) if _COMPARED.match(said) else None
    if said in ("which one", "which ones", "which"):
        return f"{mention.text} of {_definite(antecedent)}" if several else None
    if not said.startswith("the ") or (_goes_on(after) and not said.endswith(("one", "ones"))):
        return None  # "the other album" is not "the other"
    if several and _COMPARED.match(said):
        return f"{mention.text} of {_definite(antecedent)}"
    if several and not said.endswith(("ones", "others", "two", "three")):
        return None
    return _definite(antecedent)


def at_a_place(before: str, mention: Mention, place: str) -> str | None:
    """ "there" -> "in Rome", "at the Tate", "to Rome" after a verb of motion; "from there" -> "from Rome"."""
    if any(char.isdigit() for char in place.split()[0]) or _is_time(place):
        return None
    own = _OPENING.match(place)
    lead = mention.text.lower().removesuffix("there").strip()
    bare = place[own.end() :] if own else place
    last = _last_word(before)
    if lead or last in PREPOSITIONS:
        return f"{mention.text[: len(lead)]} {bare}".strip()
    if _MOVES.intersection(before.lower().split()[-2:]):
        return f"to {bare}"
    if own:
        return place[:1].lower() + place[1:]
    if not any(token.is_capitalized for token in tokens(place)) and place.split()[0] not in ARTICLES:
        return None
    return f"{'at' if _BUILDINGS.intersection(content_words(place)) else 'in'} {bare}"


def at_a_time(before: str, mention: Mention, time: str, after: str) -> str | None:
    """ "then", "at that time" -> "in 1990"; "that day" -> "on Tuesday"; "by then" -> "by Tuesday"."""
    phrase = time_phrase(time)
    if phrase is None or _goes_on(after):
        return None  # "at that year end" is no year
    own = _OPENING.match(phrase)
    bare = phrase[own.end() :] if own else phrase
    lead = _OPENING.match(mention.text)
    if lead and lead[1].lower() not in ("in", "at", "on"):
        return f"{lead[1]} {bare}"
    if not lead and _last_word(before) in PREPOSITIONS:
        return bare
    return phrase


def time_phrase(time: str) -> str | None:
    """ "1990" -> "in 1990", "Tuesday" -> "on Tuesday", "next week" -> itself; None for what is no time."""
    own = _OPENING.match(time)
    bare = time[own.end() :] if own else time
    if not _is_time(bare):
        return None
    if own:
        return time[:1].lower() + time[1:]
    if _BARE.search(bare):
        return bare
    decade = re.match(r"\d+s\b", bare)  # the 1970s
    return (
        f"{'on' if _ON.search(bare) else 'at' if _AT.search(bare) else 'in'} {'the ' if decade else ''}{bare}"
    )


def _is_time(text: str) -> bool:
    return len(text.split()) <= 6 and any(form.search(text) for form in (_ON, _AT, _IN, _BARE))


def _definite(phrase: str) -> str:
    opening, _, rest = phrase.partition(" ")
    return f"the {rest}" if rest and opening.lower() in ("a", "an", "this", "that") else phrase


def _last_word(before: str) -> str:
    found = re.search(r"([\w'’]+)\s+$", before)
    return found[1].lower() if found else ""


def _goes_on(after: str) -> bool:
    found = re.match(r"\s+([\w'’]+)", after)
    return found is not None and found[1].lower() not in FUNCTION_WORDS | _FOLLOWS_ANYTHING
