"""
``coverage``: whether every sentence of the reference is said somewhere in the answer: the worst covered
reference sentence's best BERTScore F1 with a sentence of the answer, and the share of answers where that
is adequate.

Needs the extra ``neural``. Sentences are told apart by spaCy's sentencizer, which goes by punctuation, so
"Dr. Who" is two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from replay.core.record import TurnRecord
from replay.scorers.answer_text import DECLINING_PATTERNS, check_patterns, patterns_signature
from replay.scorers.bertscore import check_model, rescaled
from replay.scorers.bertscore_model import Pair, bert_model
from replay.scorers.neural_extra import check_neural, encodable, model_name, model_place
from replay.scorers.reference_score import answerable_signature, mean, score_pairs
from replay.scorers.scorer import Unscored

if TYPE_CHECKING:
    from spacy.language import Language


def coverage(scores: Sequence[Sequence[float]]) -> float:
    """
    The least over reference sentences of the best score with a sentence of the answer.

    *scores* has a row for each sentence of the answer and a column for each of the reference.
    ``coverage([[0.9, 0.2], [0.3, 0.6]])`` is 0.6.

    Raises:
        ValueError: *scores* is empty.
    """
    count = len(scores[0]) if scores else 0
    return min(max(row[place] for row in scores) for place in range(count))


def sentences(text: str, language: str = "en") -> list[str]:
    """The sentences of *text* by its punctuation, without blank ones."""
    found = [sentence.text.strip() for sentence in _sentencizer(language)(encodable(text)).sents]
    return [sentence for sentence in found if sentence]


@lru_cache(maxsize=4)
def _sentencizer(language: str) -> Language:
    import spacy  # takes a second

    pipeline = spacy.blank(language)
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = 10**9  # a limit for parsers' memory
    return pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Share of answers that cover the best reference at least as well as *threshold*, in [0, 1]."""

    threshold: float | None = 0.85
    """Null for the mean of the coverage itself."""
    model: str = "roberta-large"
    """A name on the Hugging Face hub, or a folder, seen from the scenario's."""
    num_layers: int | None = None
    """The layer to compare, counted from 1; None for bert-score's choice, which only named models have."""
    rescale: bool = False
    """Rescale with bert-score's published baseline."""
    lang: str = "en"
    """spaCy's code of the language of the sentences, and whose baseline."""
    batch_size: int = 64
    device: str | None = None
    """As torch names it; None for a GPU if there is one."""
    answerable_only: bool = False
    """Leave out questions whose references decline."""
    declining: tuple[str, ...] = DECLINING_PATTERNS
    """Regular expressions of whole answers that count as CANNOTANSWER, beside CANNOTANSWER itself."""
    folder: Path = Path()

    def __post_init__(self) -> None:
        check_patterns(self.declining)
        check_model(self.model, self.folder, num_layers=self.num_layers, rescale=self.rescale)
        if self.batch_size < 1:
            raise ValueError(f"batch_size: {self.batch_size} is not a positive whole number")
        if self.threshold is not None and not -1 <= self.threshold <= 1:
            raise ValueError(f"threshold: {self.threshold} is not between -1 and 1")

    @property
    def is_mean(self) -> bool:
        return True

    def check_installed(self) -> None:
        check_neural(("torch", "bert_score"), "coverage")

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        """
        One score per record, or why there is none.

        Raises:
            PluginError: the extra is not installed, or the model or its baseline is not to be had.
        """
        raw = score_pairs(records, self.declining, self._covered, answerable_only=self.answerable_only)
        threshold = self.threshold
        if threshold is None:
            return raw
        return [one if isinstance(one, Unscored) else float(one >= threshold) for one in raw]

    def _covered(self, pairs: Sequence[Pair]) -> list[float]:
        model = bert_model(model_place(self.model, self.folder), self.num_layers, self.device)
        baseline = model.baseline(self.lang) if self.rescale else None
        split = {
            text: sentences(text, self.lang) for text in dict.fromkeys(t for pair in pairs for t in pair)
        }
        wanted = [(one, other) for said, gold in pairs for one in split[said] for other in split[gold]]
        found = model.score(wanted, batch_size=self.batch_size)
        f1 = {
            pair: rescaled(scores, baseline).f1
            for pair, scores in zip(wanted, found, strict=True)
            if scores is not None  # always: nothing weighs nothing without idf
        }
        return [
            coverage([[f1[one, other] for other in split[gold]] for one in split[said]])
            if split[said] and split[gold]
            else float(not split[said] and not split[gold])
            for said, gold in pairs
        ]

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)

    @property
    def signature(self) -> str:
        threshold = "none" if self.threshold is None else f"{self.threshold:g}"
        layers = "default" if self.num_layers is None else self.num_layers
        rescale = self.lang if self.rescale else "no"
        only = answerable_signature(self.answerable_only)
        return (
            f"coverage:bertscore-f1+max|threshold:{threshold}|model:{model_name(self.model)}|layers:{layers}"
            f"|rescale:{rescale}|sentences:{self.lang}|declining:{patterns_signature(self.declining)}{only}"
        )
