"""Whether a model's wording of a question can be asked, by what code can see of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from replay.coreference.reading.words import comparable_words, words

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
