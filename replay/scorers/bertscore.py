"""
``bertscore``: how well the word pieces of answer and reference match in a language model's space (Zhang et
al., 2020, *BERTScore: Evaluating Text Generation with BERT*), through the bert-score package. ``coverage``:
whether every sentence of the reference is said somewhere in the answer: the worst covered reference
sentence's best BERTScore F1 with a sentence of the answer, and the share of answers where that is adequate.

Both need the extra ``neural``. All turns of a run are scored together, and scorers that differ in ``part``
alone share one model and one computation. Sentences are told apart by spaCy's sentencizer, which goes by
punctuation, so "Dr. Who" is two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from replay.core.neural_models import check_batch_size, encodable, model_name, model_place, neural_module
from replay.core.record import TurnRecord
from replay.scorers.answer_text import DECLINING_PATTERNS
from replay.scorers.bertscore_model import DIGITS, BertScores, Pair, bert_model
from replay.scorers.reference_score import MeanOfTurns, ReferenceScore, best_pair, declined_score, texts_of
from replay.scorers.scorer import Unscored

if TYPE_CHECKING:
    from spacy.language import Language


Part = Literal["precision", "recall", "f1"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BertSettings:
    """
    Which model compares texts, up to which layer, and on which scale.

    Raises:
        ValueError: a number is not positive, the layer is missing for a local model, or *rescale* is set
            for one.
    """

    model: str
    """A name on the Hugging Face hub, or a folder, seen from the scenario's."""
    num_layers: int | None
    """The layer to compare, counted from 1; None for bert-score's choice, which only named models have."""
    rescale: bool
    """Rescale with bert-score's published baseline."""
    lang: str
    """Whose baseline."""
    batch_size: int
    device: str | None
    """As torch names it; None for a GPU if there is one."""
    folder: Path

    def __post_init__(self) -> None:
        if self.num_layers is not None and self.num_layers < 1:
            raise ValueError(f"num_layers: {self.num_layers} is not a positive whole number")
        if Path(model_place(self.model, self.folder)).is_dir():
            if self.num_layers is None:
                raise ValueError(
                    f'num_layers: of the local model "{self.model}" no best layer is known; give one, '
                    "counted from 1"
                )
            if self.rescale:
                raise ValueError(
                    "rescale: baselines are published by model name, none for the local model "
                    f'"{self.model}"; turn rescale off, or name the model'
                )
        check_batch_size(self.batch_size)

    def score(
        self, pairs: Sequence[Pair], idf_references: Sequence[str] | None = None
    ) -> list[BertScores | None]:
        """
        Return precision, recall and F1 of each of *pairs*, as ``BertModel.score``.

        With *rescale*, scores are rescaled so that the baseline is 0 and 1 stays 1; those of blank texts are
        not.

        Raises:
            PluginError: the extra is not installed, or the model or its baseline can't be had.
        """
        model = bert_model(model_place(self.model, self.folder), self.num_layers, self.device)
        baseline = model.baseline(self.lang) if self.rescale else None
        found = model.score(pairs, idf_references=idf_references, batch_size=self.batch_size)
        if baseline is None:
            return found
        return [
            BertScores(*(round((s - b) / (1 - b), DIGITS) for s, b in zip(scores, baseline, strict=True)))
            if scores is not None and all(text.strip() for text in pair)
            else scores
            for pair, scores in zip(pairs, found, strict=True)
        ]

    @property
    def model_signature(self) -> str:
        layers = "default" if self.num_layers is None else self.num_layers
        return f"model:{model_name(self.model)}|layers:{layers}"

    @property
    def scale_signature(self) -> str:
        return f"rescale:{self.lang if self.rescale else 'no'}"


def _part_of(
    settings: BertSettings, part: Part, pairs: Sequence[Pair], idf_references: Sequence[str] | None = None
) -> list[float | Unscored]:
    return [
        Unscored(reason="no word piece with an idf above 0") if scores is None else getattr(scores, part)
        for scores in settings.score(pairs, idf_references)
    ]


def bertscore(
    part: Part = "f1",
    model: str = "roberta-large",
    num_layers: int | None = None,
    idf: bool = False,
    rescale: bool = False,
    lang: str = "en",
    batch_size: int = 64,
    device: str | None = None,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
    folder: Path = Path(),
) -> ReferenceScore | IdfBertScore:
    """
    Return the scorer ``bertscore``: mean BERTScore precision, recall or F1 against the best reference.

    About in [0, 1]; with *rescale* unrelated texts lie around 0 and worse ones below. A blank answer, and
    one that declines when it shouldn't or doesn't when it should, scores 0 on either scale. With *idf*
    word pieces weigh by their idf among the references of all turns scored together.

    Args:
        part: Which of the three numbers.
        model: A name on the Hugging Face hub, or a folder.
        num_layers: The layer that is compared; the model's usual one by default.
        idf: Whether rare words of the references count more.
        rescale: Whether bert-score's baseline is taken off.
        lang: The language, for the baseline.
        batch_size: Pairs at a time.
        device: As torch has it, ``cpu`` or ``cuda:1``; by default a GPU where there is one.
        answerable_only: Leave out questions that count as unanswerable by QuAC's rule.
        declining: Regular expressions of whole answers that count as CANNOTANSWER.
    """
    settings = BertSettings(
        model=model,
        num_layers=num_layers,
        rescale=rescale,
        lang=lang,
        batch_size=batch_size,
        device=device,
        folder=folder,
    )
    plain = ReferenceScore(
        name="bertscore",
        settings=f"{part}+max|{settings.model_signature}|idf:{'yes' if idf else 'no'}"
        f"|{settings.scale_signature}",
        score=best_pair(partial(_part_of, settings, part)),
        needs=("torch", "bert_score"),
        answerable_only=answerable_only,
        declining=declining,
    )
    return IdfBertScore(plain=plain, settings=settings, part=part) if idf else plain


@dataclass(frozen=True, slots=True, kw_only=True)
class IdfBertScore(MeanOfTurns):
    """BERTScore with the idf of the whole run's references."""

    plain: ReferenceScore
    """The same without weights."""
    settings: BertSettings
    part: Part
    references: Mapping[tuple[str, int], tuple[str, ...]] | None = None
    """Those of each turn of the data, once the run was surveyed."""

    @property
    def is_neural(self) -> bool:
        return True

    def check_installed(self) -> None:
        self.plain.check_installed()

    def survey(self, records: Sequence[TurnRecord]) -> IdfBertScore:
        return replace(self, references={**(self.references or {}), **self._turns(records)})

    def _turns(self, records: Sequence[TurnRecord]) -> dict[tuple[str, int], tuple[str, ...]]:
        plain = self.plain
        turns: dict[tuple[str, int], tuple[str, ...]] = {}
        for record in records:
            texts = texts_of(record, plain.declining, plain.answerable_only)
            if not isinstance(texts, Unscored) and declined_score(*texts, plain.declining) is None:
                turns[record.recorded_conversation, record.depth] = texts[1]
        return turns

    def _idf_references(self, records: Sequence[TurnRecord]) -> list[str]:
        """Return the references of each turn once, however often and by whatever it was played."""
        turns = self._turns(records) if self.references is None else self.references
        return sorted(reference for references in turns.values() for reference in references)

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        references = self._idf_references(records)
        weighed = partial(_part_of, self.settings, self.part, idf_references=references)
        return replace(self.plain, score=best_pair(weighed)).observe(records)

    @property
    def signature(self) -> str:
        return self.plain.signature


def worst_covered(scores: Sequence[Sequence[float]]) -> float:
    """
    Return the least over reference sentences of the best score with a sentence of the answer.

    *scores* has a row for each sentence of the answer and a column for each of the reference.
    ``worst_covered([[0.9, 0.2], [0.3, 0.6]])`` is 0.6.
    """
    return min(max(row[position] for row in scores) for position in range(len(scores[0])))


def sentences(text: str, language: str = "en") -> list[str]:
    """Return the sentences of *text* by its punctuation, without blank ones."""
    found = [sentence.text.strip() for sentence in _sentencizer(language)(encodable(text)).sents]
    return [sentence for sentence in found if sentence]


@lru_cache(maxsize=4)
def _sentencizer(language: str) -> Language:
    pipeline: Language = neural_module("spacy", "coverage").blank(language)
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = 10**9  # a limit for parsers' memory
    return pipeline


def _coverage(settings: BertSettings, threshold: float | None, pairs: Sequence[Pair]) -> list[float]:
    split = {
        text: sentences(text, settings.lang) for text in dict.fromkeys(t for pair in pairs for t in pair)
    }
    wanted = [(one, other) for answer, gold in pairs for one in split[answer] for other in split[gold]]
    f1 = {
        pair: scores.f1
        for pair, scores in zip(wanted, settings.score(wanted), strict=True)
        if scores is not None  # always: nothing weighs nothing without idf
    }
    found = [
        worst_covered([[f1[one, other] for other in split[gold]] for one in split[answer]])
        if split[answer] and split[gold]
        else float(not split[answer] and not split[gold])
        for answer, gold in pairs
    ]
    return found if threshold is None else [float(one >= threshold) for one in found]


def coverage(
    threshold: float | None = 0.85,
    model: str = "roberta-large",
    num_layers: int | None = None,
    rescale: bool = False,
    lang: str = "en",
    batch_size: int = 64,
    device: str | None = None,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
    folder: Path = Path(),
) -> ReferenceScore:
    """
    Return the scorer ``coverage``: share of answers that cover the best reference, in [0, 1].

    With a threshold of None, the mean of the coverage itself. *lang* is spaCy's code of the language of
    the sentences, and whose baseline *rescale* goes by.

    Args:
        threshold: How alike each sentence of the reference has to be to a sentence of the answer; with null
            the score is that likeness.
        model: A name on the Hugging Face hub, or a folder.
        num_layers: The layer that is compared; the model's usual one by default.
        rescale: Whether bert-score's baseline is taken off.
        lang: The language, for sentences and the baseline.
        batch_size: Pairs at a time.
        device: As torch has it, ``cpu`` or ``cuda:1``; by default a GPU where there is one.
    """
    settings = BertSettings(
        model=model,
        num_layers=num_layers,
        rescale=rescale,
        lang=lang,
        batch_size=batch_size,
        device=device,
        folder=folder,
    )
    if threshold is not None and not -1 <= threshold <= 1:
        raise ValueError(f"threshold: {threshold} is not between -1 and 1")
    return ReferenceScore(
        name="coverage",
        settings=f"bertscore-f1+max|threshold:{'none' if threshold is None else f'{threshold:g}'}"
        f"|{settings.model_signature}|{settings.scale_signature}|sentences:{lang}",
        score=best_pair(partial(_coverage, settings, threshold)),
        needs=("torch", "bert_score", "spacy"),
        answerable_only=answerable_only,
        declining=declining,
    )
