"""Words of a sentence with their places, verbs by their forms, and the small words that grammar hangs on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from replay.coreference.reading.words import word_set
from replay.synthesis.documents.document import SourceSentence

VerbForm = Literal["base", "third", "past", "participle", "gerund"]


def _data(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


_DOUBLED = frozenset(_data("doubling_verbs.txt").split())
"""Verbs whose last letter doubles before "-ed" and "-ing"."""


class VerbReading(NamedTuple):
    """A word seen as a verb."""

    base: str
    form: VerbForm


def gerund(base: str) -> str:
    """Return the form in "-ing" of *base*."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")) and base != "be":
        return base[:-1] + "ing"
    return (base + base[-1] if base in _DOUBLED else base) + "ing"


def _third(base: str) -> str:
    if base == "have":
        return "has"
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


def _regular_past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return (base + base[-1] if base in _DOUBLED else base) + "ed"


@cache
def _forms() -> dict[str, tuple[VerbReading, ...]]:
    listed = _data("verbs.txt").split()
    rows = (line.split() for line in _data("irregular_verbs.txt").splitlines())
    irregular = {base: (past, participle) for base, past, participle in rows}
    found: dict[str, list[VerbReading]] = {}
    for base in dict.fromkeys([*listed, *irregular]):
        past, participle = irregular.get(base, (_regular_past(base),) * 2)
        named: tuple[tuple[str, VerbForm], ...] = (
            (base, "base"),
            (_third(base), "third"),
            (past, "past"),
            (participle, "participle"),
            (gerund(base), "gerund"),
        )
        for word, form in named:
            found.setdefault(word, []).append(VerbReading(base, form))
    return {word: tuple(verbs) for word, verbs in found.items()}


def verb(word: str, form: VerbForm) -> str | None:
    """Return the base form of *word* if it can be this *form* of a verb, else None."""
    return next((one.base for one in _forms().get(word, ()) if one.form == form), None)


DETERMINERS = word_set("the a an each every all some any most many both several your no")
BE = word_set("is are was were")
MODALS = word_set("can could must should will would may might")
AUXILIARIES = BE | MODALS | word_set("has have had does do did cannot")
PREPOSITIONS = word_set(
    """
    of in on at by for to from with about as into over after before between during through against without
    within under upon among across per via than outside inside behind beyond near until since toward
    towards onto along around above below except despite like unlike
    """
)
CONJUNCTIONS = word_set(
    """
    and or but nor so yet if when while because since although though unless whether where once whereas as
    that
    """
)
LEANING = word_set(
    """
    this that these those it they them he she him her his hers its their theirs itself themselves such
    same other others another former latter above below following previous next here there one ones we us
    our ours i i've i'm i'll i'd we've we're we'll we'd me my so then earlier later
    aforementioned respective else either neither instead otherwise
    """
)
"""Words that make a text lean on what stands around it."""
_NO_NOUNS = (
    AUXILIARIES
    | PREPOSITIONS
    | CONJUNCTIONS
    | LEANING
    | word_set(
        """
        be been being not also only just even still already often always never sometimes usually typically
        generally currently now again however therefore thus hence moreover additionally furthermore what
        which who whom whose how why you yourself isn't aren't wasn't weren't can't couldn't mustn't
        shouldn't won't wouldn't hasn't haven't doesn't don't didn't more less least very too rather quite
        either neither both not n't what's let's please yes
        """
    )
)
_ADVERBS_IN_LY = re.compile(r"^[a-z]{3,}ly$")
_NO_ADVERBS = word_set(
    """
    family assembly reply supply apply multiply rely anomaly monopoly early daily weekly monthly only friendly
    italy july comply imply
    """
)

_WORD = re.compile(r"\w+(?:[.+/#@:'’_\-]+\w+)*[+#]*|[^\w\s]")


class Word(NamedTuple):
    """One word or punctuation mark."""

    text: str
    low: str
    start: int
    end: int
    is_literal: bool = False
    """Whether it stood as code in the source."""

    @property
    def is_noun_like(self) -> bool:
        """Return whether it may be part of a noun phrase: no small word, no adverb, no punctuation."""
        if self.is_literal:
            return True
        return self.text[:1].isalnum() and self.low not in _NO_NOUNS and not self.is_adverb

    @property
    def is_adverb(self) -> bool:
        """Return whether it ends as adverbs do, or is one of those between a subject and its verb."""
        if self.low in (
            "also",
            "always",
            "never",
            "often",
            "only",
            "already",
            "currently",
            "now",
            "still",
            "further",
        ):
            return True
        if self.is_literal or not _ADVERBS_IN_LY.match(self.low) or self.low in _NO_ADVERBS:
            return False
        return self.text.islower() or self.start == 0


def words_of(sentence: SourceSentence) -> list[Word]:
    """Return the words of *sentence*; what stood as code is one word."""
    found: list[Word] = []
    at, text = 0, sentence.text
    for start, end in (*sentence.literals, (len(text), len(text))):
        for match in _WORD.finditer(text, at, start):
            found.append(Word(match[0], match[0].lower().replace("’", "'"), match.start(), match.end()))
        if start < end:
            found.append(Word(text[start:end], text[start:end], start, end, is_literal=True))
        at = end
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """What the words of a document are known for."""

    named: frozenset[str]
    """Nouns that "the" needs no telling of: words of the title, and what many documents speak of so."""
    names: frozenset[str]
    """Words that have a capital inside its sentences, or stood as code."""
    common: frozenset[str]
    """Words that have none."""

    def has_named(self, noun: str) -> bool:
        """Return whether "the *noun*", one or several of it, needs no telling."""
        return noun in self.named or noun.removesuffix("s") in self.named

    def lower(self, phrase: str) -> str:
        """Return *phrase* without the capital that only the beginning of a sentence gave it."""
        first, space, rest = phrase.partition(" ")
        low = first.lower()
        if low in DETERMINERS | PREPOSITIONS:
            return low + space + rest
        is_common = low in self.common or low.endswith("s") or rest[:1].islower()
        return (
            (low if is_common and first[1:].islower() and first not in self.names else first) + space + rest
        )


def vocabulary(
    titles: Iterable[str], sentences: Iterable[SourceSentence], shared: Iterable[str]
) -> Vocabulary:
    """
    Return what all *sentences* of a document say of its words.

    *titles* are the document's, and its headings where few documents are there; *shared* are nouns
    that many documents speak of with "the".
    """
    names: set[str] = set()
    common: set[str] = set()
    for sentence in sentences:
        for word in words_of(sentence)[1:]:
            (common if word.text.islower() and not word.is_literal else names).add(word.text)
    titled = {match[0].lower() for text in titles for match in _WORD.finditer(text)}
    return Vocabulary(
        named=frozenset({*titled, *(word.removesuffix("s") for word in titled), *shared}),
        names=frozenset(names),
        common=frozenset(common),
    )


def points(text: str) -> bool:
    """Return whether *text* has a word that points at what stands around it."""
    return any(word in LEANING for word in re.findall(r"[a-z']+", text.lower()))


def looks_plural(word: Word) -> bool:
    """Return whether *word* ends as plurals do."""
    low = word.low
    return (
        not word.is_literal
        and low.endswith("s")
        and not low.endswith(("ss", "us", "is", "'s"))
        and len(low) > 3
    )


def leans(words: list[Word]) -> bool:
    """Return whether any of *words* points at what stands around them."""
    return any(word.low in LEANING and not word.is_literal for word in words)


_YOUR = {
    "your": "my", "yourself": "myself", "yours": "mine", "you're": "I'm", "you've": "I've", "you'll": "I'll",
    "you'd": "I'd",
}  # fmt: skip
_AFTER_ME = PREPOSITIONS | DETERMINERS - {"no"} | word_set("to and or , . ; ) ?")
_BEFORE_ME = PREPOSITIONS - word_set("as if after before since until than") | word_set(
    """
    lets let allows allow enables enable helps help gives give requires require tells tell asks ask makes show
    shows
    """
)


def in_first_person(text: str) -> str:
    """Return *text* as somebody says it who is its "you": "if you lose your key" as "if I lose my key"."""
    words = [*_WORD.finditer(text)]
    out, at = [], 0
    for i, match in enumerate(words):
        low = match[0].lower().replace("’", "'")
        said = _YOUR.get(low)
        if low == "you":
            before = words[i - 1][0].lower() if i else ""
            after = words[i + 1][0].lower() if i + 1 < len(words) else "."
            said = (
                "me" if before in _BEFORE_ME or (after in _AFTER_ME and before not in CONJUNCTIONS) else "I"
            )
        elif low in ("are", "were") and i and words[i - 1][0].lower() == "you":
            said = "am" if low == "are" else "was"
        if said is not None:
            out += [text[at : match.start()], said]
            at = match.end()
    return "".join(out) + text[at:]
