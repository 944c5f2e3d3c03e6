"""
Trains the networks of the embedded resolver and writes their weights.

    python -m replay.coreference.training.train canard_dev.json [more files] [--out weights.npz]

The files are data sets with human rewrites that the program reads: CANARD, CAsT 2021 and 2022, iKAT.
Takes about half a minute on one core. The same files in the same order, settings and versions of Python
and numpy give the same weights. Weights trained on CANARD are under its licence, CC BY-SA 4.0
(``WEIGHTS.LICENSE.txt``). After training with other data or settings, raise ``VERSION`` in
``replay/coreference/embedded/__init__.py``.

Cross-validated figures come from ``python benchmarks/drift.py --data FILE ... --cv``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from replay.core.errors import ReplayError
from replay.coreference.embedded.network import PARAMETERS, WEIGHTS, Ensemble, unpacked
from replay.coreference.training.annotated_questions import Example, read_examples
from replay.coreference.training.fit_networks import FitSettings, fit_ensemble
from replay.coreference.training.training_examples import training_examples


def train(examples: Sequence[Example], settings: FitSettings | None = None) -> Ensemble:
    """The resolver's networks fitted to *examples*, in the precision they are stored in."""
    return unpacked(packed(fit_ensemble(training_examples(examples), settings or FitSettings())))


def packed(ensemble: Ensemble) -> dict[str, npt.NDArray[np.float16]]:
    """An ensemble as arrays of half precision by name, to be stored; ``unpacked`` is the inverse."""
    return {
        name: np.stack([getattr(network, name) for network in ensemble.networks]).astype(np.float16)
        for name in PARAMETERS
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m replay.coreference.training.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    defaults = FitSettings()
    parser.add_argument("data", type=Path, nargs="+", help="files in CANARD's, CAsT's or iKAT's format")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "embedded" / WEIGHTS)
    parser.add_argument("--networks", type=int, default=defaults.networks)
    parser.add_argument("--epochs", type=int, default=defaults.epochs)
    parser.add_argument("--seed", type=int, default=defaults.seed)
    options = parser.parse_args(arguments)
    settings = FitSettings(networks=options.networks, epochs=options.epochs, seed=options.seed)
    started = time.perf_counter()
    try:
        examples = read_examples(options.data)
    except ReplayError as error:
        print(error, file=sys.stderr)
        return 1
    ensemble = train(examples, settings)
    with options.out.open("wb") as file:
        np.savez_compressed(file, **packed(ensemble))  # type: ignore[arg-type]
    size = options.out.stat().st_size
    print(
        f"{len(examples)} questions of {len({e.group for e in examples})} articles and topics, "
        f"{settings.networks} networks, {size / 1000:.0f} KB, {time.perf_counter() - started:.0f} s"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
