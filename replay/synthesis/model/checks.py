"""What a model's questions and quotes must be: a quote stands in the document, a question can be asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from replay.coreference.reading.mentions import find_mentions
from replay.coreference.reading.words import content_words, words
from replay.synthesis.documents.document import SourceSection

MOST_QUESTION_WORDS = 30
MOST_ANSWER_WORDS = 80
_GIVEN_AWAY = 0.8
"""The share of an answer's content words that its question may not have."""
_UNNAMED = frozenset({"he", "she", "they", "it", "this"})
_WORD = re.compile(r"\w+")
_REFUSAL = re.compile(
    r"\b(?:as an ai|i(?:'m| am) (?:sorry|unable|not able)|i can(?:'|no)t (?:help|assist|answer|do))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentQuote:
    """A part of a section."""

    section: SourceSection
    start: int
    end: int
    """Offsets in the section's text."""

    @property
    def text(self) -> str:
        """Return the document's own words."""
        return self.section.text[self.start : self.end]


def find_quote(quote: str, sections: Sequence[SourceSection], number: int | None) -> DocumentQuote | None:
    """
    Return where *quote* stands: in section *number* (1 for the first) if it is there, else in any.

    Its words must be the document's, in its order and without gap; case, spaces and marks between words may
    differ.
    """
    wanted = [word.casefold() for word in _WORD.findall(quote)]
    if not wanted:
        return None
    first = [sections[number - 1]] if number is not None and 0 < number <= len(sections) else []
    for section in [*first, *sections]:
        tokens = list(_WORD.finditer(section.text))
        texts = [token[0].casefold() for token in tokens]
        for at in range(len(tokens) - len(wanted) + 1):
            if texts[at] == wanted[0] and texts[at : at + len(wanted)] == wanted:
                end = tokens[at + len(wanted) - 1].end()
                mark = section.text[end : end + 1]
                end += mark in ".!?)" and quote.rstrip().endswith(mark) if mark else 0
                return DocumentQuote(section=section, start=tokens[at].start(), end=end)
    return None


def question_fault(
    question: str, standalone: str, asked: Sequence[str], answer: str | None = None
) -> str | None:
    """
    Return what is wrong with a question, in words that a model can act on; None if nothing is.

    Args:
        question: As it is asked.
        standalone: The same for somebody who knows nothing of the conversation.
        asked: Questions of the conversation before, as asked and standalone.
        answer: Its answer, which it may not give away; None if unknown.
    """
    for name, text in (("question", question), ("standalone", standalone)):
        if not text.strip() or not words(text):
            return f"the {name} is empty"
        if len(text.split()) > MOST_QUESTION_WORDS + 10 * (name == "standalone"):
            return f"the {name} is longer than {MOST_QUESTION_WORDS + 10 * (name == 'standalone')} words"
        if "\n" in text.strip():
            return f"the {name} is no single line"
        if _REFUSAL.search(text):
            return f"the {name} refuses; it must ask"
    if not standalone.rstrip(" \"'”’)").endswith("?"):
        return "the standalone form ends without a question mark"
    if not asked and words(question) != words(standalone):
        return "the first question has nothing to lean on, so question and standalone must be the same"
    if unnamed := _pronoun_without_name(standalone):
        return f'the standalone form says "{unnamed}" for something that only the conversation names'
    if not content_words(standalone):
        return "the standalone form names nothing"
    before = {words(text) for text in asked}
    if words(standalone) in before:
        return "that was asked before"
    if answer is not None:
        told = set(content_words(answer))
        if told and len(told & set(content_words(standalone))) > _GIVEN_AWAY * len(told):
            return "the question gives the answer away"
    return None


def _pronoun_without_name(standalone: str) -> str | None:
    """Return a pronoun before which too little is said for it to mean something of the sentence itself."""
    for mention in find_mentions(standalone):
        if mention.kind in _UNNAMED:
            before = len(content_words(standalone[: mention.start]))
            if before < (1 if mention.possessive else 2):
                return mention.text
    return None
