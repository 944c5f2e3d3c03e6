"""
Has the question changed its meaning? Builds the gold and the predicted document and compares them.

Li et al. (ACL 2022), section 5.1: resolve the question once after the gold history and once after the
system's own, and compare what its mentions refer to. Three rules are offered, as ``mode``:

- ``strict`` compares distributions, mention by mention (``reading.verdict``).
- ``hard`` compares the best antecedents, mention by mention (there, too). For both,
  the gold document holds the recorded questions with the gold answers, so that it depends on the data
  set alone and is resolved once for all systems and policies. Where the system's own answers are those, the
  question is valid, whatever a policy asked before in other words: an edit is no drift.
- ``evalconvqa`` is the published program's rule over whole clusters (``reading.evalconvqa``).
  As there, the really asked questions stand on both sides, and with turns that were filtered out
  missing from both.

A model as resolver (``service.llm``) gives the verdict itself, on the documents of ``strict``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from replay.core.conversation import Conversation
from replay.core.drift_evidence import Drift, Reading
from replay.core.errors import ReadingError
from replay.core.history import Exchange, PlayedTurn
from replay.coreference.reading import evalconvqa
from replay.coreference.reading.language import ENGLISH_ONLY, not_readable
from replay.coreference.reading.resolver import (
    BackgroundUse,
    Document,
    document_of,
    last_of,
    recorded_document,
)
from replay.coreference.reading.verdict import HARD_VERSION, STRICT_VERSION
from replay.coreference.service.llm_reply import MODE
from replay.coreference.service.service import CoreferenceService

DriftMode = Literal["strict", "hard", "evalconvqa"]

_VERSIONS: dict[DriftMode, int] = {
    "strict": STRICT_VERSION,
    "hard": HARD_VERSION,
    "evalconvqa": evalconvqa.VERSION,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What drift did to one question."""

    drift: Drift
    published: str | None = None
    """Under ``mode: evalconvqa``, the question as the published program rewrites it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftDetector:
    """Compares a conversation's gold history with a system's own, question by question."""

    service: CoreferenceService
    window: int | None = 6
    """How many exchanges before the question both documents hold; None is all of them."""
    background: BackgroundUse = True
    """Whether title, section and background text stand before them, or the text alone."""
    mode: DriftMode = "strict"
    """``evalconvqa`` can't be had of a model, and neither the others nor the threshold change its verdict."""
    threshold: float | None = None
    """From which probability on ``strict`` calls a question drifted; None is the rule's own."""
    min_similarity: float | None = None
    """Of the gold and the system's own previous answer: a question after less alike ones is invalid,
    whatever its mentions. None only records how alike they are, where the service has an encoder."""
    match: evalconvqa.Match = "f1"
    """What ``evalconvqa`` compares."""
    skip_entity: bool = True
    """Whether ``evalconvqa`` passes over mentions that are capitalised entities."""

    @property
    def signature(self) -> str:
        """Every setting that can change a verdict."""
        background = "" if self.background is True else f"|background:{self.background or 'no'}"
        threshold = "" if self.threshold is None else f"|threshold:{self.threshold:g}"
        match = "" if self.match == "f1" else f"+{self.match}"
        entities = "" if self.skip_entity else "+keptent"
        mode = f"{self.mode}-{_VERSIONS[self.mode]}{match}{entities}"
        if self.service.asked is not None:
            mode, threshold = self.service.asked.rule, ""
        rule = f"drift:{mode}|window:{'all' if self.window is None else self.window}{background}{threshold}"
        if self.min_similarity is not None and self.service.encoder is not None:
            rule += f"|semantic:{self.service.encoder.signature}>={self.min_similarity:g}"
        return f"coref:{self.service.signature}|{rule}"

    def not_judged(self, conversation: Conversation, depth: int) -> Drift | None:
        """Return a ``Drift`` without verdict if the resolver can't read the question, else None."""
        # The published program minds no language, but a resolver that names its own is held to them.
        otherwise = None if self.mode == "evalconvqa" else ENGLISH_ONLY
        languages = getattr(self.service.resolver, "languages", otherwise)
        reason = not_readable(conversation.turns[depth - 1].question, conversation, languages)
        return None if reason is None else self._without_verdict(reason)

    def _without_verdict(self, reason: str) -> Drift:
        mode = self.mode if self.service.asked is None else MODE
        return Drift(valid=None, mentions=(), mode=mode, not_judged=reason)

    async def gold_readings(self, conversation: Conversation, depth: int) -> tuple[Reading, ...] | Drift:
        """
        Return the reading of each mention of the question at *depth* in the recorded conversation.

        Returns:
            One reading for each mention; a ``Drift`` without a verdict if the resolver can't read the
            question.

        Raises:
            ResolverError: the resolver failed.
        """
        if (unread := self.not_judged(conversation, depth)) is not None:
            return unread
        try:
            return await self.service.read(self._recorded_document(conversation, depth), gold=True)
        except ReadingError as error:
            return self._without_verdict(str(error))

    async def assess(
        self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]
    ) -> Assessment:
        """
        Judge the question at *depth* (1-based) after the turns in *played*, if the resolver can read it.

        Raises:
            ResolverError: the resolver failed.
        """
        # Not even where both histories are the same: over those alone, no share would be invalid.
        if (unread := self.not_judged(conversation, depth)) is not None:
            return Assessment(drift=unread)
        assess = self._assess_as_published if self.mode == "evalconvqa" else self._assess
        try:
            return await assess(conversation, depth, played)
        except ReadingError as error:
            return Assessment(drift=self._without_verdict(str(error)))

    async def _assess(
        self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]
    ) -> Assessment:
        gold_document = predicted_document = self._recorded_document(conversation, depth)
        if not self._answered_as_recorded(conversation, depth, played):
            question = conversation.turns[depth - 1].question
            predicted_document = self._own_document(conversation, question, played)
        assert self.mode != "evalconvqa"
        if depth < len(conversation.turns) and self.not_judged(conversation, depth + 1) is None:
            self.service.read_ahead(self._recorded_document(conversation, depth + 1))
        drift = await self.service.drift(
            gold_document, predicted_document, mode=self.mode, threshold=self.threshold
        )
        drift = await self._with_semantics(drift, gold_document, predicted_document, played)
        return Assessment(drift=_with_shortened(drift, gold_document, predicted_document))

    async def _assess_as_published(
        self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]
    ) -> Assessment:
        question = conversation.turns[depth - 1].question
        asked = [p for p in played if p.answer is not None]
        gold_turns = tuple(Exchange(question=p.asked, answer=p.turn.gold_answer or "") for p in asked)
        gold_document = self._document(conversation, question, gold_turns)
        predicted_document = self._own_document(conversation, question, played)
        gold = await self.service.clusters(gold_document, gold=True)
        predicted = await self.service.clusters(predicted_document, gold=predicted_document == gold_document)
        drift = evalconvqa.compare(
            gold_document,
            gold,
            predicted_document,
            predicted,
            match=self.match,
            skip_entity=self.skip_entity,
        )
        drift = await self._with_semantics(drift, gold_document, predicted_document, played)
        return Assessment(
            drift=_with_shortened(drift, gold_document, predicted_document),
            published=evalconvqa.rewrite_from_clusters(gold_document, gold),
        )

    async def _with_semantics(
        self, drift: Drift, gold: Document, predicted: Document, played: Sequence[PlayedTurn]
    ) -> Drift:
        if self.service.encoder is None or drift.valid is None:
            return drift
        last = played[-1] if played else None
        answers = None
        if last is not None and last.answer is not None and last.turn.gold_answer is not None:
            answers = (last.turn.gold_answer, last.answer)
        semantic = await self.service.semantic(gold, predicted, answers)
        apart = self.min_similarity is not None and semantic.below(self.min_similarity)
        return replace(drift, valid=not (drift.invalid or apart), semantic=semantic)

    def _answered_as_recorded(
        self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]
    ) -> bool:
        """Return whether both windows hold the same turns, and no own answer differs from its gold answer."""
        recorded = last_of(conversation.turns[: depth - 1], self.window)
        own = last_of([p for p in played if p.answer is not None], self.window)
        if any(p.has_follow_ups for p in own):
            return False
        return len(own) == len(recorded) and all(
            p.turn.id == turn.id and turn.gold_answer in (None, p.answer)
            for p, turn in zip(own, recorded, strict=True)
        )

    def _recorded_document(self, conversation: Conversation, depth: int) -> Document:
        return recorded_document(conversation, depth, window=self.window, background=self.background)

    def _own_document(
        self, conversation: Conversation, question: str, played: Sequence[PlayedTurn]
    ) -> Document:
        turns = tuple(
            # Where the gold answer is unknown, the answers can't be compared: both sides do without.
            Exchange(question=one.question, answer="") if p.turn.gold_answer is None else one
            for p in played
            for one in p.exchanges
        )
        return self._document(conversation, question, turns)

    def _document(self, conversation: Conversation, question: str, turns: tuple[Exchange, ...]) -> Document:
        return document_of(conversation, question, turns, window=self.window, background=self.background)


def _with_shortened(drift: Drift, gold: Document, predicted: Document) -> Drift:
    # A model is shown less than the documents hold, which its verdict has counted.
    shortened = drift.shortened or gold.shortened + predicted.shortened
    return replace(drift, shortened=shortened) if shortened else drift
