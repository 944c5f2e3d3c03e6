"""All that is learned: written as the files that ship, and read again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from replay.core.drift_evidence import Reading
from replay.coreference import small_network
from replay.coreference.embedded import network
from replay.coreference.embedded.network import Ensemble
from replay.coreference.embedded.ranker import read_document
from replay.coreference.resolver import Document
from replay.coreference.small_network import DRIFT, EDIT, SmallNetwork


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """All that is learned."""

    ensemble: Ensemble
    drift: SmallNetwork
    edit: SmallNetwork

    def read(self, document: Document) -> tuple[Reading, ...]:
        return tuple(chosen.reading for chosen in read_document(document, self.ensemble))

    def write(self, folder: Path) -> None:
        """As the files that ship, each in the folder it ships in below *folder*."""
        (folder / "embedded").mkdir(parents=True, exist_ok=True)
        stored: dict[str, npt.NDArray[Any]] = packed(self.ensemble)
        np.savez_compressed(folder / "embedded" / network.WEIGHTS, **stored)  # type: ignore[arg-type]
        for name, learned in ((DRIFT, self.drift), (EDIT, self.edit)):
            stored = {field: getattr(learned, field) for field in small_network.PARAMETERS}
            np.savez_compressed(
                folder / name,
                **{field: values.astype(np.float32) for field, values in stored.items()},  # type: ignore[arg-type]
            )

    @staticmethod
    def load(folder: Path) -> Weights:
        """What ``write`` wrote to *folder*."""
        return Weights(
            ensemble=network.unpacked(np.load(folder / "embedded" / network.WEIGHTS)),
            drift=small_network.unpacked(np.load(folder / DRIFT)),
            edit=small_network.unpacked(np.load(folder / EDIT)),
        )


def packed(ensemble: Ensemble) -> dict[str, npt.NDArray[Any]]:
    """An ensemble as arrays of half precision by name, to be stored; ``network.unpacked`` is the inverse."""
    return {name: getattr(ensemble, name).astype(np.float16) for name in network.PARAMETERS}
