"""
``bertscore``: how well the word pieces of answer and reference match in a language model's space (Zhang
et al., 2020, *BERTScore: Evaluating Text Generation with BERT*), through the bert-score package.

Needs the extra ``neural``. All turns of a run are scored together, and scorers that differ in ``part``
alone share one model and one computation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from replay.core.record import TurnRecord
from replay.scorers.answer_text import DECLINING_PATTERNS, check_patterns, patterns_signature
from replay.scorers.bertscore_model import DIGITS, BertModel, BertScores, Pair, bert_model
from replay.scorers.neural_extra import check_neural, model_name, model_place
from replay.scorers.reference_score import answerable_signature, compared_texts, mean, score_pairs
from replay.scorers.scorer import Unscored

Part = Literal["precision", "recall", "f1"]


def check_model(model: str, folder: Path, *, num_layers: int | None, rescale: bool) -> None:
    """
    Make sure of what can be known without loading anything.

    Raises:
        ValueError: *num_layers* is not positive or is missing for a local model, or *rescale* is set for one.
    """
    if num_layers is not None and num_layers < 1:
        raise ValueError(f"num_layers: {num_layers} is not a positive whole number")
    if Path(model_place(model, folder)).is_dir():
        if num_layers is None:
            raise ValueError(
                f'num_layers: of the local model "{model}" no best layer is known; give one, counted from 1'
            )
        if rescale:
            raise ValueError(
                f'rescale: baselines are published by model name, none for the local model "{model}"; '
                "turn rescale off, or name the model"
            )


def rescaled(scores: BertScores, baseline: BertScores | None) -> BertScores:
    """*scores* on a scale where *baseline* is 0 and 1 stays 1; unchanged without one."""
    if baseline is None:
        return scores
    return BertScores(*(round((s - b) / (1 - b), DIGITS) for s, b in zip(scores, baseline, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class BertScore:
    """
    Mean BERTScore precision, recall or F1 against the best reference.

    About in [0, 1]; with *rescale* unrelated texts lie around 0 and worse ones below. A blank answer, and
    one that declines when it shouldn't or doesn't when it should, scores 0 on either scale.
    """

    part: Part = "f1"
    model: str = "roberta-large"
    """A name on the Hugging Face hub, or a folder, seen from the scenario's."""
    num_layers: int | None = None
    """The layer to compare, counted from 1; None for bert-score's choice, which only named models have."""
    idf: bool = False
    """Weigh word pieces by their idf among the references of all turns scored together."""
    rescale: bool = False
    """Rescale with bert-score's published baseline."""
    lang: str = "en"
    """Whose baseline."""
    batch_size: int = 64
    device: str | None = None
    """As torch names it; None for a GPU if there is one."""
    answerable_only: bool = False
    """Leave out questions whose references decline."""
    declining: tuple[str, ...] = DECLINING_PATTERNS
    """Regular expressions of whole answers that count as CANNOTANSWER, beside CANNOTANSWER itself."""
    folder: Path = Path()
    _references: dict[tuple[str, int], tuple[str, ...]] | None = field(
        init=False, default=None, repr=False, compare=False
    )
    """With idf: the references of each turn of the data, once the run was surveyed."""

    def __post_init__(self) -> None:
        check_patterns(self.declining)
        check_model(self.model, self.folder, num_layers=self.num_layers, rescale=self.rescale)
        if self.batch_size < 1:
            raise ValueError(f"batch_size: {self.batch_size} is not a positive whole number")

    @property
    def is_mean(self) -> bool:
        return True

    def check_installed(self) -> None:
        check_neural(("torch", "bert_score"), "bertscore")

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        """
        One score per record, or why there is none.

        Raises:
            PluginError: the extra is not installed, or the model or its baseline is not to be had.
        """
        references = self._idf_references(records) if self.idf else None

        def score(pairs: Sequence[Pair]) -> list[float | Unscored]:
            model = self._loaded()
            baseline = model.baseline(self.lang) if self.rescale else None
            found = model.score(pairs, idf_references=references, batch_size=self.batch_size)
            return [self._part(pair, scores, baseline) for pair, scores in zip(pairs, found, strict=True)]

        return score_pairs(records, self.declining, score, answerable_only=self.answerable_only)

    def surveyed(self, records: Sequence[TurnRecord]) -> BertScore:
        """Idf is that of the whole run's references."""
        if not self.idf:
            return self
        known = copy(self)
        turns = {**(self._references or {}), **self._turn_references(records)}
        object.__setattr__(known, "_references", turns)
        return known

    def _turn_references(self, records: Sequence[TurnRecord]) -> dict[tuple[str, int], tuple[str, ...]]:
        turns: dict[tuple[str, int], tuple[str, ...]] = {}
        for record in records:
            texts = compared_texts(record, self.declining, self.answerable_only)
            if isinstance(texts, tuple):
                turns[record.recorded_conversation, record.depth] = texts[1]
        return turns

    def _loaded(self) -> BertModel:
        return bert_model(model_place(self.model, self.folder), self.num_layers, self.device)

    def _idf_references(self, records: Sequence[TurnRecord]) -> list[str]:
        """The references of each turn once, however often and by whatever it was played."""
        turns = self._turn_references(records) if self._references is None else self._references
        return sorted(reference for references in turns.values() for reference in references)

    def _part(self, pair: Pair, scores: BertScores | None, baseline: BertScores | None) -> float | Unscored:
        if scores is None:
            return Unscored(reason="no word piece with an idf above 0")
        if not all(text.strip() for text in pair):
            return getattr(scores, self.part)  # type: ignore[no-any-return]
        return getattr(rescaled(scores, baseline), self.part)  # type: ignore[no-any-return]

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)

    @property
    def signature(self) -> str:
        layers = "default" if self.num_layers is None else self.num_layers
        rescale = self.lang if self.rescale else "no"
        only = answerable_signature(self.answerable_only)
        return (
            f"bertscore:{self.part}+max|model:{model_name(self.model)}|layers:{layers}"
            f"|idf:{'yes' if self.idf else 'no'}|rescale:{rescale}"
            f"|declining:{patterns_signature(self.declining)}{only}"
        )
