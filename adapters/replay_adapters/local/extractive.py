"""
The embedded default system: answers with a sentence of the conversation's passages.

Each sentence is weighed by how much of the question it covers, rarer words counting more (the inverse
document frequency of BM25), and with less and less weight by how much it covers of the last few
exchanges. That history is all that a question like "And after that?" has to go on, so the system's
own mistakes lead it further astray, as those of a real one do. It knows no synonyms and resolves no
pronouns. A floor for real systems, and something to try a scenario with: no download, no key, and the
same answer to the same question on every machine.

Nothing but the sentences matters, in their order: one passage, or the same text cut into several at
blank lines, gives the same answers. English: its stop words and endings are.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from replay import CANNOT_ANSWER, ChatReply, ChatRequest, Conversation, Exchange, HistoryKeeper, Passage
from replay_adapters.local.sentence_index import SentenceIndex, content_stems, index_of

VERSION = 1
"""Raised whenever an answer could come out differently: figures in the docs are this system's."""

PASSAGES_SHOWN = 5
"""How many passages a reply names at most, best first."""

HISTORY_SHOWN = 3
"""Older exchanges hardly weigh anything; leaving them out keeps late turns as quick as early ones."""

REPEATED = 0.4
"""What is left of a sentence's score when it was the answer before; the last answer is out altogether."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractiveAdapter:
    """Picks the passage sentence most relevant to the question and, less so, to the history."""

    threshold: float = 0.1
    """Below this relevance the answer is CANNOTANSWER. 1 means: covers all content words of the question."""
    history_weight: float = 0.4
    """What the last exchange counts beside the question; 0 looks at the question alone."""
    decay: float = 0.5
    """What each exchange counts beside the one after it."""
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
        # An unanswered question says nothing of what is talked about, and chat endpoints never see it.
        answered = [exchange for exchange in history if exchange.answer.strip()]
        ranked = self._rank(request.question, answered)
        best, relevance = ranked[0] if ranked else (0, 0.0)
        found = relevance > 0 and relevance >= self._adapter.threshold
        text = self._index.sentences[best] if found else CANNOT_ANSWER
        if own:
            self._remembered.append(Exchange(question=request.question, answer=text))
        used = dict.fromkeys(self._index.passage_of[sentence] for sentence, _ in ranked)
        shown = list(used)[:PASSAGES_SHOWN] if found else []
        return ChatReply(text=text, passages=tuple(self._passages[number] for number in shown))

    def _rank(self, question: str, history: Sequence[Exchange]) -> list[tuple[int, float]]:
        """Sentences with any relevance, best first, the earlier one where two are equal."""
        adapter, index = self._adapter, self._index
        scores: dict[int, float] = {}
        index.add_coverage(scores, content_stems(question), 1.0)
        weight = adapter.history_weight
        for exchange in reversed(history[-HISTORY_SHOWN:]):
            if weight > 0:
                # Half each: the answer alone would outweigh the question it belongs to by its length.
                index.add_coverage(scores, content_stems(exchange.question), weight / 2)
                if exchange.answer.strip() != CANNOT_ANSWER:
                    index.add_coverage(scores, content_stems(exchange.answer), weight / 2)
            weight *= adapter.decay
        for number, exchange in enumerate(reversed(history)):
            for sentence in index.sentences_equal_to(exchange.answer):
                if sentence in scores:
                    scores[sentence] *= 0.0 if number == 0 else REPEATED
        ranked = [(sentence, score) for sentence, score in scores.items() if score > 0]
        return sorted(ranked, key=lambda item: (-item[1], item[0]))
