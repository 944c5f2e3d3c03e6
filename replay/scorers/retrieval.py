"""
How well a system retrieves: its passages, best first, against the turn's gold passages, by id.

``hit_rate`` (HR@k), ``mrr``, ``ndcg`` (Järvelin & Kekäläinen, *Cumulated gain-based evaluation of IR
techniques*, 2002, with the logarithmic discount of today's tools), ``ndcg_linear`` (the same with the
discount 1/rank, as in some evaluations of QA systems; the two are not comparable), ``modified_precision``
(hits over gold passages, which others call recall) and ``precision_at``.

A passage that is reported twice counts at its first place only; the second keeps its rank.

An answered turn without passages scores 0 if its system reports passages anywhere else in the records
that are observed together, a whole run as a rule. A system that never does simply doesn't say what it
retrieved: its turns are unscored. This is the one place where an observation depends on others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from replay.core.record import TurnRecord
from replay.scorers.reference_score import MeanOfTurns, why_unanswered
from replay.scorers.scorer import Unscored

Relevance = Sequence[bool]
"""For each retrieved passage, best first, whether it is a gold passage met for the first time."""
Metric = Callable[[Relevance, int, int | None], float]
"""Takes a relevance, the number of gold passages and how many of the first count, None for all."""


def relevance(ranking: Sequence[str], gold: Iterable[str]) -> list[bool]:
    """Return for each passage of *ranking* whether it is in *gold*; a repeated passage counts once."""
    wanted = set(gold)
    return [passage in wanted and passage not in ranking[:place] for place, passage in enumerate(ranking)]


def hit_rate(found: Relevance, gold_count: int, k: int | None) -> float:
    """Return 1 if a gold passage is among the first *k*, else 0."""
    return float(any(found[:k]))


def mrr(found: Relevance, gold_count: int, k: int | None) -> float:
    """Return 1/rank of the first gold passage; 0 if none is among the first *k*."""
    return next((1 / rank for rank, hit in enumerate(found[:k], 1) if hit), 0.0)


def ndcg(found: Relevance, gold_count: int, k: int | None) -> float:
    """
    Sum of 1/log2(rank + 1) over the hits, as a share of the best sum possible, in [0, 1].

    Relevance 0, 1, 0, 1 with 3 gold passages: 0.4982.
    """
    return _gain(found, gold_count, k, lambda rank: 1 / math.log2(rank + 1))


def ndcg_linear(found: Relevance, gold_count: int, k: int | None) -> float:
    """
    Sum of 1/rank over the hits, as a share of the best sum possible, in [0, 1].

    Relevance 0, 1, 0, 1 with 3 gold passages: 0.4091.
    """
    return _gain(found, gold_count, k, lambda rank: 1 / rank)


def modified_precision(found: Relevance, gold_count: int, k: int | None) -> float:
    """Return the share of the gold passages that are among the first *k*, in [0, 1]."""
    return sum(found[:k]) / gold_count


def precision_at(found: Relevance, gold_count: int, k: int | None) -> float:
    """Return the gold passages among the first *k* by *k*, even if fewer were retrieved, in [0, 1]."""
    places = len(found) if k is None else k
    return sum(found[:k]) / places if places else 0.0


def _gain(found: Relevance, gold_count: int, k: int | None, discount: Callable[[int], float]) -> float:
    best = gold_count if k is None else min(k, gold_count)
    gain = math.fsum(discount(rank) for rank, hit in enumerate(found[:k], 1) if hit)
    return min(1.0, gain / math.fsum(discount(rank) for rank in range(1, best + 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalScorer(MeanOfTurns):
    """Mean over turns of one retrieval metric, in [0, 1]."""

    metric: Metric
    k: int | None = None
    """How many of the passages count; None for all."""
    reporting: frozenset[str] | None = None
    """Systems that are known to report passages; None to see it from the records that are observed."""

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 1:
            raise ValueError(f"k: {self.k} is not a positive whole number")

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        reporting = self.reporting if self.reporting is not None else _reporting(records)
        return [self._observe(record, record.system in reporting) for record in records]

    def survey(self, records: Sequence[TurnRecord]) -> RetrievalScorer:
        """A system that reports passages now and then has found none where it reports none."""
        return replace(self, reporting=(self.reporting or frozenset()) | _reporting(records))

    def _observe(self, record: TurnRecord, reports_passages: bool) -> float | Unscored:
        if (why := why_unanswered(record)) is not None:
            return why
        if not record.gold_passages:
            return Unscored(reason="no gold passage")
        if not reports_passages:
            return Unscored(reason="the system reports no passages")
        gold = set(record.gold_passages)
        found = relevance([passage.id for passage in record.passages], gold)
        return self.metric(found, len(gold), self.k)

    @property
    def signature(self) -> str:
        return f"{self.metric.__name__}:{'all' if self.k is None else f'k{self.k}'}|by:id"


def _reporting(records: Sequence[TurnRecord]) -> frozenset[str]:
    return frozenset(record.system for record in records if record.passages)


def hit_rate_scorer(k: int = 5) -> RetrievalScorer:
    """Return the scorer ``hit_rate``: share of questions with a gold passage among the first *k*."""
    return RetrievalScorer(metric=hit_rate, k=k)


def mrr_scorer(k: int | None = None) -> RetrievalScorer:
    """Return the scorer ``mrr``: mean of 1/rank of the first gold passage."""
    return RetrievalScorer(metric=mrr, k=k)


def ndcg_scorer(k: int | None = 10) -> RetrievalScorer:
    """Return the scorer ``ndcg``: discount 1/log2(rank + 1)."""
    return RetrievalScorer(metric=ndcg, k=k)


def ndcg_linear_scorer(k: int | None = None) -> RetrievalScorer:
    """Return the scorer ``ndcg_linear``: discount 1/rank."""
    return RetrievalScorer(metric=ndcg_linear, k=k)


def modified_precision_scorer(k: int | None = None) -> RetrievalScorer:
    """Return the scorer ``modified_precision``: share of the gold passages that are retrieved."""
    return RetrievalScorer(metric=modified_precision, k=k)


def precision_at_scorer(k: int = 5) -> RetrievalScorer:
    """Return the scorer ``precision_at``: share of the first *k* that are gold passages."""
    return RetrievalScorer(metric=precision_at, k=k)
