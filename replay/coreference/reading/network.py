"""
The shipped network, run by ONNX Runtime on one core, a sequence at a time.

One at a time, so that a batch can't change a reading; batches would save nothing on a processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from replay.core.errors import ResolverError
from replay.coreference.reading.sequence import TokenSequence, WordPiece

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

Floats = npt.NDArray[np.float32]
WEIGHTS = Path(__file__).parent / "weights"
PREPOSITIONS = (
    "", "besides", "other than", "in", "of", "to", "with", "for", "at", "about", "on", "from", "by", "during",
    "as", "than", ",",
)  # fmt: skip
"""Before a span that is put into a question; the first puts it there as it is."""
ARTICLES = ("", "the")
_POINTER_SCALE = 128**-0.5
_PHRASE_SCALE = 64**-0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOutput:
    """What the network says of a sequence of *n* tokens; all of it logits but for the pointers' halves."""

    tags: Floats
    """``[n, 3]``: insert before this token, leave it out, put a possessive there."""
    preposition: Floats
    """``[n, P]``."""
    article_here: Floats
    article_there: Floats
    """``[n, A]``; the sum over where a span is put and where it starts counts."""
    capital: Floats
    """``[n]``."""
    from_start: Floats
    to_start: Floats
    from_end: Floats
    to_end: Floats
    """``[n, 128]``; a product of two is how well a token starts or ends what another one means."""
    phrase_start: Floats
    phrase_end: Floats
    """``[n, 64]``; a product of two is how well the tokens between them make a phrase."""
    verdict: Floats
    """``[1]``: of a pair, that the question means something else."""

    def start_from(self, position: int) -> Floats:
        """Return how well each token starts what is meant at *position*, ``[n]``."""
        found: Floats = (self.to_start @ self.from_start[position]) * _POINTER_SCALE
        return found

    def end_from(self, position: int) -> Floats:
        """Return how well each token ends what is meant at *position*, ``[n]``."""
        found: Floats = (self.to_end @ self.from_end[position]) * _POINTER_SCALE
        return found

    def phrases(self, here: slice) -> Floats:
        """Return how well the tokens *here* make phrases: from which (row) to which (column)."""
        found: Floats = (self.phrase_start[here] @ self.phrase_end[here].T) * _PHRASE_SCALE
        return found


class Network:
    """The weights in a folder, with their vocabulary."""

    def __init__(self, folder: Path = WEIGHTS) -> None:
        """
        Load the weights.

        Raises:
            ResolverError: ONNX Runtime is missing or can't run here, or the weights can't be read.
        """
        self.pieces: WordPiece = WordPiece.load(folder / "vocabulary.txt")
        self._session = _session(folder / "reader.onnx")

    def run(self, sequence: TokenSequence) -> NetworkOutput:
        """Return what the network says of *sequence*."""
        found: Sequence[Any] = self._session.run(
            None,
            {
                "ids": np.array([sequence.ids], dtype=np.int64),
                "roles": np.array([sequence.roles], dtype=np.int64),
            },
        )
        return NetworkOutput(
            **dict(zip((output.name for output in self._session.get_outputs()), found, strict=True))
        )


def _session(path: Path) -> InferenceSession:
    try:
        import onnxruntime
    except ImportError as error:
        raise ResolverError(
            f"the embedded reader needs ONNX Runtime, which can't be loaded here ({error}). "
            "Install a wheel of onnxruntime for this machine, or choose another resolver "
            "(drift.resolver: fastcoref, or llm)"
        ) from error
    options = onnxruntime.SessionOptions()
    # A worker has one core; the arena would keep what the longest sequence needed.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ResolverError(f"the reader's weights can't be loaded: {error}") from error


@lru_cache(maxsize=2)
def load_network(folder: Path) -> Network:
    """Return the network in *folder*, loaded once a process."""
    return Network(folder)


_in_use = WEIGHTS


def folder_in_use() -> Path:
    """Return where the weights in use are: those that come with the program, but for training and
    benchmarks."""
    return _in_use


def use(folder: Path) -> None:
    """Read with the weights in *folder* from now on, in this process."""
    global _in_use
    _in_use = folder


def current() -> Network:
    """Return the network in use."""
    return load_network(_in_use)
