"""
``quac_f1``, ``heq_q`` and ``heq_d``: the numbers of QuAC's leaderboard (Choi et al., 2018, *QuAC:
Question Answering in Context*, section 5), as its script ``scorer.py`` computes them.

With several references, people and systems are made comparable by leaving one reference out at a time:
a system's F1 is the mean over the left-out references of the best F1 against the others; the human F1
of a question is the mean over references of the best F1 against the others. Questions on which people
agree too little (human F1 below 0.4) are left out. HEQ-Q is the share of questions on which the system
is at least as good as people, HEQ-D the share of dialogs in which it is so on every question.

We differ in two things: an answer may also decline in other words than CANNOTANSWER, and two texts that
normalize to nothing score 1, where the script gives 0.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replay.core.record import TurnRecord
from replay.scorers.answer_text import DECLINING_PATTERNS, check_patterns, patterns_signature, quac_references
from replay.scorers.reference_score import answerable_signature, mean, why_unscored_answer
from replay.scorers.resampling import resampled_sums
from replay.scorers.scorer import Unscored
from replay.scorers.token_f1 import token_f1

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MIN_HUMAN_F1 = 0.4
"""The script's default."""


def quac_f1(
    answer: str, gold_answers: Sequence[str], *, declining: Sequence[str] = DECLINING_PATTERNS
) -> float:
    """
    Mean over left-out references of the best F1 against the others, in [0, 1]; of one, its F1.

    ``quac_f1("in Paris", ["in Paris", "Paris", "the city"])``: with F1 of 1, 2/3 and 0 the best of the
    others are 2/3, 1 and 1, so 8/9.

    Raises:
        ValueError: *gold_answers* is empty.
    """
    references = quac_references(gold_answers, declining)
    if not references:
        raise ValueError("there is no gold answer to compare with")
    return _leave_one_out([token_f1(answer, [reference], declining=declining) for reference in references])


def human_f1(gold_answers: Sequence[str], *, declining: Sequence[str] = DECLINING_PATTERNS) -> float:
    """
    How well people agree: the mean over references of the best F1 against the others, in [0, 1].

    1 where one reference, or only that there is no answer, is left of *gold_answers* by QuAC's rule.

    ``human_f1(["in Paris", "Paris", "the city"])``: 2/3, 2/3 and 0, so 4/9.

    Raises:
        ValueError: *gold_answers* is empty.
    """
    references = quac_references(gold_answers, declining)
    if not references:
        raise ValueError("there is no gold answer to compare with")
    if len(references) == 1:
        return 1.0
    return mean(
        token_f1(one, [*references[:place], *references[place + 1 :]], declining=declining)
        for place, one in enumerate(references)
    )


def _leave_one_out(scores: Sequence[float]) -> float:
    if len(scores) == 1:
        return scores[0]
    return mean(max((*scores[:place], *scores[place + 1 :])) for place in range(len(scores)))


def _why_unscored(
    record: TurnRecord, declining: Sequence[str], min_human_f1: float, answerable_only: bool
) -> Unscored | None:
    why = why_unscored_answer(record, declining, answerable_only)
    if why is None and human_f1(record.gold_answers, declining=declining) < min_human_f1:
        return Unscored(reason=f"human F1 below {min_human_f1:g}")
    return why


def _reaches_people(record: TurnRecord, declining: Sequence[str]) -> bool:
    assert record.answer is not None
    people = human_f1(record.gold_answers, declining=declining)
    return quac_f1(record.answer, record.gold_answers, declining=declining) >= people


def _check(min_human_f1: float, declining: Sequence[str]) -> None:
    check_patterns(declining)
    if not 0 <= min_human_f1 <= 1:
        raise ValueError(f"min_human_f1: {min_human_f1} is not between 0 and 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuacF1:
    """Mean leave-one-out F1 over questions on which people agree, in [0, 1]."""

    min_human_f1: float = MIN_HUMAN_F1
    """Leave out questions with a lower human F1; 0 for none."""
    answerable_only: bool = False
    """Leave out questions whose references decline."""
    declining: tuple[str, ...] = DECLINING_PATTERNS
    """Regular expressions of whole answers that count as CANNOTANSWER, beside CANNOTANSWER itself."""

    def __post_init__(self) -> None:
        _check(self.min_human_f1, self.declining)

    @property
    def is_mean(self) -> bool:
        return True

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        return [self._observe(record) for record in records]

    def _observe(self, record: TurnRecord) -> float | Unscored:
        why = _why_unscored(record, self.declining, self.min_human_f1, self.answerable_only)
        if why is not None:
            return why
        assert record.answer is not None
        return quac_f1(record.answer, record.gold_answers, declining=self.declining)

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)

    @property
    def signature(self) -> str:
        return f"quac_f1:squad+leave-one-out{_settings(self)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeqQ:
    """Share of questions answered at least as well as by people, in [0, 1]."""

    min_human_f1: float = MIN_HUMAN_F1
    """Leave out questions with a lower human F1; 0 for none."""
    answerable_only: bool = False
    """Leave out questions whose references decline."""
    declining: tuple[str, ...] = DECLINING_PATTERNS
    """Regular expressions of whole answers that count as CANNOTANSWER, beside CANNOTANSWER itself."""

    def __post_init__(self) -> None:
        _check(self.min_human_f1, self.declining)

    @property
    def is_mean(self) -> bool:
        return True

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        return [self._observe(record) for record in records]

    def _observe(self, record: TurnRecord) -> float | Unscored:
        why = _why_unscored(record, self.declining, self.min_human_f1, self.answerable_only)
        return why if why is not None else float(_reaches_people(record, self.declining))

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)

    @property
    def signature(self) -> str:
        return f"heq_q:squad+leave-one-out{_settings(self)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeqD:
    """
    Share of dialogs whose every scored question is answered at least as well as by people, in [0, 1].

    Over a subset of turns, a dialog is what the subset has of it: at one depth HEQ-D is HEQ-Q. Dialogs
    without a scored turn don't count; the script counts them as good if their questions were left out,
    and as bad if they were not answered.
    """

    min_human_f1: float = MIN_HUMAN_F1
    """Leave out questions with a lower human F1; 0 for none."""
    answerable_only: bool = False
    """Leave out questions whose references decline."""
    declining: tuple[str, ...] = DECLINING_PATTERNS
    """Regular expressions of whole answers that count as CANNOTANSWER, beside CANNOTANSWER itself."""

    def __post_init__(self) -> None:
        _check(self.min_human_f1, self.declining)

    def observe(self, records: Sequence[TurnRecord]) -> list[list[str | int] | Unscored]:
        """Conversation, depth, and 1 if the answer is at least as good as people's, else 0."""
        return [self._observe(record) for record in records]

    def _observe(self, record: TurnRecord) -> list[str | int] | Unscored:
        why = _why_unscored(record, self.declining, self.min_human_f1, self.answerable_only)
        if why is not None:
            return why
        return [record.conversation, record.depth, int(_reaches_people(record, self.declining))]

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
        import numpy as np

        cluster_of: dict[str | int, int] = {}
        bad = set[str | int]()
        for (dialog, _, reaches), cluster in zip(observed, clusters, strict=True):
            cluster_of[dialog] = cluster
            if not reaches:
                bad.add(dialog)
        good = [[float(dialog not in bad)] for dialog in cluster_of]
        sums, dialogs = resampled_sums(good, list(cluster_of.values()), weights)
        with np.errstate(invalid="ignore"):
            shares: NDArray[np.float64] = sums[:, 0] / dialogs
        return shares

    @property
    def signature(self) -> str:
        return f"heq_d:squad+leave-one-out{_settings(self)}"


def _settings(scorer: QuacF1 | HeqQ | HeqD) -> str:
    return (
        f"|min-human:{scorer.min_human_f1:g}|declining:{patterns_signature(scorer.declining)}"
        f"{answerable_signature(scorer.answerable_only)}"
    )
