"""
Spans of one utterance that look like they name something: quoted works, names, noun phrases, dates.

By form alone, without a tagger: capitals, quotation marks, determiners, function words. What is too
much here does little harm, since the choice among candidates comes later; what is missing can't be
chosen.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from replay.coreference.embedded.lexicon import MONTHS
from replay.coreference.words import FUNCTION_WORDS, Token, word_set

FormKind = Literal["quote", "name", "phrase", "words", "date"]

MAX_SCANNED_CHARACTERS = 3000
"""An utterance is looked at up to here, so that a very long answer costs no more than a long one."""
_SHORT_ANSWER_TOKENS = 12
"""In longer answers, runs of plain words are too many to be candidates."""

_QUOTED = re.compile(r'["“]([^"“”]{2,60})["”]')
YEARS = re.compile(r"\b(?:1[0-9]|20)\d\d(?:s|\s?[-–]\s?\d{2,4})?(?!\w)")
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_CLOCK = r"\d{1,2}(?:[:.]\d\d)?\s?(?:[ap]\.?m\b\.?|o['’]clock)|\d{1,2}:\d\d|noon|midnight"
MOMENTS = re.compile(
    rf"\b(?:(?:next|last|this)\s)?(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b(?:,?\s(?:the\s)?)?)"
    rf"(?:\d{{1,2}}\s{_MONTH}|{_MONTH}\s\d{{1,2}}|(?:morning|afternoon|evening|night)\b)?(?:,?\s?at\s(?:{_CLOCK}|\d{{1,2}}))?"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s{_MONTH}(?:,?\s\d{{4}})?|\b{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s\d{{4}})?"
    rf"|\b{_MONTH}\s\d{{4}}|\b(?:{_CLOCK})|\b(?:tomorrow|next\s(?:week|month|year)|(?:early|late|mid)\s{_MONTH})\b"
)
"""Days and times of day: "Friday at 3", "15 May", "14:30"."""
_INSIDE_NAMES = word_set("of & de la le von van del da di al el bin 's - du der dos y")
_BEFORE_THE = word_set("of and for on")
_OPENERS = word_set(
    """
    rather whether yes according including following originally later eventually despite unlike like
    another several many then now today meanwhile instead however critics
    """
)
_DETERMINERS = word_set("the a an his her their its this these that my our")
_OPENING = frozenset("\"“‘'(,")
_SENTENCE_ENDS = frozenset('.?!;:"“')


class Form(msgspec.Struct, frozen=True, gc=False):
    """A span of an utterance, in offsets of it."""

    start: int
    end: int
    kind: FormKind
    before: str
    """The word before it, in normal form ("album" in "the album Thriller"); empty at the start."""


def forms(text: str, line: Sequence[Token], is_question: bool) -> list[Form]:
    """
    The spans of *text* that may name something, in a fixed order, each once.

    *line* are its tokens, the ends of its lines among them as punctuation (``lines_closed``).
    """
    by_kind: list[tuple[FormKind, Iterable[tuple[int, int]]]] = [
        ("date", (match.span() for match in MOMENTS.finditer(text))),
        ("quote", (match.span(1) for match in _QUOTED.finditer(text))),
        ("name", _names(line)),
        ("phrase", _phrases(line)),
        ("date", (match.span() for match in YEARS.finditer(text))),
    ]
    if is_question or len(line) <= _SHORT_ANSWER_TOKENS:
        by_kind.append(("words", _plain_runs(line)))
    found: dict[tuple[int, int], FormKind] = {}
    for kind, spans in by_kind:
        for span in spans:
            found.setdefault(span, kind)
    starts = [token.start for token in line]
    return [
        Form(start, end, kind, _word_before(line, bisect_left(starts, start)))
        for (start, end), kind in found.items()
    ]


def lines_closed(text: str) -> str:
    """*text*, as far as it is looked at, with a semicolon at the end of each line: no name goes beyond."""
    return text[:MAX_SCANNED_CHARACTERS].replace("\n", ";")


def _word_before(line: Sequence[Token], at: int) -> str:
    while at > 0:
        at -= 1
        if line[at].is_word:
            return line[at].normal
        if line[at].text not in _OPENING:
            break
    return ""


def _opens_name(line: Sequence[Token], at: int) -> bool:
    token = line[at]
    if not token.is_capitalized or token.normal == "i":
        return False
    starts_sentence = at == 0 or line[at - 1].text in _SENTENCE_ENDS
    return not (starts_sentence and (token.normal in FUNCTION_WORDS or token.normal in _OPENERS))


def _names(line: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Runs of capitalised words with the short words between them; also "X and Y" as a whole."""
    proper = [_opens_name(line, at) for at in range(len(line))]
    at = 0
    while at < len(line):
        if not proper[at] or line[at].normal in FUNCTION_WORDS:
            at += 1
            continue
        last = _name_end(line, proper, at)
        first = at - 1 if at and line[at - 1].normal == "the" else at
        yield line[first].start, line[last].end
        if last + 2 < len(line) and line[last + 1].normal == "and" and proper[last + 2]:
            yield line[first].start, line[_name_end(line, proper, last + 2)].end
        at = last + 1


def _name_end(line: Sequence[Token], proper: Sequence[bool], at: int) -> int:
    last = at
    while True:
        links = 0
        while last + links + 1 < len(line) and not proper[last + links + 1] and links < 2:
            if not _links(line, last, last + links + 1):
                return last
            links += 1
        if last + links + 1 >= len(line) or not proper[last + links + 1]:
            return last
        last += links + 1


def _links(line: Sequence[Token], last: int, at: int) -> bool:
    """Whether the token *at* may stand inside a name whose last capitalised word so far is *last*."""
    token, before = line[at], line[at - 1]
    if at == last + 1 and token.text == ".":  # an initial or a short title: "J. Smith", "Dr. Dre"
        return len(before.text) <= 3 and token.start == before.end
    if token.text == "the":
        return at > last + 1 and before.normal in _BEFORE_THE
    # "Tom and the Tops" is one name, "Tom and Bob" are two.
    opens = at + 1 < len(line) and line[at + 1].text == "the" and token.normal in _BEFORE_THE
    return opens or token.normal in _INSIDE_NAMES


def _phrases(line: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Determiner or possessor with up to four words after it, also with an "of" phrase."""
    for at, token in enumerate(line):
        owner = token.normal in {"'s", "’s"}
        if not owner and token.normal not in _DETERMINERS:
            continue
        last = _run_end(line, at, 4)
        if last == at:
            continue
        first = at
        if owner:
            first = max(0, at - 1)
            while first > 0 and line[first].is_capitalized and line[first - 1].is_capitalized:
                first -= 1
        yield line[first].start, line[last].end
        if last + 1 < len(line) and line[last + 1].normal in {"of", "for"}:
            inner = last + 1
            if inner + 1 < len(line) and line[inner + 1].normal in _DETERMINERS:
                inner += 1
            end = _run_end(line, inner, 4)
            if end > inner:
                yield line[first].start, line[end].end


def _run_end(line: Sequence[Token], at: int, most: int) -> int:
    """The last of at most *most* content words right after *at*."""
    last = at
    while (
        last + 1 < len(line)
        and last - at < most
        and line[last + 1].is_word
        and line[last + 1].normal not in FUNCTION_WORDS
    ):
        last += 1
    return last


def _plain_runs(line: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Runs of content words: bare plurals and the like."""
    at = 0
    while at < len(line):
        last = _run_end(line, at - 1, 4)
        if last >= at and line[at].text[0].isalpha():
            yield line[at].start, line[last].end
        at = max(last, at) + 1


def is_date(key: Sequence[str]) -> bool:
    """Whether the words *key* are all numbers, months and days of the week."""
    return all(word.rstrip("s").isdigit() or word in MONTHS for word in key)
