"""
Whether an antecedent can stand where a mention stands.

A reading can be wrong, and then its antecedent is often no thing that the mention could mean: a greeting
with a capital, a price, a date for a person, one thing for several. Such a question is better left as it
was. Told by words alone, so a good reading is refused now and then; a question that stays says less, and
never something wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from replay.core.drift_evidence import Mention, MentionKind
from replay.coreference.words import FUNCTION_WORDS, Token, content_words, tokens, word_set

_SAID_ALONE = word_set(
    """
    hello hi hey please thanks thank yes no ok okay sure sorry great good goodbye bye well welcome right
    maybe perhaps perfect nice interesting awesome cool wow tell ask suggest scan show give find look looking
    explain describe list compare recommend include includes included shown given based used using get got
    want need like let make see try check book note once twice often soon always never usually daily cost
    care help shown acquired presented related respective following unfortunately alternatively additionally
    currently
    """
)
"""Words with the capital of a sentence's start, or plain ones, that name nothing when they stand alone."""
_RELATIVES = word_set("that which who whose whom where")
_CALENDAR = word_set(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july
    august september october november december today tomorrow yesterday tonight
    """
)
_NOW = re.compile(r"this (?:day|week|weekend|month|year|morning|afternoon|evening)|today", re.IGNORECASE)
"""What the calendar says, and not the conversation."""
_UNITS = word_set(
    """
    euro dollar pound cent usd eur gbp percent per million billion thousand hundred dozen second minute hour
    day week month year decade kg g mg lb km m cm mm mile metre meter foot gb mb degree time people point
    """
)
AMOUNT_NOUNS = word_set("amount price cost fee rate number figure sum value percentage rating score")
_PEOPLE_ROLES = word_set(
    """
    man woman boy girl father mother brother sister son daughter husband wife child uncle aunt friend partner
    king queen president minister doctor director manager leader owner author singer actor actress teacher
    coach boss chef agent assistant artist writer player lawyer nurse driver officer captain
    """
)
_NO_PERSON = word_set(
    """
    university college school company corporation records news newspaper times herald journal league city
    church club association orchestra county state department museum award awards championship cup
    series film album song tour war battle band hotel restaurant airport station museum
    phone number address price council ministry agency committee festival studios entertainment
    """
)
_IRREGULAR_PLURALS = word_set("people children men women police media data")
_SINGULAR_IN_S = word_set("series species news physics mathematics politics economics means")
_NEEDS_SEVERAL = re.compile(
    r"\b(?:between|among|compare"
    r"|(?:which|one|any|some|each|both|all|most|many|none|neither|either|two|three|\d+) of)\s+$",
    re.IGNORECASE,
)
_SET_PHRASES = re.compile(
    r"\b(?:that(?:['’]s| is| was| will be)? (?:it|all|fine|ok|okay|great|good|enough|right|correct|cool)\b"
    r"|that(?: will| would| should|['’]ll) (?:do|be)(?: it| all)?\b"
    r"|(?:sorry|sad) (?:about|for|to hear) (?:that|this|it)\b"
    r"|(?:how|what) about (?:that|this|it|those|these)(?=\s*[?.!]|$)"
    r"|when it comes to\b|believe it or not|make it\b|is it (?:like|possible) to\b"
    r"|it (?:mean|take|feel|cost) (?:\w+ )?to\b)",
    re.IGNORECASE,
)
_DOING = re.compile(
    r"\w{2,}ing\s(?:a|an|the|my|your|his|her|their|its|our|of|in|for|with|to)\s",
    re.IGNORECASE,
)
_GROUPS = word_set(
    """
    band group team company couple family duo trio quartet crew club orchestra party army government council
    police school university league association agency corporation court public crowd audience community
    church tribe nation side staff board committee union network studio label gang army navy senate parliament
    """
)
"""Nouns whose singular is spoken of as "they"."""
_NATIONAL = word_set(
    """
    african american arab arabic asian australian brazilian british canadian cantonese catholic chinese
    christian cuban danish dutch english european french german greek indian indonesian irish islamic
    italian jamaican japanese jewish korean latin lebanese mediterranean mexican moroccan muslim norwegian
    polish portuguese roman russian scottish spanish swedish thai turkish vietnamese welsh western eastern
    """
)
"""Adjectives with a capital: "Italian" alone is no restaurant."""
_PART_OF_TOWN = re.compile(r"\b(?:part|side|area|range|centre|center|town|north|south|east|west)$")
_ATTRIBUTES = word_set("address addresses number numbers postcode price prices phone name")
"""What a thing has, and is hardly ever asked about for itself."""
_SAID_EARLIER = re.compile(r"\b(?:my|our)\s+\w", re.IGNORECASE)
_THEM_EARLIER = re.compile(
    r"\b(?:some|these|those|many|any|other|more|with|of|for)\s+(?:\w+\s+)?\w+s\b", re.IGNORECASE
)
_TIME_KINDS: frozenset[MentionKind] = frozenset({"then", "ellipsis", "one"})


def is_plural(text: str) -> bool:
    """Whether *text* speaks of several, as far as its noun's form and an "and" tell."""
    if re.search(r"\w\s+and\s+\w|, \w|\d\s*(?:-|–|to)\s*\d", text):
        return True
    head = head_of(text)
    if head in _IRREGULAR_PLURALS:
        return True
    return head.endswith("s") and not head.endswith(("ss", "us", "is")) and head not in _SINGULAR_IN_S


def head_of(text: str) -> str:
    """The normal form of the noun that *text* is about: "line" of "the line of the song"; may be empty."""
    before = re.split(r"\s(?:of|in|for|from|at|on|with|to|by|about|that|which|who)\s", text, maxsplit=1)[0]
    said = [token.normal for token in tokens(before) if token.is_word]
    return said[-1] if said else ""


def fits(question: str, mention: Mention, antecedent: str) -> bool:
    """Whether *antecedent*, tidy and not blank, may stand in *question* in the place of *mention*."""
    return not any(refuses(question, mention, antecedent) for refuses in REFUSALS)


def _line(text: str) -> list[Token]:
    return [token for token in tokens(text) if token.is_word]


def _has_name(text: str) -> bool:
    """Whether a word of *text* could be one of a name: it has a capital, or a script without any."""
    telling = [t for t in _line(text) if t.normal not in FUNCTION_WORDS]
    return any(t.text[0].isalpha() and not t.text[0].islower() for t in telling)


def _names_nothing(question: str, mention: Mention, antecedent: str) -> bool:
    """ "Hello", "Suggest", "Looking", "become prime minister"."""
    line = _line(antecedent)
    if not line or any(t.text in ("please", "thanks") for t in line) or line[0].text in _RELATIVES:
        return True
    if line[0].normal not in _SAID_ALONE:
        return False
    rest = [t for t in line[1:] if t.normal not in FUNCTION_WORDS]
    return not rest or not all(t.is_capitalized for t in rest)  # "Show Boat" is a name


def _is_doing(question: str, mention: Mention, antecedent: str) -> bool:
    """ "Buying a car": something that "it" may mean, but that has no brands and is no person."""
    if mention.kind in ("it", "this", "ellipsis", "one") and not mention.possessive:
        return False
    return bool(_DOING.match(antecedent))


def _is_calendar(question: str, mention: Mention, antecedent: str) -> bool:
    if _NOW.fullmatch(mention.text):
        return True
    if mention.kind in _TIME_KINDS or mention.kind in ("this-noun", "the-noun"):
        return False
    said = content_words(antecedent)
    return bool(said) and all(w in _CALENDAR or w.rstrip("s") in _CALENDAR or _is_number(w) for w in said)


def _is_number(word: str) -> bool:
    return bool(re.fullmatch(r"\d[\d.,:]*(?:s|st|nd|rd|th|k|m|bn|am|pm|gb|kg|km)?", word))


def _is_amount(question: str, mention: Mention, antecedent: str) -> bool:
    if mention.kind in _TIME_KINDS:
        return False
    said = content_words(antecedent)
    if not any(map(_is_number, said)) or not all(
        _is_number(w) or w in _UNITS or w.rstrip("s") in _UNITS for w in said
    ):
        return False
    noun = head_of(mention.text)
    return mention.kind not in ("this-noun", "the-noun") or not (
        noun in AMOUNT_NOUNS or noun.rstrip("s") in _UNITS | {"period", "era", "season", "date"}
    )


def _is_no_person(question: str, mention: Mention, antecedent: str) -> bool:
    if mention.kind not in ("he", "she"):
        return False
    said = content_words(antecedent)
    if any(w in _NO_PERSON for w in said):
        return True
    if _has_name(antecedent):
        return False
    return head_of(antecedent) not in _PEOPLE_ROLES


def _is_one_for_several(question: str, mention: Mention, antecedent: str) -> bool:
    if is_plural(antecedent) or mention.possessive:
        return False
    one = mention.kind in ("one", "ellipsis") or mention.text.lower() in ("it", "this", "that")
    if not one and _NEEDS_SEVERAL.search(question[: mention.start]):
        return True
    if mention.kind != "they" or _has_name(antecedent) or head_of(antecedent) in _GROUPS:
        return False
    opening = _line(antecedent)[0].normal
    return opening in ("a", "an") or opening not in FUNCTION_WORDS  # "the couple" and "the label" may be


def _is_list_for_one(question: str, mention: Mention, antecedent: str) -> bool:
    singular = mention.kind in ("he", "she", "it") or mention.text.lower() in ("this", "that")
    joined = re.search(r"\w,? and\s+\w|, \w", antecedent)
    return singular and bool(joined) and (mention.kind in ("he", "she") or not _has_name(antecedent))


def _is_no_thing(question: str, mention: Mention, antecedent: str) -> bool:
    """ "Italian", "the east part", "the phone number", and "the company", which everyone knows."""
    if mention.text.lower() in ("the company", "the organization", "the organisation"):
        return not re.search(r"\b(?:company|inc|corp|ltd|organi[sz]ation)\b", antecedent, re.IGNORECASE)
    said = _line(antecedent)
    if len(said) == 1 and said[0].normal in _NATIONAL and mention.kind not in ("one", "ellipsis"):
        return True
    if mention.kind not in ("it", "they", "he", "she"):
        return False
    if said[0].normal in ("its", "their", "his", "her"):
        return True  # "his predecessor" leans on the history itself
    if mention.kind in ("he", "she"):
        return bool(re.fullmatch(r"[A-Z]{2,4}", antecedent))
    if re.search(r"\b(?:of|for|to|care about)\s+$", question[: mention.start]) and said[0].normal in (
        "a",
        "an",
    ):
        return True  # "the address of a cheap restaurant" asks for another thing
    if re.search(r"\b(?:care|matter|preference)\b", question, re.IGNORECASE):
        return False
    return bool(_PART_OF_TOWN.search(antecedent)) or head_of(antecedent) in _ATTRIBUTES


def _is_said_in_the_question(question: str, mention: Mention, antecedent: str) -> bool:
    """ "I have difficulties with my job: how do I cope with them?" asks about what it says itself."""
    earlier = re.split(r"[.!?]\s", question[: mention.start])[-1]
    if mention.kind == "they" and mention.text.lower() == "them" and _THEM_EARLIER.search(earlier):
        return True
    return mention.kind in ("it", "they") and _SAID_EARLIER.search(earlier) is not None


def _is_set_phrase(question: str, mention: Mention, antecedent: str) -> bool:
    if mention.kind not in ("it", "this"):
        return False
    return any(f.start() <= mention.start < f.end() for f in _SET_PHRASES.finditer(question))


def _is_long_owner(question: str, mention: Mention, antecedent: str) -> bool:
    return mention.possessive and len(antecedent.split()) > 6


REFUSALS: tuple[Callable[[str, Mention, str], bool], ...] = (
    _names_nothing,
    _is_doing,
    _is_calendar,
    _is_amount,
    _is_no_person,
    _is_one_for_several,
    _is_list_for_one,
    _is_no_thing,
    _is_said_in_the_question,
    _is_set_phrase,
    _is_long_owner,
)
