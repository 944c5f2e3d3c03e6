"""
Which language a question is in, so that a resolver isn't made to guess at one that it can't read.

A vote of function words, without a model: a question is in the language whose small words it holds
("wann", "cuándo", "quand"). A word that two languages share ("was", "in", "no") is no evidence between
them, and words of names and titles ("de la", "von der") or that mean something in English ("die", "come")
count as one together, however many there are. Only words in small letters and the first word count, since
others may be names. Other scripts are known by their letters.

English is what nothing speaks against: a question about "La vie en rose" is not French. Where a question
is too short to tell, what was recorded of its conversation decides.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from replay.core.conversation import Conversation
from replay.coreference.language_words import ENGLISH_WORDS, FOREIGN_WORDS
from replay.coreference.resolver import LONGEST_TEXT

ENGLISH_ONLY = frozenset({"en"})
"""What a resolver reads that says nothing of it."""

_OTHER = "other"
_NAMES = {
    "en": "English",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "nl": "Dutch",
    "pt": "Portuguese",
    "cjk": "Chinese characters",
    _OTHER: "letters that English lacks",
}

_WEAK = {code: weak - ENGLISH_WORDS for code, (_, weak) in FOREIGN_WORDS.items()}
_OWN = {code: own - weak - ENGLISH_WORDS for code, (own, weak) in FOREIGN_WORDS.items()}
_SHARED = {code: (own | weak) & ENGLISH_WORDS for code, (own, weak) in FOREIGN_WORDS.items()}
_FOREIGN = frozenset[str]().union(*_OWN.values())

_OPENING = "¿¡"
# No parts of identifiers, addresses and file names.
_WORD = re.compile(r"(?<![\w@/\\])(?<!\w\.)[^\W\d_]+(?![\w@/\\]|\.\w)|[¿¡]")
_SCRIPTS_START, _SYLLABLES_START = "\u0370", "\u2e80"
_SYLLABLE = 3
"""What a Chinese, Japanese or Korean letter counts against Latin ones."""
_CLEAR = 3
"""So many votes need no other evidence; fewer may be a name or a title."""


@dataclass(frozen=True, slots=True)
class _Votes:
    """What the words of a text say."""

    english: frozenset[str]
    """Its words that are English, whatever else they are."""
    foreign: Mapping[str, int]
    """Votes for the other languages that have any."""


def _winner(votes: Sequence[_Votes]) -> tuple[str, int, int]:
    """The most probable language beside English, votes for it, and votes for English against it."""
    totals: Counter[str] = Counter()
    for one in votes:
        totals.update(one.foreign)
    if not totals:
        return _OTHER, 0, sum(len(one.english) for one in votes)

    def english(code: str) -> int:
        return sum(len(one.english - _SHARED.get(code, frozenset())) for one in votes)

    # Of two with as many votes, the one that has more of the text's English words too.
    code = max(totals, key=lambda code: (totals[code], -english(code)))
    return code, totals[code], english(code)


def _clear(votes: Sequence[_Votes]) -> str | None:
    code, own, english = _winner(votes)
    if own >= _CLEAR and own > 2 * english:
        return code
    return "en" if english >= 2 and english > own else None


def not_readable(question: str, conversation: Conversation, languages: frozenset[str] | None) -> str | None:
    """
    Why a resolver of *languages* can't read *question*, in words; None where it can.

    No resolver reads one that is longer than ``LONGEST_TEXT``.

    *languages* are codes as of ``language_of``; None is any. A question whose language can't be told
    can be read.
    """
    if len(question) > LONGEST_TEXT:
        return f"the question is longer than {LONGEST_TEXT:,} characters"
    if languages is None:
        return None
    found = language_of(question, conversation)
    if found is None or found in languages:
        return None
    wanted = " or ".join(_name(code) for code in sorted(languages))
    return f"the question is not {wanted} ({_name(found)})"


def language_of(question: str, conversation: Conversation) -> str | None:
    """
    The language of a question of *conversation*; None where even the conversation doesn't tell.

    ``en``, ``de``, ``es``, ``fr``, ``it``, ``nl``, ``pt`` (ISO 639), another script's Unicode name in
    small letters (``cyrillic``, ``arabic``, ``cjk``), or ``other`` for letters that English lacks.
    """
    votes = [_question_votes(question)]
    if (clear := _clear(votes)) is not None:
        return clear
    texts = (text for turn in conversation.turns for text in (turn.question, turn.gold_answer) if text)
    if (around := _language_of_all(tuple(texts))) is not None:
        return around
    code, own, english = _winner(votes)
    return code if code != _OTHER and own >= 1 and own > 2 * english else None


# Answers may be long: no more of them is held than of the conversations that are being played.
@lru_cache(maxsize=128)
def _language_of_all(texts: tuple[str, ...]) -> str | None:
    return _clear([_votes(text) for text in texts])


def _votes(text: str) -> _Votes:
    ascii_only = text.isascii()
    if not ascii_only:
        # Letters with their accents, and those of formulas and of full width, in one form.
        text = unicodedata.normalize("NFKC", text)
    found = _WORD.findall(text)
    first = next((word for word in found if word.isalpha()), "")
    words = {word for word in found if word[0].islower() or word in _OPENING}
    words.add(first.lower())
    english = ENGLISH_WORDS.intersection(words)
    if ascii_only and words.isdisjoint(_FOREIGN):
        return _Votes(english, {})
    accented = {word for word in words if not word.isascii() and word.isalpha() and _is_latin(word[0])}
    foreign = {
        code: len(words & own) + len(accented - own) + (not words.isdisjoint(_WEAK[code]))
        for code, own in _OWN.items()
        if not words.isdisjoint(own)
    }
    if accented and not foreign:
        foreign[_OTHER] = len(accented)
    if not ascii_only and (script := _other_script(text)):
        foreign[script] = _CLEAR
    return _Votes(english, foreign)


_question_votes = lru_cache(maxsize=2048)(_votes)


def _other_script(text: str) -> str | None:
    """The script of most letters, where that is not Latin."""
    foreign = [c for c in text if c.isalpha() and unicodedata.category(c) != "Lm" and not _is_latin(c)]
    latin = sum(c.isalpha() for c in text) - len(foreign)
    weight = sum(_SYLLABLE if c >= _SYLLABLES_START else 1 for c in foreign)
    if weight < 2 or weight <= latin:
        return None
    return Counter(unicodedata.name(c, "?").partition(" ")[0] for c in foreign).most_common(1)[0][0].lower()


def _is_latin(letter: str) -> bool:
    return letter < _SCRIPTS_START or unicodedata.name(letter, "").startswith("LATIN")


def _name(code: str) -> str:
    return _NAMES.get(code, f"{code.capitalize()} script")
