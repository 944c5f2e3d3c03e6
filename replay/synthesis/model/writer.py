"""
A model that is asked for JSON, and asked again with the reason where its reply can't be used.

What its questions and quotes must be: a quote stands in the document, a question can be asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.core.asking.cached import CachingClient, Model, Question, question_key, read_reply
from replay.core.asking.costs import AskTally
from replay.core.asking.prompt import Prompt, first_object, json_problem
from replay.core.asking.retries import RetryPolicy
from replay.core.disk_cache import DiskCache
from replay.coreference.reading.mentions import find_mentions
from replay.coreference.reading.words import content_words, words
from replay.synthesis.documents.document import SourceSection

PATIENCE = RetryPolicy(timeout_s=120.0, attempts=3, retry_budget_s=120.0)
_SHOWN = 200
"""Characters of a reply that can't be used, as the model is shown them."""


class NothingUsableError(ValueError):
    """A model gave nothing usable, however often it was asked; its message is the last reason."""


class NotCachedError(Exception):
    """A reply would have to be asked for, where nothing may be."""


@dataclass(slots=True, kw_only=True)
class JsonWriter:
    """Asks *model*; every reply is kept in *cache*, so that whoever goes on later pays for none twice."""

    model: Model
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 0})
    attempts: int = 3
    """How often one thing is asked for at most, before it is given up."""
    cache: Path | None = None
    asks_nothing: bool = False
    """Only the cache is read: what isn't there raises ``NotCachedError``."""
    patience: RetryPolicy = PATIENCE
    tally: AskTally = field(default_factory=AskTally)
    _client: CachingClient = field(init=False)

    def __post_init__(self) -> None:
        self._client = CachingClient("writer", self.patience, DiskCache(self.cache), self.tally)

    async def write(
        self,
        step: str,
        prompt: Prompt,
        variables: Mapping[str, Any],
        keys: Sequence[str],
        fault: Callable[[dict[str, Any]], str | None],
        *,
        depth: int,
        seed: int,
        rejected: Sequence[Mapping[str, str]] = (),
    ) -> dict[str, Any]:
        """
        Return the JSON object that the model writes.

        Args:
            step: What is asked for: the id of the conversation that the adapter sees.
            prompt: Its template; gets *variables* and ``rejected``, what won't do and why.
            variables: Beside that.
            keys: What the object must have, texts or numbers.
            fault: Says what is wrong with an object that has them; None if nothing is.
            depth: Of the turn, 1 for the first.
            seed: Tells equal prompts of several data sets apart.
            rejected: What won't do either, from before.

        Raises:
            NothingUsableError: nothing usable came.
            AdapterError: no reply came.
            RunStoppedError: the endpoint refuses our key and has answered nothing yet.
            NotCachedError: nothing may be asked, and it isn't in the cache.
        """
        wrong = [*rejected]
        for attempt in range(1, self.attempts + 1):
            text = await self._reply(
                step, prompt.render({**variables, "rejected": wrong}), depth, f"{seed}.{attempt}"
            )
            found = first_object(text, keys)
            if found is None:
                reason = json_problem(text)
            elif missing := [key for key in keys if not isinstance(found.get(key), str)]:
                reason = f'the object has no text "{missing[0]}"'
            else:
                reason = fault(found) or ""
                if not reason:
                    return found
            wrong.append({"text": " ".join(text.split())[:_SHOWN], "reason": reason})
        raise NothingUsableError(wrong[-1]["reason"])

    async def _reply(self, step: str, prompt: str, depth: int, sample: str) -> str:
        parameters = self.model.sent_parameters(self.parameters)
        if self.asks_nothing:
            kept = read_reply(DiskCache(self.cache), question_key(self.model, prompt, parameters, sample))
            if kept is None:
                raise NotCachedError
            self.tally.cached += 1
            return kept.text
        question = Question(
            model=self.model, step=step, prompt=prompt, parameters=parameters, depth=depth, sample=sample
        )
        reply, _ = await self._client.reply(question, once=True)
        return reply.text


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
