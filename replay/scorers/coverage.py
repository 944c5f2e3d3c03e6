"""
``coverage``: whether every sentence of the reference is said somewhere in the answer: the worst covered
reference sentence's best BERTScore F1 with a sentence of the answer, and the share of answers where that
is adequate.

Needs the extra ``neural``. Sentences are told apart by spaCy's sentencizer, which goes by punctuation, so
"Dr. Who" is two.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from replay.scorers.answer_text import DECLINING_PATTERNS
from replay.scorers.bertscore import BertSettings
from replay.scorers.bertscore_model import Pair
from replay.scorers.neural_extra import encodable, neural_module
from replay.scorers.reference_score import ReferenceScore, best_pair

if TYPE_CHECKING:
    from spacy.language import Language


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


def _covered(settings: BertSettings, threshold: float | None, pairs: Sequence[Pair]) -> list[float]:
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
        score=best_pair(partial(_covered, settings, threshold)),
        needs=("torch", "bert_score", "spacy"),
        answerable_only=answerable_only,
        declining=declining,
    )
