"""
``repetition``: how much of an answer the system has said before, in the conversation or in the answer itself.

The share of its runs of four words that stand in an earlier answer of the conversation or earlier in the
same one: seq-rep-4 (Welleck et al., *Neural Text Generation with Unlikelihood Training*, ICLR 2020), which
counts within one text, over the answers of a conversation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from replay.core.record import TurnRecord
from replay.scorers.answer_text import words, words_signature
from replay.scorers.reference_score import MeanOfTurns, why_unanswered
from replay.scorers.scorer import Unscored

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
