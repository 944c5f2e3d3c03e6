"""
Which words of a text are a person's name.

The lists of names are Faker's, of all its locales; the ordinary words are those of symspellpy's frequency
list, without what is a name. ``words.txt`` has what neither knows: places, makers, months, and names that are
words as well. Strict: a capitalised word that nobody knows is taken for a name, since what leaks is worse
than what is lost.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

Gender = Literal["female", "male", "either"]
_WORDS = Path(__file__).with_name("words.txt")
_COMMON = 2_000_000
"""Of a trillion words: "Kestrel" and "Whitfield" are below, "refund" and "logout" above."""
_BOTH = "words that are also names"
_SMALL = "names that are words in small letters"
CONNECTORS = frozenset(
    [
        "van",
        "von",
        "der",
        "den",
        "de",
        "del",
        "della",
        "di",
        "da",
        "dos",
        "du",
        "la",
        "le",
        "ter",
        "ten",
        "bin",
        "ibn",
        "al",
        "el",
        "ben",
        "ni",
        "ní",
        "ó",
        "af",
        "av",
        "zu",
        "y",
        "e",
    ]
)
"""What stands within a name in small letters, and is kept."""
WORD = re.compile(r"[^\W\d_]+(?:[’'-][^\W\d_]+)*\.?")
_INNER_CAPITAL = re.compile(r"(?:Mc|Mac|O[’']|D[’']|L[’']|Fitz|La|Le|De|Di|Van|Du|St)[A-ZÀ-Þ]\w+")
_TITLE = re.compile(
    r"\b(?:Mrs?|Ms|Miss|Mx|Dr|Prof|Professor|Sir|Dame|Rev|Herr|Frau|Madame|Monsieur|Mme|Mlle|Señora?"
    r"|Signora?)\b\.?"
)
_NAMED = re.compile(
    r"\b(?:(?:full |first |last |maiden |family |sur|user'?s? )?name(?:'s|\s+on\s+(?:it|the\s+\w+)\s+is"
    r"|\s+is|\s+was|\s*[:=])"
    r"|(?:i'?m|i am|this is|it'?s|called|named|call me|speaking(?: with)?|goes by|regards,?|sincerely,?"
    r"|cheers,?)"
    r"|holder(?:\s+is|:)?|known as|married name|name)\s*,?\s+",
    re.IGNORECASE,
)
_SURE = re.compile(r"name(?:'s|\s+is|\s+was|\s+on\s|\s*[:=])|call me|my name", re.IGNORECASE)
ASKS_NAME = re.compile(
    r"\bname\b|\bwho(?:m|se)?\s+(?:am i|is|are|owns|should|shall|can)\b|\bto whom\b|\bwho(?:m|se)?\b[^.!]*\?"
    r"|\bcall you\b",
    re.IGNORECASE,
)
_STARTS = re.compile(r"(?:^|[.!?:;\n\"“(\[>*•…]|[-–—]\s)\s*[\"'“‘(*_]*\s*$")
_PLACE = re.compile(r"\b(?:Los|Las|San|Santa|New|Fort|Saint|Port|Lake|Mount|Upper|Lower) $")
"""What a place's name begins with, and hardly a person's."""
_MODEL = re.compile(r"\s+(?:\w*\d\w*[A-Za-z]\w*|\w*[A-Za-z]\w*\d\w*|\d+\.\d[\w.]*)\b")
"""What follows a product's name: ``AX55``, ``4.2.1``."""
_WORD_BEFORE = re.compile(r"(\w+) $")


@dataclass(frozen=True, slots=True)
class NameLists:
    """Names in small letters, and the words that are none."""

    female: frozenset[str]
    male: frozenset[str]
    last: frozenset[str]
    both: frozenset[str]
    """Names that are ordinary words as well."""
    small: frozenset[str]
    """Names that are ordinary words in small letters: "brown", "kidney", "drew"."""
    ordinary: frozenset[str]
    """Words that are no names."""
    common: frozenset[str]
    """Those of them that are often used. Others are names all the same with a capital within a sentence."""
    makers: frozenset[str]
    """What a product's name begins with."""
    english: tuple[frozenset[str], frozenset[str]]
    """First names of the USA, female and male."""

    def gender(self, first: str) -> Gender:
        """Return whose first name *first*, in small letters, is: in the USA, or else anywhere."""
        for female, male in (self.english, (self.female, self.male)):
            if (first in female) != (first in male):
                return "female" if first in female else "male"
        return "either"

    def is_first(self, word: str) -> bool:
        """Return whether *word*, in small letters, is somebody's first name."""
        return word in self.female or word in self.male

    def is_name(self, word: str) -> bool:
        """Return whether *word*, in small letters, is a name and no ordinary word."""
        return (self.is_first(word) or word in self.last) and not self.is_word(word)

    def is_word(self, word: str) -> bool:
        """Return whether *word*, in small letters, is an ordinary word, whatever else it is."""
        return word in self.both or word in self.ordinary


@cache
def name_lists() -> NameLists:
    """Return the lists; takes half a second the first time."""
    import faker.providers.person as providers
    import symspellpy
    from faker.providers.person.en_US import Provider as American

    found: dict[str, set[str]] = {"female": set(), "male": set(), "last": set()}
    for locale in pkgutil.iter_modules(providers.__path__):
        provider = importlib.import_module(f"{providers.__name__}.{locale.name}").Provider
        for kind, attributes in (
            ("female", ("first_names_female",)),
            ("male", ("first_names_male",)),
            ("last", ("last_names", "last_names_male", "last_names_female")),
        ):
            for attribute in attributes:
                found[kind] |= _names_in(getattr(provider, attribute, ()))
    listed = Path(symspellpy.__file__).with_name("frequency_dictionary_en_82_765.txt")
    counts = dict(line.split(" ") for line in listed.read_text("utf-8-sig").splitlines())
    sections = read_words(_WORDS)
    both, small = frozenset(sections.pop(_BOTH)), frozenset(sections.pop(_SMALL))
    for listed_names in found.values():
        # As they are typed, but for what is then a word: "basic" is no Bašić.
        plain = (
            unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode() for name in listed_names
        )
        listed_names |= {name for name in plain if name and name not in counts}
    names = frozenset().union(*found.values())
    known = frozenset().union(*sections.values())
    return NameLists(
        female=frozenset(found["female"] - known),
        male=frozenset(found["male"] - known),
        last=frozenset(found["last"] - known),
        both=both,
        small=small,
        ordinary=frozenset((counts.keys() - names) | known),
        common=frozenset(
            word for word, count in counts.items() if int(count) >= _COMMON and word not in names
        )
        | known,
        makers=frozenset(sections["makers, products and programs"]),
        english=(
            frozenset(_names_in(American.first_names_female)),
            frozenset(_names_in(American.first_names_male)),
        ),
    )


def _names_in(listed: Any) -> set[str]:
    """Return the single words among names as Faker lists them: a sequence, or by how frequent they are."""
    if isinstance(listed, property):
        return set()
    return {name.lower() for name in listed or () if name and " " not in name and name[0].isalpha()}


def read_words(path: Path) -> dict[str, set[str]]:
    """Return the words of each section of *path*, by its name."""
    sections: dict[str, set[str]] = {}
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("["):
            words = sections.setdefault(line.strip("[]"), set())
        elif line and not line.startswith("#"):
            words.update(line.split())
    return sections


def find_names(text: str, *, before: str = "", keep: Collection[str] = ()) -> Iterator[tuple[int, int]]:
    """
    Yield where names are in *text*, as (begin, end), each run of words once; they don't overlap.

    Args:
        text: What somebody said.
        before: What was said before it: a name that was asked for is one, however it is spelt.
        keep: Words, in small letters, that are no names here.
    """
    lists = name_lists()
    words = [_Token(match, text, lists, keep) for match in WORD.finditer(text)]
    marked = [word.is_name_here() for word in words]
    for index, word in enumerate(words):
        # "Price Difference", "Max Plan": a heading, or a product.
        beside = (words[at] for at in (index - 1, index + 1) if 0 <= at < len(words))
        if word.both and any(
            one.shaped and one.known and not one.both and not one.starts and _touch(one, word, text)
            for one in beside
        ):
            marked[index] = False
    for cue in (*_TITLE.finditer(text), *_NAMED.finditer(text)):
        sure = _TITLE.match(cue[0]) is not None or _SURE.search(cue[0]) is not None
        _mark_after(cue.end(), words, marked, sure=sure, title=_TITLE.match(cue[0]) is not None)
    if ASKS_NAME.search(before) and len(words) <= 12:
        _mark_after(0, words, marked, sure=len(words) <= 4, title=False)
    _mark_neighbours(words, marked, text)
    yield from _runs(words, marked, text)


def _touch(one: _Token, other: _Token, text: str) -> bool:
    first, second = sorted((one, other), key=lambda word: word.begin)
    return text[first.end : second.begin] == " "


class _Token:
    """A word where it stands, and what the lists say of it."""

    def __init__(self, match: re.Match[str], text: str, lists: NameLists, keep: Collection[str]) -> None:
        self.begin = match.start()
        self.text = match[0].rstrip(".")
        if self.text[-2:].lower() in ("'s", "’s"):
            self.text = self.text[:-2]
        self.end = self.begin + len(self.text)
        self.dotted = match[0].endswith(".")
        self.lower = self.text.lower()
        before, after = text[max(0, self.begin - 20) : self.begin], text[self.end : self.end + 16]
        self.starts = _STARTS.search(before) is not None
        self.capital = self.text[:1].isupper()
        # "O'Brien" has a name behind its apostrophe, "don't" none.
        parts = (
            re.split(r"(?<=\w\w)-|(?<=^\w)[’']|(?<=^\w\w)[’']", self.lower) if self.capital else [self.lower]
        )
        inner = re.search(r"[a-zß-ÿ][A-ZÀ-Þ]", self.text) and not _INNER_CAPITAL.match(self.text)
        self.shaped = self.capital and not inner and (len(self.text) == 1 or not self.text.isupper())
        """Whether it is written as names are: a capital, then small letters."""
        self.shouted = len(self.text) >= 3 and self.text.isupper()
        self.kept = self.lower in keep or self.lower in CONNECTORS
        # Part of an address, a file's name or a number's.
        self.glued = (
            (before[-1:] in "@/\\_#" and before[-1:] != "")
            or after[:1] in ("@", "_", "/")
            or (before[-1:].isdigit() or after[:1].isdigit() or re.match(r"\.\w", after) is not None)
        )
        self.first = lists.is_first(self.lower)
        self.small = self.lower in lists.small
        self.english = self.lower in lists.english[0] or self.lower in lists.english[1]
        self.in_place = _PLACE.search(before) is not None
        self.both = self.lower in lists.both or (len(parts) > 1 and any(lists.is_first(one) for one in parts))
        self.listed = lists.is_name(self.lower) or (
            len(parts) > 1 and any(lists.is_name(part) for part in parts if len(part) > 2)
        )
        ordinary = lists.ordinary if self.starts else lists.common
        self.known = not self.listed and (
            self.lower in ordinary
            or self.both
            or _is_inflected(self.lower, ordinary)
            or self.lower[1:2] == "-"  # "X-ray"
            or (len(parts) > 1 and all(_is_word(part, lists) for part in parts))
        )
        self.surname = self.listed or self.both or self.lower in lists.last
        maker = _WORD_BEFORE.search(before)
        self.model = _MODEL.match(after) is not None or (
            maker is not None and maker[1].lower() in lists.makers
        )
        """Whether it is part of a product's name: "Archer AX55", "Galaxy Buds"."""

    def is_name_here(self) -> bool:
        """Return whether it is a name by itself, whatever stands around it."""
        if self.kept or self.glued or self.in_place or len(self.text) < 2:
            return False
        if self.listed:
            if self.small and not self.english and (self.starts or self.text.islower()):
                return False
            in_small = self.text.islower() and not self.small
            return self.shaped or (len(self.text) >= 4 and (self.shouted or in_small))
        if self.shouted and 5 <= len(self.text) <= 14 and not self.known and not self.model:
            return True  # no acronym
        if not self.shaped:
            return False
        if self.both:
            return self.english and not self.starts and len(self.text) > 2
        return not self.known and not (self.model and not self.first)


def _is_word(part: str, lists: NameLists) -> bool:
    return len(part) <= 2 or lists.is_word(part)


def _is_inflected(word: str, ordinary: Collection[str]) -> bool:
    """Return whether *word* is an ordinary one with an ending, or without its apostrophe's."""
    stems = [word.partition("'")[0], word.partition("’")[0]]
    for ending in ("s", "es", "ed", "d", "ing", "er", "ly"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            stems += [word[: -len(ending)], word[: -len(ending)] + "e"]
    return any(stem in ordinary for stem in stems if stem != word)


def _mark_after(begin: int, words: list[_Token], marked: list[bool], *, sure: bool, title: bool) -> None:
    """Mark the words from *begin* on that are a name because something says so."""
    count, end = 0, begin
    for index, word in enumerate(words):
        if word.begin < begin:
            continue
        if word.begin - end > 2 or count >= 4 or (count and _ends_sentence(words[index - 1])):
            return
        end = word.end + word.dotted
        if word.lower in CONNECTORS and count:
            continue
        small = (sure or count > 0 or word.listed) and word.text.islower()
        nameable = word.shaped or word.shouted or (small and not title)
        name_like = word.shaped and ((word.both and (sure or word.first)) or (sure and "-" in word.text))
        surname = words[index + 1] if index + 1 < len(words) else None
        if count == 0 and word.shaped and surname is not None and surname.shaped and surname.listed:
            name_like = surname.begin == word.end + 1  # "I'm Lei Ortega", whatever else a lei is
        ordinary = word.known and not name_like
        if word.kept or word.glued or not nameable or (ordinary and not (title and word.shaped)):
            return
        if not word.capital and not word.listed and not sure and not count:
            return
        marked[index] = True
        count += 1


def _mark_neighbours(words: list[_Token], marked: list[bool], text: str) -> None:
    """Mark the words that stand in one name with a marked one: a surname, an initial."""
    for step in (1, -1):
        order = range(len(words)) if step == 1 else range(len(words) - 1, -1, -1)
        for index in order:
            other = index + step
            if not marked[index] or not 0 <= other < len(words) or marked[other]:
                continue
            first, second = sorted((words[index], words[other]), key=lambda word: word.begin)
            gap = text[first.end : second.begin]
            if words[other].lower in CONNECTORS and gap == " " and not words[other].capital:
                beyond = other + step
                if 0 <= beyond < len(words) and words[beyond].shaped and step == 1:
                    marked[beyond] = True
                continue
            if not re.fullmatch(r" |\. ?|-", gap) or (gap.startswith(".") and len(first.text) > 2):
                continue
            word = words[other]
            initial = len(word.text) == 1 and word.capital and (word.dotted or step == 1) and word.text != "I"
            small = step == 1 and word.text.islower() and words[index].text.islower() and words[index].first
            if small and gap == " " and not word.known and not word.kept:
                marked[other] = True
            if word.kept or word.glued or not (word.shaped or (word.shouted and word.surname)):
                continue
            # Not the word that opens the sentence: "Thanks Ann", "Will Ann come?"
            opens = step == -1 and word.starts and word.known and not word.first
            # What follows a first name is a surname, whatever it means elsewhere: "Grace Holloway".
            follows = step == 1 and words[index].first and word.shaped
            if initial or ((word.surname or follows) and not opens):
                marked[other] = True


def _ends_sentence(word: _Token) -> bool:
    """Return whether the dot behind *word* is no initial's."""
    return word.dotted and len(word.text) > 2


def _runs(words: list[_Token], marked: list[bool], text: str) -> Iterator[tuple[int, int]]:
    index = 0
    while index < len(words):
        if not marked[index]:
            index += 1
            continue
        last = index
        for other in range(index + 1, len(words)):
            before = words[other - 1]
            if not re.fullmatch(r"[ .]{1,2}|-", text[before.end : words[other].begin]) or _ends_sentence(
                before
            ):
                break
            if marked[other]:
                last = other
            elif words[other].lower not in CONNECTORS:
                break
        yield words[index].begin, words[last].end
        index = last + 1
