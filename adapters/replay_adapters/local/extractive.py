"""
The embedded default system: answers with a sentence of the conversation's passages.

Each sentence is weighed by how much of the question it covers, rarer words counting more (the inverse
document frequency of BM25) and names less, since they say what the question is about and not what is asked.
A sentence that says nothing beyond the question counts less, and so does one without the name, number or
reason that is asked for.

A question is understood by the history that is shown, as real systems do: one that leans on something
("Did she like it?", "And after that?") is also about what the last few exchanges spoke of, with less and less
weight; one that names what it is about is answered as it stands. So the system's own mistakes lead it astray.

It resolves no pronoun to one thing and knows no synonyms. Its numbers were chosen by one criterion, the
share of right answers (``em``) to the shipped conversations under ``gold``, and never by what another
policy makes of them. A floor for real systems, and something to try a scenario with: no download, no key,
and the same answer to the same question on every machine.

With ``answers_from: history`` the sentences are those of the exchanges it is shown, so that it remembers what
it was told and nothing else.

Nothing but the sentences matters, in their order: one passage, or the same text cut into several at
blank lines, gives the same answers. English: its stop words and endings are.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from replay import CANNOT_ANSWER, ChatReply, ChatRequest, Conversation, Exchange, HistoryKeeper, Passage
from replay_adapters.local.sentence_index import (
    SentenceIndex,
    can_answer,
    content_stems,
    index_of,
    leans,
    name_stems,
)

VERSION = 2
"""Raised whenever an answer could come out differently: figures in the docs are this system's."""

PASSAGES_SHOWN = 5
"""How many passages a reply names at most, best first."""

HISTORY_SHOWN = 3
"""Older exchanges hardly weigh anything; leaving them out keeps late turns as quick as early ones."""

NAME_WEIGHT = 0.3
"""What a word of a name counts beside another word of the question."""

QUESTION_SHARE = 0.6
"""What an earlier question counts beside its answer."""

OPEN = 0.5
"""What the history counts, of its full weight, for a question that neither leans on it nor names anything."""

NEWS_POWER = 0.33
"""How much it matters that a sentence says more than the question: an answer does. With 0.5 one more of the
shipped questions is answered right, and "Where does the dog sleep?" with where the cat does."""

OTHER_KIND = 0.6
"""What is left of a sentence's score when it lacks the name, the number or the reason that is asked for."""

REPEATED = 0.4
"""What is left of a sentence's score when it was the answer before; the last answer is out altogether."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractiveAdapter:
    """Picks the passage sentence most relevant to the question and, less so, to the history."""

    threshold: float = 0.15
    """Below this relevance the answer is CANNOTANSWER. 1 means: covers all content words of the question."""
    history_weight: float = 0.4
    """What the last answer counts beside a question that leans on it; 0 looks at the question alone."""
    decay: float = 0.5
    """What each exchange counts beside the one after it."""
    answers_from: Literal["passages", "history"] = "passages"
    """Where the sentences stand: in the conversation's passages, or in what was said before."""
    history: HistoryKeeper = "client"
    """``server``: the session remembers its own answers and ignores the history it is sent."""

    def __post_init__(self) -> None:
        for name in ("threshold", "history_weight"):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise ValueError(f"{name} {value} is not a number from 0 up")
        if not 0 <= self.decay <= 1:
            raise ValueError(f"decay {self.decay} is not between 0 and 1")

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[ExtractiveSession]:
        texts = tuple(passage.text for passage in conversation.passages)
        # Splitting sentences takes milliseconds, which would otherwise be added to other asks' latencies.
        index = await asyncio.to_thread(index_of, texts)
        yield ExtractiveSession(self, index, conversation.passages)


class ExtractiveSession:
    """One conversation with the system."""

    def __init__(self, adapter: ExtractiveAdapter, index: SentenceIndex, passages: Sequence[Passage]) -> None:
        self._adapter = adapter
        self._index = index
        self._passages = passages
        self._remembered: list[Exchange] = []

    async def ask(self, request: ChatRequest) -> ChatReply:
        own = self._adapter.history == "server"
        history = self._remembered if own else request.history
        if self._adapter.answers_from == "history":
            said = tuple(text for one in history for text in (one.question, one.answer))
            index, ranked = await asyncio.to_thread(self._recall, request.question, said)
        else:
            # An unanswered question says nothing of what is talked about, and chat endpoints never see it.
            answered = [exchange for exchange in history if exchange.answer.strip()]
            index, ranked = self._index, self._rank(request.question, answered, self._index)
        best, relevance = ranked[0] if ranked else (0, 0.0)
        found = relevance > 0 and relevance >= self._adapter.threshold
        text = index.sentences[best] if found else CANNOT_ANSWER
        if own:
            self._remembered.append(Exchange(question=request.question, answer=text))
        if self._adapter.answers_from == "history":
            return ChatReply(text=text)
        used = dict.fromkeys(index.passage_of[sentence] for sentence, _ in ranked)
        shown = list(used)[:PASSAGES_SHOWN] if found else []
        return ChatReply(text=text, passages=tuple(self._passages[number] for number in shown))

    def _recall(self, question: str, said: tuple[str, ...]) -> tuple[SentenceIndex, list[tuple[int, float]]]:
        index = _index_of_history(said)
        return index, self._rank(question, (), index)

    def _rank(
        self, question: str, history: Sequence[Exchange], index: SentenceIndex
    ) -> list[tuple[int, float]]:
        """Sentences with any relevance, best first, the earlier one where two are equal."""
        adapter = self._adapter
        scores: dict[int, float] = {}
        terms = _question_terms(question)
        index.add_coverage(scores, terms, 1.0)
        weight = adapter.history_weight
        if terms and not leans(question):
            weight *= 0.0 if name_stems(question) else OPEN
        for exchange in reversed(history[-HISTORY_SHOWN:]):
            if weight > 0:
                index.add_coverage(scores, _question_terms(exchange.question), weight * QUESTION_SHARE)
                if exchange.answer.strip() != CANNOT_ANSWER:
                    index.add_coverage(scores, dict.fromkeys(content_stems(exchange.answer), 1.0), weight)
            weight *= adapter.decay
        for sentence in scores:
            scores[sentence] *= index.news(sentence, terms) ** NEWS_POWER
            if not can_answer(index.sentences[sentence], question):
                scores[sentence] *= OTHER_KIND
        for number, exchange in enumerate(reversed(history)):
            for sentence in index.sentences_equal_to(exchange.answer):
                if sentence in scores:
                    scores[sentence] *= 0.0 if number == 0 else REPEATED
        ranked = [(sentence, score) for sentence, score in scores.items() if score > 0]
        return sorted(ranked, key=lambda item: (-item[1], item[0]))


# A history may be hundreds of pages, and is another one in each conversation.
_index_of_history = lru_cache(maxsize=8)(index_of.__wrapped__)


def _question_terms(question: str) -> dict[str, float]:
    names = name_stems(question)
    return {term: NAME_WEIGHT if term in names else 1.0 for term in content_stems(question)}
