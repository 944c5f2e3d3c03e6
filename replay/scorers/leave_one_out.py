"""
The numbers of two leaderboards, which leave one reference out at a time: ``quac_f1``, ``heq_q`` and
``heq_d`` of QuAC (Choi et al., 2018, *QuAC: Question Answering in Context*, section 5) as its script
``scorer.py`` computes them, ``coqa_em`` and ``coqa_f1`` of CoQA (Reddy et al., 2019, *CoQA: A
Conversational Question Answering Challenge*, section 6.1) as ``evaluate-v1.0.py`` does.

With several references, people and systems are made comparable by leaving one reference out at a time: a
system's score is the mean over the left-out references of the best score against the others; the human F1
of a question is the mean over references of the best F1 against the others.

QuAC leaves out questions on which people agree too little (human F1 below 0.4). HEQ-Q is the share of
questions on which the system is at least as good as people, HEQ-D the share of dialogs in which it is so on
every question. The words are those of the script, so a Chinese phrase is one of them, other than in ``f1``.
We differ in two things: an answer may also decline in other words than CANNOTANSWER, and two texts that
normalize to nothing score 1, where the script gives 0.

To CoQA "unknown" is a word like any other: where one of four people gives an answer and three say unknown,
all four references stay, and no rule decides whether the question counts as answerable. Conversations and
systems say CANNOTANSWER where CoQA's files say unknown; here it is read as that word, and so is an answer
that one of the *declining* patterns matches, of which there is none by default.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from replay.core.record import TurnRecord
from replay.scorers.answer_text import DECLINING_PATTERNS, declines, normalize
from replay.scorers.reference_score import AnswerScore, ReferenceScore, Texts, each, mean
from replay.scorers.scorer import Unscored, resampled_shares, resampled_sums
from replay.scorers.word_overlap import bag_f1

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MIN_HUMAN_F1 = 0.4
"""The script's default."""


def leave_one_out(score: AnswerScore, answer: str, references: Sequence[str]) -> float:
    """
    Return the mean over left-out references of the best score against the others, in [0, 1].

    ``leave_one_out(published_f1, "in Paris", ["in Paris", "Paris", "the city"])``: with F1 of 1, 2/3 and 0
    the best of the others are 2/3, 1 and 1, so 8/9.
    """
    scores = [score(answer, [reference]) for reference in references]
    if len(scores) == 1:
        return scores[0]
    return mean(max((*scores[:left], *scores[left + 1 :])) for left in range(len(scores)))


def human_f1(references: Sequence[str]) -> float:
    """
    Return human agreement in [0, 1]: the mean over references of the best F1 against the others; 1 for one.

    ``human_f1(["in Paris", "Paris", "the city"])``: 2/3, 2/3 and 0, so 4/9.
    """
    if len(references) == 1:
        return 1.0
    return mean(
        published_f1(one, [*references[:left], *references[left + 1 :]])
        for left, one in enumerate(references)
    )


def published_f1(answer: str, references: Sequence[str]) -> float:
    """Return the best F1 of words against any reference, in [0, 1]; words as in the scripts."""
    predicted = normalize(answer).split()
    return max(bag_f1(predicted, normalize(reference).split()) for reference in references)


def _scores(
    min_human_f1: float, held_against_people: bool, texts: Sequence[Texts], declining: Sequence[str]
) -> list[float | Unscored]:
    scores: list[float | Unscored] = []
    for (_, references), f1 in zip(
        texts, each(partial(leave_one_out, published_f1))(texts, declining), strict=True
    ):
        people = human_f1(references)
        if isinstance(f1, Unscored) or people < min_human_f1:
            scores.append(Unscored(reason=f"human F1 below {min_human_f1:g}"))
        else:
            scores.append(float(f1 >= people) if held_against_people else f1)
    return scores


def _leave_one_out(
    name: str, min_human_f1: float, answerable_only: bool, declining: tuple[str, ...]
) -> ReferenceScore:
    if not 0 <= min_human_f1 <= 1:
        raise ValueError(f"min_human_f1: {min_human_f1} is not between 0 and 1")
    return ReferenceScore(
        name=name,
        settings=f"squad+leave-one-out|min-human:{min_human_f1:g}",
        score=partial(_scores, min_human_f1, name != "quac_f1"),
        answerable_only=answerable_only,
        declining=declining,
    )


def quac_f1(
    min_human_f1: float = MIN_HUMAN_F1,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
) -> ReferenceScore:
    """
    Return the scorer ``quac_f1``: mean leave-one-out F1 where people agree, in [0, 1].

    Args:
        min_human_f1: Questions on which people agree less than this are left out.
    """
    return _leave_one_out("quac_f1", min_human_f1, answerable_only, declining)


def heq_q(
    min_human_f1: float = MIN_HUMAN_F1,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
) -> ReferenceScore:
    """
    Return the scorer ``heq_q``: share of questions answered at least as well as by people, in [0, 1].

    Args:
        min_human_f1: Questions on which people agree less than this are left out.
    """
    return _leave_one_out("heq_q", min_human_f1, answerable_only, declining)


def heq_d(
    min_human_f1: float = MIN_HUMAN_F1,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
) -> EquivalentDialogs:
    """
    Return the scorer ``heq_d``: share of dialogs answered at least as well as by people throughout.

    Args:
        min_human_f1: Questions on which people agree less than this are left out.
        answerable_only: Leave out questions that count as unanswerable by QuAC's rule.
        declining: Regular expressions of whole answers that count as CANNOTANSWER.
    """
    return EquivalentDialogs(questions=_leave_one_out("heq_d", min_human_f1, answerable_only, declining))


@dataclass(frozen=True, slots=True, kw_only=True)
class EquivalentDialogs:
    """
    Share of dialogs whose every scored question is answered at least as well as by people, in [0, 1].

    Over a subset of turns, a dialog is what the subset has of it: at one depth HEQ-D is HEQ-Q. Dialogs
    without a scored turn don't count; the script counts them as good if their questions were left out,
    and as bad if they were not answered.
    """

    questions: ReferenceScore

    def observe(self, records: Sequence[TurnRecord]) -> list[list[str | int] | Unscored]:
        """Return conversation, depth, and 1 if the answer is at least as good as people's, else 0."""
        return [
            found if isinstance(found, Unscored) else [record.conversation, record.depth, int(found)]
            for record, found in zip(records, self.questions.observe(records), strict=True)
        ]

    def combine(self, observed: Iterable[Sequence[str | int]]) -> float:
        times: dict[str | int, int] = defaultdict(int)
        turns: dict[str | int, int] = defaultdict(int)
        bad = set[str | int]()
        for (dialog, _, reaches), count in Counter(map(tuple, observed)).items():
            times[dialog] += count
            turns[dialog] += 1
            if not reaches:
                bad.add(dialog)
        if not times:
            raise ValueError("no observation to combine")
        # A resample holds a dialog's turns as often as it has drawn the dialog.
        drawn = {dialog: count / turns[dialog] for dialog, count in times.items()}
        good = math.fsum(share for dialog, share in drawn.items() if dialog not in bad)
        return good / math.fsum(drawn.values())

    def combine_resampled(
        self, observed: Sequence[Sequence[str | int]], clusters: Sequence[int], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        cluster_of: dict[str | int, int] = {}
        bad = set[str | int]()
        for (dialog, _, reaches), cluster in zip(observed, clusters, strict=True):
            cluster_of[dialog] = cluster
            if not reaches:
                bad.add(dialog)
        good = [[float(dialog not in bad)] for dialog in cluster_of]
        sums, dialogs = resampled_sums(good, list(cluster_of.values()), weights)
        return resampled_shares(sums[:, 0], dialogs)

    @property
    def signature(self) -> str:
        return self.questions.signature


UNKNOWN = "unknown"


def _unknown_as_word(score: AnswerScore, texts: Sequence[Texts], declining: Sequence[str]) -> list[float]:
    def read(text: str) -> str:
        return UNKNOWN if declines(text, declining) else text

    return [leave_one_out(score, read(answer), [*map(read, references)]) for answer, references in texts]


def _published_em(answer: str, references: Sequence[str]) -> float:
    return float(normalize(answer) in map(normalize, references))


def _coqa(name: str, score: AnswerScore, answerable_only: bool, declining: tuple[str, ...]) -> ReferenceScore:
    return ReferenceScore(
        name=name,
        settings="squad+leave-one-out|unknown:word",
        score=partial(_unknown_as_word, score),
        all_references=True,
        answerable_only=answerable_only,
        declining=declining,
    )


def coqa_em(answerable_only: bool = False, declining: tuple[str, ...] = ()) -> ReferenceScore:
    """Return the scorer ``coqa_em``: mean leave-one-out exact match, in [0, 1]."""
    return _coqa("coqa_em", _published_em, answerable_only, declining)


def coqa_f1(answerable_only: bool = False, declining: tuple[str, ...] = ()) -> ReferenceScore:
    """Return the scorer ``coqa_f1``: mean leave-one-out F1 of words, in [0, 1]."""
    return _coqa("coqa_f1", published_f1, answerable_only, declining)
