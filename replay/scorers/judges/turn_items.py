"""
``faithfulness``, ``context_precision``, ``context_recall`` and ``answer_relevancy`` of each turn.

The first three are RAGAS's (Es et al., *RAGAs: Automated Evaluation of Retrieval Augmented Generation*, EACL
2024, for faithfulness; its program for the other two). Relevancy there is the likeness of questions that a
model makes of the answer to the one that was asked, by their embeddings; a judge here has a model and no
embeddings, so it is the share of the answer's statements that help to answer, as in DeepEval's metric.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from replay.core.conversation import CANNOT_ANSWER, Passage
from replay.scorers.answer_text import DECLINING_PATTERNS, declines
from replay.scorers.judges.itemized import ItemizedJudge, ItemVerdict, QuoteRule, Sources
from replay.scorers.judges.judge import Case
from replay.scorers.judges.sources import ContextOrigin, context_passages
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
