"""
The words that a model writes of a question, against those that it was shown: where its quotes stand in a
history, and whether its wording of the question can be asked, by what code can see of it.

Models quote Markdown, tables and lists in plain sentences. Quotes are compared word by word: case, accents,
marks, punctuation, articles and "and" make no difference, and what one quote names ("the red one and the blue
one") may stand in several places.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from replay.coreference.reading.words import (
    ARTICLES,
    Token,
    comparable_words,
    content_words,
    tokens,
    word_set,
    words,
)

_LATIN = r"[^\W\u0250-\U0010ffff]"
"""What may not go on where a text ends: in other scripts words may stand without spaces."""
_JOINS = word_set("and or und oder et ou y e и 和")
_PASSED_OVER = ARTICLES | _JOINS
_BETWEEN_ITEMS = re.compile(
    rf"[,:](?!\d)|[;&/|()\n…–—]|\.\.\.|\s-\s|\b(?:{'|'.join(sorted(_JOINS))})\b", re.IGNORECASE
)
_PLAIN = (
    (re.compile(r"^[ \t|:=*_-]+$", re.MULTILINE), ""),  # a table's second row, a rule across the page
    (re.compile(r"^[ \t]*(?:(?:#{1,6}|>|[-*+•–])[ \t]+)+", re.MULTILINE), ", "),
    (re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*\)"), r"\1"),  # a link
    (re.compile(r"<br ?/?>|\|"), " , "),
    (re.compile(r"\\(?=[^\w\s])"), ""),
    (re.compile(r"(?<![^\W_])[*_~`]+|[*_~`]+(?![^\W_])"), ""),  # not in snake_case or 5*3
    (re.compile(r"\s+"), " "),
    (re.compile(r" ,"), ","),
    (re.compile(r",(?: ?,)+"), ","),
    (re.compile(r"(?<=[:;.!?]),"), ""),
)


def pattern_of(text: str) -> re.Pattern[str]:
    """Return what finds *text* as whole words, whatever its case, spaces and kind of apostrophe."""
    spaced = r"\s+".join(map(re.escape, text.split()))
    either = re.sub("['’]", "['’]", spaced)
    return re.compile(rf"(?<!{_LATIN}){either}(?!{_LATIN})", re.IGNORECASE)


def plain(text: str) -> str:
    """Return *text* in one line without Markdown's marks; items of lists and cells of tables get commas."""
    for pattern, instead in _PLAIN:
        text = pattern.sub(instead, text)
    return text.strip(" ,")


class QuotedText:
    """Something that a model was shown and may quote."""

    def __init__(self, name: str, text: str) -> None:
        """*name* is what it is called as the source of a quote."""
        self.name: str = name
        self.plain: str = plain(text)

    @cached_property
    def _tokens(self) -> list[Token]:
        return _comparable_tokens(self.plain)

    @cached_property
    def _line(self) -> str:
        return " ".join(["", *(token.normal for token in self._tokens), ""])

    def find(self, quote: str) -> str | None:
        """Return the words that *quote* quotes, as they stand here; None where they don't."""
        if match := pattern_of(quote).search(self.plain):
            return match[0]
        wanted = " ".join(token.normal for token in _comparable_tokens(quote))
        at = self._line.find(f" {wanted} ") if wanted else -1
        if at < 0:
            return None
        first = self._line.count(" ", 0, at)
        return self.plain[self._tokens[first].start : self._tokens[first + wanted.count(" ")].end]


def find_quote(quote: str, texts: Sequence[QuotedText]) -> tuple[str, str] | None:
    """
    Return where *quote* stands and in which words.

    Args:
        quote: What a model quotes, as ``plain`` puts it.
        texts: Where it may stand.

    Returns:
        The name of the first text that has it, and its own words. Where *quote* names several things, they
        may stand in several texts; the first one's name counts. None where something stands nowhere.
    """
    if (whole := _find_one(quote, texts)) is not None:
        return whole
    items = [item.strip() for item in _BETWEEN_ITEMS.split(quote) if content_words(item)]
    found = []
    for item in items if len(items) > 1 else ():
        # A list has "red" where a question asks for "the red one".
        one = _find_one(item, texts) or _find_one(re.sub(r"\sones?$", "", item), texts)
        if one is None:
            return None
        found.append(one)
    return (found[0][0], ", ".join(text for _, text in found)) if found else None


def _find_one(quote: str, texts: Sequence[QuotedText]) -> tuple[str, str] | None:
    return next(((one.name, found) for one in texts if (found := one.find(quote)) is not None), None)


def _comparable_tokens(text: str) -> list[Token]:
    return [token for token in tokens(text) if token.is_word and token.normal not in _PASSED_OVER]


_MARKUP = re.compile(
    r"</?(?:question|subject|recorded_history|own_history)>|\*\*|```"
    r"|^\W{0,9}(?:user|system|assistant|question|standalone)\s{0,9}:",
    re.IGNORECASE,
)
"""What belongs to the prompt or to the JSON around a question, not to the question; `code` may."""
_MOST_ADDED = 200
"""Characters of a wording beside the question's own and what is quoted."""


def wording_fault(text: str, question: str, quoted: Sequence[str]) -> str | None:
    """
    Return what is wrong with *text* as the wording of *question* for someone who has heard nothing.

    Args:
        text: The wording, without spaces around it.
        question: As it was recorded.
        quoted: What it leans on, in the recorded history's words.

    Returns:
        The fault, to stand behind the wording's name in a sentence; None if there is none.
    """
    if not any(c.isalnum() for c in text):
        return "is empty: put the question so that it names what is meant"
    if len(text.splitlines()) > 1:
        return "has several lines: put the question in one"
    if len(text) > len(question) + sum(map(len, quoted)) + _MOST_ADDED:
        return "is too long: put the question alone, and name what is meant"
    if (markup := _MARKUP.search(text)) and markup[0] not in question:
        return f"holds {shorten_quote(markup[0])}: put the question alone"
    for antecedent in quoted:
        if not _names(text, antecedent):
            return f'doesn\'t name {shorten_quote(antecedent)}, which "recorded" quotes'
    return None


def _names(text: str, antecedent: str) -> bool:
    """Return whether *text* has the content words of *antecedent*, or half of them where they are many."""
    wanted, there = comparable_words(antecedent), words(text)
    named = sum(any(_is_form_of(word, other) for other in there) for word in wanted)
    # A name has to be there; a clause ("We moved to Porto last May") is said otherwise within a question.
    return named >= (len(wanted) if len(wanted) <= 2 else len(wanted) / 2)


def _is_form_of(word: str, other: str) -> bool:
    """Return whether the two begin alike, as "moved" and "move"."""
    shared = max(3, min(len(word), len(other)) - 2)
    return word[:shared] == other[:shared]


def shorten_quote(text: str) -> str:
    """Return *text* in quotation marks, in one line and not too long for a message."""
    line = " ".join(text.split())
    return f'"{line if len(line) <= 80 else line[:77] + "..."}"'
