"""
English around what is put into a question: the preposition of a time, a verb that agrees, a subject after
its auxiliary. Told by word lists alone; what they don't know stays as it is.
"""

from __future__ import annotations

import re

from replay.coreference.reading.words import word_set

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
_NUMBER = r"(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty)"
_TIMES = (
    ("at", r"\d{1,2}(?::\d\d)?\s*(?:[ap]\.?m\b|o['’]clock)|\d{1,2}:\d\d\b|noon\b|midnight\b|night\b"),
    (
        "on",
        rf"(?:the\s+)?(?:{_DAY}|\d{{1,2}}(?:st|nd|rd|th)\b|\d{{1,2}}\.?\s+{_MONTH}|{_MONTH}\s+\d{{1,2}}\b)",
    ),
    (
        "in",
        rf"(?:the\s+)?(?:(?:early|mid|late)[\s-]+)?(?:{_MONTH}|spring\b|summer\b|autumn\b|winter\b|(?:19|20)\d\d\b)",
    ),
    ("in", r"(?:the\s+)?(?:morning|afternoon|evening)s?\b"),
    ("after", rf"{_NUMBER}\s+(?:minute|hour|day|week|month|year)s?$"),
)
_SINGULAR_VERBS = {
    "do": "does", "don't": "doesn't", "are": "is", "aren't": "isn't", "were": "was", "weren't": "wasn't",
    "have": "has", "haven't": "hasn't",
}  # fmt: skip
_INVERTIBLE = word_set("is are was were has will can could would should must may might")
_PLURALS = word_set(
    """
    people children men women police staff personnel feet teeth mice geese fish sheep cattle oxen data media
    bacteria criteria phenomena alumni fungi cacti
    """
)
_QUANTITIES = word_set(
    """
    two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty all both these those
    many several few some
    """
)
_BEFORE_A_PHRASE = word_set("of in at on from with for to by who which that made")
_DETERMINERS = word_set("a an the my your our his her its their this that these those")
_WITH_A_NOUN = _DETERMINERS | word_set("another which what any some no each every")


def time_preposition(text: str) -> str | None:
    """Return what stands before *text* where it is a time ("at 11 pm", "after ten years"); else None."""
    for preposition, pattern in _TIMES:
        if re.match(pattern, text, re.IGNORECASE):
            return preposition
    return None


def is_singular(text: str) -> bool:
    """Return whether *text*, a noun phrase, is one thing for sure ("the hotel", "your team in Dublin")."""
    words = text.split()
    if not words or re.search(r"\band\b|&|,", text):
        return False
    if words[0].lower() in _QUANTITIES or any(re.fullmatch(r"\d+", word) for word in words):
        return False
    if words[0].lower() in _DETERMINERS and len(words) > 1:
        if words[1].lower() in _QUANTITIES:
            return False
        words = words[1:]
    head = next((n for n, word in enumerate(words) if n and word.lower() in _BEFORE_A_PHRASE), len(words))
    noun = words[head - 1]
    if re.search(r"['’]s$|['’]$", noun):
        return False
    return noun.lower() not in _PLURALS and (
        not noun.lower().endswith(("s", "ae")) or noun.lower().endswith(("ss", "us", "is"))
    )


def singular_verb_before(question: str, start: int) -> tuple[int, str] | None:
    """Return where the plural verb right before *start* begins, and its singular; None for another word."""
    found = re.search(r"([a-z]+(?:n['’]t)?)\s+$", question[:start], re.IGNORECASE)
    verb = found[1].lower().replace("’", "'") if found else ""
    if found is None or verb not in _SINGULAR_VERBS:
        return None
    singular = _SINGULAR_VERBS[verb]
    return found.start(1), singular.capitalize() if found[1][0].isupper() else singular


def contraction_for(mention: str, subject: str) -> str:
    """Return what *mention* has behind its pronoun, for *subject*: "'s" of "it's", " will" of "she'll"."""
    found = re.fullmatch(
        r"(?:it|he|she|that|this|there|they|mine)(['’](?:s|ll|re|ve))", mention.strip(), re.IGNORECASE
    )
    if found is None:
        return ""
    said = found[1].lower()[1:]
    plural = not is_singular(subject)
    return {"s": "'s", "ll": " will", "re": " are" if plural else " is", "ve": " have" if plural else " has"}[
        said
    ]


def invert_clause(clause: str) -> str | None:
    """Return "is the pool closed" for the clause "the pool is closed"; None where there is no auxiliary."""
    words = clause.split()
    for n, word in enumerate(words[1:6], 1):
        if word.lower() in _INVERTIBLE:
            return " ".join([word, *words[:n], *words[n + 1 :]])
    return None


def instead_of_one(question: str, start: int, mention: str, text: str) -> str:
    """
    Return *text*, a noun phrase, for the "one" or "ones" that is *mention* at *start* of *question*.

    "borrow one" becomes "borrow a charger", or "one of the three chargers"; "a new one" "a new charger".
    """
    first, _, rest = text.partition(" ")
    noun = rest if rest and first.lower() in _DETERMINERS else text
    said = [word.strip("?,.!").lower() for word in question[:start].split()[-2:]]
    if mention.lower() == "ones" or any(word in _WITH_A_NOUN for word in said):
        return noun
    if not is_singular(noun):
        return f"one of the {noun}" if noun[:1].islower() or noun[:1].isdigit() else text
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
