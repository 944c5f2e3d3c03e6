"""
``coqa_em`` and ``coqa_f1``: the numbers of CoQA's leaderboard (Reddy et al., 2019, *CoQA: A Conversational
Question Answering Challenge*, section 6.1), as its script ``evaluate-v1.0.py`` computes them.

One reference is left out at a time: a turn's score is the mean over the left-out references of the best
score against the others, so that people, of whom each is held against the others, can be measured the
same way. Words are SQuAD's. "unknown" is a word like any other: where one of four people gives an answer and
three say unknown, all four references stay, and no rule decides whether the question counts as answerable.

Conversations and systems say CANNOTANSWER where CoQA's files say unknown; here it is read as that word,
and so is an answer that one of the *declining* patterns matches, of which there is none by default.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from replay.scorers.answer_text import declines, normalize
from replay.scorers.quac_f1 import leave_one_out, published_f1
from replay.scorers.reference_score import AnswerScore, ReferenceScore, Texts

UNKNOWN = "unknown"


def _scores(score: AnswerScore, texts: Sequence[Texts], declining: Sequence[str]) -> list[float]:
    def read(text: str) -> str:
        return UNKNOWN if declines(text, declining) else text

    return [leave_one_out(score, read(answer), [*map(read, references)]) for answer, references in texts]


def _published_em(answer: str, references: Sequence[str]) -> float:
    return float(normalize(answer) in map(normalize, references))


def _coqa(name: str, score: AnswerScore, answerable_only: bool, declining: tuple[str, ...]) -> ReferenceScore:
    return ReferenceScore(
        name=name,
        settings="squad+leave-one-out|unknown:word",
        score=partial(_scores, score),
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
