"""
Judges that give a verdict on each of several items: ``faithfulness``, ``context_precision``,
``context_recall`` and ``answer_relevancy`` of each turn; ``completeness``, ``knowledge_retention``,
``role_adherence`` and ``user_frustration`` of whole conversations.

The first three are RAGAS's (Es et al., *RAGAs: Automated Evaluation of Retrieval Augmented Generation*, EACL
2024, for faithfulness; its program for the other two). Relevancy there is the likeness of questions that a
model makes of the answer to the one that was asked, by their embeddings; a judge here has a model and no
embeddings, so it is the share of the answer's statements that help to answer, as in DeepEval's metric.

Definitions for conversations are after DeepEval's conversational metrics: the share of the user's intentions
that were satisfied, of the answers that keep what the user had told, and of those that keep to the system's
role. Frustration is MLflow's question, whether a user shows annoyance with the system, counted by message.
There is one ask for each conversation, where DeepEval asks once or twice for each turn.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from replay.core.asking.prompt import short_hash
from replay.core.conversation import CANNOT_ANSWER, Passage
from replay.scorers.answer_text import DECLINING_PATTERNS, declines
from replay.scorers.judges.geval import NO_ANSWER
from replay.scorers.judges.itemized import (
    ContextOrigin,
    ItemizedJudge,
    ItemVerdict,
    QuoteRule,
    Sources,
    context_passages,
    numbered_turns,
    role_of,
    texts_of_turns,
)
from replay.scorers.judges.judge import RECORDED, Case, Level
from replay.scorers.reference_score import why_unanswered, why_unscored
from replay.scorers.scorer import Unscored

NO_CONTEXT = Unscored(reason="the system reports no passages and no results of tools")
NO_DATA_CONTEXT = Unscored(reason="no fact, passages or background in the data")
NO_PASSAGES = Unscored(reason="the system reports no passages")
NO_STATEMENTS = Unscored(reason="the answer states nothing that could be judged")
NO_GOLD_STATEMENTS = Unscored(reason="the gold answer states nothing that could be judged")
UNANSWERABLE = Unscored(reason="unanswerable question")


@dataclass(kw_only=True)
class FaithfulnessJudge(ItemizedJudge):
    """Share of the answer's statements that its context supports, in [0, 1]."""

    context: ContextOrigin = "retrieved"
    """What the answer should rest on: what the system retrieved, or what the data has (``data``)."""

    kind: ClassVar[str] = "faithfulness"
    items: ClassVar[str] = "statements"
    verdict: ClassVar[str] = "supported"
    quotes: ClassVar[Sequence[QuoteRule]] = (QuoteRule(key="quote", source="passages", verdict=True),)
    none_found: ClassVar[Unscored] = NO_STATEMENTS
    needs: ClassVar[Sequence[str]] = ("predicted", "response")
    extra: ClassVar[Sequence[str]] = ("numbered",)

    def why_not(self, case: Case) -> Unscored | None:
        return _why_nothing_said(case) or self._why_no_context(case)

    def _why_no_context(self, case: Case) -> Unscored | None:
        if context_passages(case, self.context):
            return None
        return NO_CONTEXT if self.context == "retrieved" else NO_DATA_CONTEXT

    def sources(self, case: Case) -> Sources:
        return {"passages": _texts(context_passages(case, self.context))}

    def variables(self, case: Case) -> Mapping[str, Any]:
        return {"numbered": _describe_passages(context_passages(case, self.context))}

    @property
    def settings(self) -> str:
        return f"context={self.context}+"


@dataclass(kw_only=True)
class ContextRecallJudge(FaithfulnessJudge):
    """Share of the gold answer's statements that the context supports, in [0, 1]."""

    kind: ClassVar[str] = "context_recall"
    none_found: ClassVar[Unscored] = NO_GOLD_STATEMENTS
    needs: ClassVar[Sequence[str]] = ("numbered",)

    def why_not(self, case: Case) -> Unscored | None:
        return _why_no_gold(case) or self._why_no_context(case)


@dataclass(kw_only=True)
class ContextPrecisionJudge(ItemizedJudge):
    """Average precision of the retrieved passages, as useful for the gold answer or not, in [0, 1]."""

    kind: ClassVar[str] = "context_precision"
    items: ClassVar[str] = "passages"
    verdict: ClassVar[str] = "useful"
    number: ClassVar[str | None] = "passage"
    every: ClassVar[bool] = True
    quotes: ClassVar[Sequence[QuoteRule]] = (QuoteRule(key="quote", source="passages", verdict=True),)
    needs: ClassVar[Sequence[str]] = ("numbered",)
    extra: ClassVar[Sequence[str]] = ("numbered",)

    def why_not(self, case: Case) -> Unscored | None:
        if why := _why_no_gold(case):
            return why
        return None if case.record.passages else NO_PASSAGES

    def numbers(self, case: Case) -> Collection[int]:
        return range(1, len(case.record.passages) + 1)

    def sources(self, case: Case) -> Sources:
        return {"passages": _texts(_shuffle_passages(case))}

    def variables(self, case: Case) -> Mapping[str, Any]:
        return {"numbered": _describe_passages(_shuffle_passages(case))}

    def score(self, case: Case, verdicts: Sequence[ItemVerdict]) -> float:
        useful = {one.number: one.verdict is True for one in verdicts}
        ranks = {rank: number for number, rank in enumerate(_order(case), 1)}
        return average_precision([useful[ranks[rank]] for rank in sorted(ranks) if ranks[rank] in useful])

    def explain(self, case: Case, one: ItemVerdict) -> dict[str, Any]:
        rank = _order(case)[(one.number or 1) - 1]
        return {"rank": rank + 1, "id": case.record.passages[rank].id, **one.kept}


@dataclass(kw_only=True)
class AnswerRelevancyJudge(ItemizedJudge):
    """Share of the answer's statements that help to answer what was asked, in [0, 1]."""

    kind: ClassVar[str] = "answer_relevancy"
    items: ClassVar[str] = "statements"
    verdict: ClassVar[str] = "relevant"
    quotes: ClassVar[Sequence[QuoteRule]] = (QuoteRule(key="quote", source="answer"),)
    none_found: ClassVar[Unscored] = NO_STATEMENTS
    needs: ClassVar[Sequence[str]] = ("predicted", "response")
    extra: ClassVar[Sequence[str]] = ()

    def why_not(self, case: Case) -> Unscored | None:
        return _why_nothing_said(case)

    def sources(self, case: Case) -> Sources:
        return {"answer": {1: case.record.answer or ""}}


def average_precision(relevant: Sequence[bool]) -> float:
    """
    Return the mean over relevant ranks of the share that is relevant up to there, in [0, 1]; best first.

    ``average_precision([True, False, True])`` is (1 + 2/3) / 2. Without a relevant one it is 0.
    """
    shares = [sum(relevant[: place + 1]) / (place + 1) for place, hit in enumerate(relevant) if hit]
    return math.fsum(shares) / len(shares) if shares else 0.0


def _why_nothing_said(case: Case) -> Unscored | None:
    why = why_unanswered(case.record)
    return NO_STATEMENTS if why is None and declines(case.record.answer or "", DECLINING_PATTERNS) else why


def _why_no_gold(case: Case) -> Unscored | None:
    why = why_unscored(case.record)
    return UNANSWERABLE if why is None and case.record.gold_answers[0] == CANNOT_ANSWER else why


def _order(case: Case) -> list[int]:
    """
    Return the ranks (from 0) of the retrieved passages in the order in which the judge sees them.

    By a digest of their texts: a model that prefers what comes first must not favour the ranking it judges.
    """
    digests = [hashlib.sha256(p.text.encode("utf-8", "surrogatepass")).digest() for p in case.record.passages]
    return sorted(range(len(digests)), key=lambda rank: (digests[rank], rank))


def _shuffle_passages(case: Case) -> list[Passage]:
    return [case.record.passages[rank] for rank in _order(case)]


def _texts(passages: Sequence[Passage]) -> dict[int, str]:
    return {number: f"{one.title}\n{one.text}" for number, one in enumerate(passages, 1)}


def _describe_passages(passages: Sequence[Passage]) -> list[dict[str, Any]]:
    return [{"number": n, "title": one.title, "text": one.text} for n, one in enumerate(passages, 1)]


NO_INTENTIONS = Unscored(reason="the user wanted nothing that could be judged")
NOTHING_TOLD = Unscored(reason="the user told nothing that could be forgotten")
NO_ROLE = Unscored(reason="no role in the data or the settings")
ONE_MESSAGE = Unscored(reason="no message of the user after an answer")
RECORDED_USER = Unscored(reason="the user's words are recorded, so they say nothing of these answers")


@dataclass(kw_only=True)
class ConversationItemsJudge(ItemizedJudge):
    """Verdicts on each answer of a conversation."""

    level: ClassVar[Level] = "dialogue"
    items: ClassVar[str] = "turns"
    number: ClassVar[str | None] = "turn"
    every: ClassVar[bool] = True
    extra: ClassVar[Sequence[str]] = ("turns", "judged")

    def why_not(self, case: Case) -> Unscored | None:
        return None if any(record.answer is not None for record in case.records) else NO_ANSWER

    def numbers(self, case: Case) -> Collection[int]:
        return [record.depth for record in case.records if record.answer is not None]

    def sources(self, case: Case) -> Sources:
        return texts_of_turns(case)

    def variables(self, case: Case) -> Mapping[str, Any]:
        return {"turns": numbered_turns(case), "judged": list(self.numbers(case))}


@dataclass(kw_only=True)
class CompletenessJudge(ConversationItemsJudge):
    """Share of the user's intentions that the system satisfied, in [0, 1]."""

    kind: ClassVar[str] = "completeness"
    items: ClassVar[str] = "intentions"
    verdict: ClassVar[str] = "satisfied"
    every: ClassVar[bool] = False
    quotes: ClassVar[Sequence[QuoteRule]] = (
        QuoteRule(key="quote", source="user"),
        QuoteRule(key="answer", source="system", verdict=True, place="from"),
    )
    none_found: ClassVar[Unscored] = NO_INTENTIONS

    def numbers(self, case: Case) -> Collection[int]:
        return [record.depth for record in case.records if record.outcome != "skipped"]


@dataclass(kw_only=True)
class KnowledgeRetentionJudge(ConversationItemsJudge):
    """Share of the answers after the user told something that keep it, in [0, 1]."""

    kind: ClassVar[str] = "knowledge_retention"
    verdict: ClassVar[str] = "retained"
    quotes: ClassVar[Sequence[QuoteRule]] = (
        QuoteRule(key="told", source="user", verdict=False, place="until"),
        QuoteRule(key="quote", source="system", verdict=False),
    )
    none_found: ClassVar[Unscored] = NOTHING_TOLD


@dataclass(kw_only=True)
class RoleAdherenceJudge(ConversationItemsJudge):
    """Share of the answers that keep to the system's role, in [0, 1]."""

    role: str | None = None
    """What the system is to be; left out, the data's ``metadata.role``, or else its recorded instructions."""

    kind: ClassVar[str] = "role_adherence"
    verdict: ClassVar[str] = "in_role"
    quotes: ClassVar[Sequence[QuoteRule]] = (QuoteRule(key="quote", source="system", verdict=False),)
    extra: ClassVar[Sequence[str]] = ("turns", "judged", "role")

    def why_not(self, case: Case) -> Unscored | None:
        return super().why_not(case) if self._role(case) else NO_ROLE

    def variables(self, case: Case) -> Mapping[str, Any]:
        return {**super().variables(case), "role": self._role(case)}

    @property
    def settings(self) -> str:
        return f"role={short_hash(self.role)}+" if self.role else ""

    def _role(self, case: Case) -> str:
        return (self.role or "").strip() or role_of(case)


@dataclass(kw_only=True)
class UserFrustrationJudge(ConversationItemsJudge):
    """Share of the user's messages after the first answer that show frustration with it, in [0, 1]."""

    kind: ClassVar[str] = "user_frustration"
    verdict: ClassVar[str] = "frustrated"
    quotes: ClassVar[Sequence[QuoteRule]] = (QuoteRule(key="quote", source="user", verdict=True),)
    less_is_better: ClassVar[bool] = True

    def why_not(self, case: Case) -> Unscored | None:
        if why := super().why_not(case):
            return why
        if case.conversation.goal is None and case.record.policy != RECORDED:
            return RECORDED_USER
        return None if self.numbers(case) else ONE_MESSAGE

    def numbers(self, case: Case) -> Collection[int]:
        answered = [record.depth for record in case.records if record.answer is not None]
        spoken = texts_of_turns(case)["user"]
        return [depth for depth, text in spoken.items() if text.strip() and answered and depth > answered[0]]
