"""
How an antecedent is put in a mention's place where the resolver gives no wording of its own: article,
possessive and capitals of English, and nothing that would need to know more.
"""

from __future__ import annotations

import re

from replay.core.drift_evidence import Mention
from replay.coreference.reading.words import ARTICLES, PRONOUNS, content_words, words

_REFLEXIVE = re.compile(r"(?:self|selves)$", re.IGNORECASE)
_OWNERS = re.compile(r"^(?:your|our)\s(?=[a-z])", re.IGNORECASE)
_LEADING_WORDS = frozenset(
    ("the", "a", "an", "this", "that", "these", "those", "my", "his", "her", "its", "their")
)


def in_place(question: str, mention: Mention, antecedent: str) -> str | None:
    """
    Return *antecedent* as it stands in *mention*'s place; None where it can't.

    It can't in place of a reflexive, where something was left out, and in place of a name or noun
    phrase that it isn't a fuller form of ("Zappa" -> "Frank Zappa").
    """
    if not mention.text or _REFLEXIVE.search(mention.text):
        return None
    text = tidy(antecedent)
    if all(word in PRONOUNS for word in words(text)):
        return None
    if mention.kind == "other":
        own = set(content_words(mention.text))
        if not own or not own < set(content_words(text)):
            return None
    # Whose "your plan" and "our shop" are depends on who said it; asked again, it is "the plan".
    text = _OWNERS.sub("the ", text)
    first, _, rest = text.partition(" ")
    if rest and first.lower() in ARTICLES:
        text = f"the {rest}"
    elif first.lower() in _LEADING_WORDS:
        text = text[:1].lower() + text[1:]
    elif first.islower() and not _has_article_before(question[: mention.start]):
        text = f"the {text}"
    if mention.possessive:
        text = with_possessive(text, plural=mention.kind == "they" or is_plural_name(text))
    return capitalized(text) if at_sentence_start(question, mention.start) else text


def tidy(antecedent: str) -> str:
    """Return *antecedent* on one line, without the punctuation around it."""
    text = " ".join(antecedent.split()).strip(' ,;:!?"“”')
    # "Washington D.C." and "Ray Jr." keep their stop, the end of a sentence doesn't.
    return text.rstrip(".") if re.search(r"[^\W\d_]{4,}\.+$|\d\.+$", text) else text


def with_possessive(text: str, *, plural: bool) -> str:
    """Return *text* as an owner: "Ann Lee's", "the Beatles'"; one that is a possessive stays."""
    if re.search(r"(?:['’]s|s['’])$", text, re.IGNORECASE):
        return text
    return f"{text}'" if plural and text[-1:] in "sS" else f"{text}'s"


def at_sentence_start(text: str, position: int) -> bool:
    """Return whether a sentence of *text* begins at *position*."""
    return re.search(r"(?:^|[.?!]['\"”’)]*\s)[\s\"'“‘(\[]*$", text[:position]) is not None


def capitalized(text: str) -> str:
    """Return *text* with a capital first letter."""
    return text[:1].upper() + text[1:]


def is_plural_name(text: str) -> bool:
    """Return whether *text* is a name like "the Beatles", "the United States", and not like "Charles"."""
    return text.lower().startswith("the ") and text[-1:] in "sS" and text[-2:].lower() != "ss"


def _has_article_before(text: str) -> bool:
    said = words(text)
    return bool(said) and said[-1] in _LEADING_WORDS
