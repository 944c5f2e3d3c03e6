"""
Scores of the words that answer and references share: ``em`` and ``f1`` (Rajpurkar et al., 2016, section
6.1, with the unanswerable questions of QuAC, Choi et al., 2018), ``rouge1``, ``rouge2`` and ``rouge_l``
(Lin, 2004, *ROUGE: A Package for Automatic Evaluation of Summaries*, sections 2 and 3.1).

ROUGE is the F measure of the rouge-score package. The package reads ASCII only and so finds no word in a
Greek or Chinese answer; here its stemmer is used and words are told apart in any script.

``repetition`` is how much of an answer the system has said before, in the conversation or in the answer
itself: the share of its runs of four words that stand in an earlier answer of the conversation or earlier in
the same one. That is seq-rep-4 (Welleck et al., *Neural Text Generation with Unlikelihood Training*, ICLR
2020), which counts within one text, over the answers of a conversation.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from replay.core.record import TurnRecord
from replay.scorers.answer_text import DECLINING_PATTERNS, Tokens, words, words_signature
from replay.scorers.reference_score import MeanOfTurns, ReferenceScore, each, why_unanswered
from replay.scorers.scorer import Unscored


def exact_match(answer: str, references: Sequence[str]) -> float:
    """
    Return 1 if *answer* has the words of a reference after SQuAD normalization, in order, else 0.

    ``exact_match("The Eiffel Tower.", ["eiffel tower"])`` is 1.
    """
    found = words(answer, "squad")
    return float(any(found == words(reference, "squad") for reference in references))


def em(answerable_only: bool = False, declining: tuple[str, ...] = DECLINING_PATTERNS) -> ReferenceScore:
    """Return the scorer ``em``: share of answers that equal a reference, in [0, 1]."""
    return ReferenceScore(
        name="em",
        settings=f"{words_signature('squad')}+max",
        score=each(exact_match),
        answerable_only=answerable_only,
        declining=declining,
    )


def token_f1(answer: str, references: Sequence[str]) -> float:
    """
    Return the best bag-of-words F1 of *answer* against any reference, in [0, 1].

    Both sides are normalized as in SQuAD v1.1 (lower case; no punctuation, articles or extra spaces); a
    Chinese character is a word, as in MLQA's script, whose F1 for Chinese this is.
    Two texts that normalize to nothing score 1, where the SQuAD v1.1 script gives 0. Unlike in the
    QuAC script, no leave-one-out maximum over several references is taken here.

    ``token_f1("in the city of Paris", ["Paris, France"])``: 1 word in common, precision 1/4,
    recall 1/2, F1 1/3.
    """
    predicted = words(answer, "squad")
    return max(bag_f1(predicted, words(reference, "squad")) for reference in references)


def bag_f1(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """Return the F1 of two bags of words, in [0, 1]; 1 of two empty ones."""
    if not predicted and not gold:
        return 1.0
    shared = (Counter(predicted) & Counter(gold)).total()
    return 2 * shared / (len(predicted) + len(gold))


def f1(answerable_only: bool = False, declining: tuple[str, ...] = DECLINING_PATTERNS) -> ReferenceScore:
    """Return the scorer ``f1``: mean word F1 against the best reference, in [0, 1]."""
    return ReferenceScore(
        name="f1",
        settings=f"{words_signature('squad')}+max",
        score=each(token_f1),
        answerable_only=answerable_only,
        declining=declining,
    )


def runs_f1(
    answer: str, references: Sequence[str], *, n: int, tokens: Tokens = "plain", stemmer: bool = False
) -> float:
    """
    Return the F1 of the runs of *n* words of the answer and of the best reference, in [0, 1].

    A run counts as often as both have it. Texts with words and no run of *n* score 0, equal ones too, as in
    the package; two texts without a word score 1, as in the other word scores.

    ``runs_f1("the cat sat", ["the cat ran"], n=2)``: one pair of two in common, 1/2.
    """
    predicted = words(answer, tokens, stemmer)
    return max(_f1(predicted, words(reference, tokens, stemmer), n) for reference in references)


def _f1(predicted: Sequence[str], gold: Sequence[str], n: int) -> float:
    if not predicted and not gold:
        return 1.0
    found, wanted = _runs(predicted, n), _runs(gold, n)
    total = found.total() + wanted.total()
    return 2 * (found & wanted).total() / total if total else 0.0


def _runs(some: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(some[start:] for start in range(n)), strict=False))


def _rouge_n(
    n: int, tokens: Tokens, stemmer: bool, answerable_only: bool, declining: tuple[str, ...]
) -> ReferenceScore:
    return ReferenceScore(
        name=f"rouge{n}",
        settings=f"{words_signature(tokens, stemmer)}+max",
        score=each(partial(runs_f1, n=n, tokens=tokens, stemmer=stemmer)),
        answerable_only=answerable_only,
        declining=declining,
    )


def rouge1(
    tokens: Tokens = "plain",
    stemmer: bool = False,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
) -> ReferenceScore:
    """
    Return the scorer ``rouge1``: mean F1 of single words against the best reference, in [0, 1].

    Args:
        tokens: ``plain``: words without punctuation, in lower case; ``squad``: also without articles.
        stemmer: Whether words are cut to their stems, as rouge-score's Porter stemmer does.
    """
    return _rouge_n(1, tokens, stemmer, answerable_only, declining)


def rouge2(
    tokens: Tokens = "plain",
    stemmer: bool = False,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
) -> ReferenceScore:
    """
    Return the scorer ``rouge2``: mean F1 of pairs of neighbouring words, in [0, 1].

    Args:
        tokens: ``plain``: words without punctuation, in lower case; ``squad``: also without articles.
        stemmer: Whether words are cut to their stems, as rouge-score's Porter stemmer does.
    """
    return _rouge_n(2, tokens, stemmer, answerable_only, declining)


def lcs_f(
    answer: str,
    references: Sequence[str],
    *,
    beta: float = 1.0,
    tokens: Tokens = "plain",
    stemmer: bool = False,
) -> float:
    """
    Return ``(1 + beta²) R P / (R + beta² P)`` for the best reference, in [0, 1].

    R and P are the longest common subsequence over the words of the reference and of the answer.
    With ``beta=1`` and plain tokens, on ASCII text, the F measure of the rouge-score package, whose
    *stemmer* it is too. Two texts without words score 1.

    ``lcs_f("police kill the gunman", ["police killed the gunman"])`` is 3/4 (the paper's example).
    """
    predicted = words(answer, tokens, stemmer)
    return max(_f_beta(predicted, words(reference, tokens, stemmer), beta) for reference in references)


def _f_beta(predicted: Sequence[str], gold: Sequence[str], beta: float) -> float:
    if not predicted and not gold:
        return 1.0
    # Here, because `replay --help` and `replay plugins` import scorers without scoring anything.
    from rapidfuzz.distance import LCSseq

    common = LCSseq.similarity(predicted, gold)
    if not common:
        return 0.0
    # The formula of the docstring with R = common / |gold| and P = common / |predicted| put in; equal
    # texts can come out a rounding error above 1.
    return min(1.0, (1 + beta**2) * common / (len(predicted) + beta**2 * len(gold)))


def rouge_l(
    beta: float = 1.0,
    tokens: Tokens = "plain",
    stemmer: bool = False,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
) -> ReferenceScore:
    """
    Return the scorer ``rouge_l``: mean ROUGE-L F against the best reference, in [0, 1].

    *beta* is how many times as much recall weighs as precision; 0 is precision alone.

    Args:
        beta: How much recall counts beside precision.
        tokens: ``plain``: words without punctuation, in lower case; ``squad``: also without articles.
        stemmer: Whether words are cut to their stems, as rouge-score's Porter stemmer does.
    """
    if not (math.isfinite(beta) and beta >= 0):
        raise ValueError(f"beta: {beta} is not a finite number of at least 0")
    return ReferenceScore(
        name="rouge_l",
        settings=f"{words_signature(tokens, stemmer)}+max|beta:{beta:g}",
        score=each(partial(lcs_f, beta=beta, tokens=tokens, stemmer=stemmer)),
        answerable_only=answerable_only,
        declining=declining,
    )


NO_WORDS = Unscored(reason="no words in the answer")
EARLIER_MISSING = Unscored(reason="earlier turns are not here")

_Run = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionScorer(MeanOfTurns):
    """Mean over turns of the share of runs of *length* words that were said before, in [0, 1]."""

    length: int = 4

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ValueError(f"length: {self.length} is not a positive whole number")

    @property
    def lower_is_better(self) -> bool:
        return True

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        """Return one share for each record; those of a conversation have to be there together."""
        plays: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        for index, record in enumerate(records):
            plays[record.conversation, record.system, record.policy].append(index)
        observed: list[float | Unscored] = [EARLIER_MISSING] * len(records)
        for indexes in plays.values():
            indexes.sort(key=lambda index: records[index].depth)
            said: set[_Run] = set()
            for place, index in enumerate(indexes):
                record = records[index]
                if (why := why_unanswered(record)) is not None:
                    observed[index] = why
                elif record.depth == place + 1:
                    observed[index] = self._share(words(record.answer or "", "plain"), said)
        return observed

    def _share(self, answer: Sequence[str], said: set[_Run]) -> float | Unscored:
        """Return the share of *answer*'s runs that are in *said*, to which they are added."""
        if not answer:
            return NO_WORDS
        runs = [tuple(answer[at : at + self.length]) for at in range(max(1, len(answer) - self.length + 1))]
        repeated = 0
        for run in runs:  # a shorter answer is one run, which only an equal answer has
            repeated += run in said
            said.add(run)
        return repeated / len(runs)

    @property
    def signature(self) -> str:
        return f"repetition:{words_signature('plain')}|runs:{self.length}|earlier-answers+own"


def repetition(length: int = 4) -> RepetitionScorer:
    """
    Return the scorer ``repetition``: share of an answer that the system said before; less is better.

    Args:
        length: Words in a run; an answer of fewer words is compared as a whole.
    """
    return RepetitionScorer(length=length)
