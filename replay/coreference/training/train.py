"""
Trains the embedded resolver, the drift verdict and the decision to edit, and writes their weights.

    python -m replay.coreference.training.train canard_train.json qrecc.json ... \\
        --dialogues tests/coreference/dialogues/*.json [--folds FOLDER]

The files are data sets with human rewrites that the program reads (CANARD's form, CAsT 2021 and 2022, iKAT),
and dialogues with known wrong answers, of which every second is learned from. For each of five folds by
article or topic, networks are fitted to the others and read the fold; the verdict and the decision learn from
these readings, of questions that the readers had not learned from. With ``--folds`` the weights
of each fold are written too, for ``python benchmarks/drift.py --cv FOLDER``.

Takes about a quarter of an hour on two cores. The same files in the same order, settings and versions of
Python and numpy give the same weights. They are under CC BY-SA 4.0 (``WEIGHTS.LICENSE.txt``). After
training, raise ``VERSION`` in ``replay/coreference/embedded/__init__.py`` and in
``replay/coreference/drift_strict.py``, and ``SUBSTITUTION_VERSION`` in ``replay/policies/rewriter.py``.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from replay.core.drift_evidence import Reading
from replay.core.errors import ReplayError
from replay.coreference.embedded.network import Ensemble
from replay.coreference.embedded.ranker import read_document
from replay.coreference.resolver import Document
from replay.coreference.small_network import SmallNetwork, probability_of_any
from replay.coreference.training.annotated_questions import FOLDS, Example, read_examples, with_titles
from replay.coreference.training.dialogues import JudgedTurn, read_dialogues
from replay.coreference.training.fit_judgement import (
    JudgementSettings,
    fit_judgement,
    with_precisions,
)
from replay.coreference.training.fit_networks import FitSettings, TrainingExample, fit_network, joined
from replay.coreference.training.judged_cases import (
    Found,
    dialogue_cases,
    dialogue_edit_cases,
    drift_cases,
    edit_cases,
    made_up_cases,
)
from replay.coreference.training.made_up import MadeUp, made_up
from replay.coreference.training.training_examples import judged_examples, training_examples
from replay.coreference.training.weights import Weights, packed

T = TypeVar("T")

_MADE_UP = 3000
_MOST_JUDGED = 4000
"""Questions of one source that judgements learn from."""
_DIALOGUES_COUNT = 3.0
_MADE_UP_COUNT = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Lessons:
    """What there is to learn from."""

    examples: Sequence[Example]
    made_up: Sequence[MadeUp]
    judged: Sequence[JudgedTurn]


def lessons(data: Sequence[Path], dialogues: Sequence[Path]) -> Lessons:
    """
    Raises:
        DatasetError: a file can't be read.
    """
    examples = with_titles(read_examples(data))
    spoken = [e for e in examples if e.document.turns]
    return Lessons(
        examples=examples,
        made_up=list(made_up(spoken, _MADE_UP)),
        judged=[turn for turn in read_dialogues(dialogues) if not turn.held_out],
    )


def train(given: Lessons, settings: FitSettings, jobs: int) -> tuple[Weights, list[Weights]]:
    """The weights learned from all, and for each fold those learned from the others."""
    _shared["weighed"] = _in_parallel(_described, _chunks(given), jobs)  # forked, not sent
    numbers = range(settings.networks)
    fits = [
        (fold, replace(settings, seed=settings.seed + number))
        for fold in (*range(FOLDS), None)
        for number in numbers
    ]
    fitted = _in_parallel(_fit, fits, jobs)
    *by_fold, whole = (
        Ensemble(*_rounded(joined(fitted[at : at + settings.networks])))
        for at in range(0, len(fitted), settings.networks)
    )
    found = _in_parallel(_cases, _judging_jobs(given, by_fold), jobs)
    drift = [case for cases, _ in found for case in cases]
    edits = [case for _, cases in found for case in cases]
    drifts, edit = _judgements(drift), _judgements(edits)
    folds = [Weights(ensemble=by_fold[fold], drift=drifts[fold], edit=edit[fold]) for fold in range(FOLDS)]
    return Weights(ensemble=whole, drift=drifts[FOLDS], edit=edit[FOLDS]), folds


def _rounded(ensemble: Ensemble) -> Iterable[npt.NDArray[np.float32]]:
    """The arrays in the precision they are stored in."""
    return (values.astype(np.float32) for values in packed(ensemble).values())


# The jobs: each is a function and what it is given, run in processes of their own ------------------------


def _in_parallel(work: Callable[[Any], T], given: Sequence[Any], jobs: int) -> list[T]:
    if jobs < 2:
        return [work(one) for one in given]
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        return list(pool.map(work, given))


_Weighed = list[tuple[int, TrainingExample]]
"""Training examples with their folds."""


def _chunks(given: Lessons, size: int = 300) -> list[tuple[str, Sequence[Any], float]]:
    counts = Counter(example.source for example in given.examples)
    chunks: list[tuple[str, Sequence[Any], float]] = []
    for source, count in counts.items():
        examples = [e for e in given.examples if e.source == source]
        chunks += [
            ("examples", examples[at : at + size], _weight(count)) for at in range(0, len(examples), size)
        ]
    made = [m.example for m in given.made_up]
    chunks += [("examples", made[at : at + size], _MADE_UP_COUNT) for at in range(0, len(made), size)]
    return [*chunks, ("judged", given.judged, _DIALOGUES_COUNT)]


def _weight(count: int) -> float:
    """What a question counts, of a source with *count*: ten times as many count three times as much."""
    return min(4.0, max(0.35, math.sqrt(3000 / count)))


def _described(chunk: tuple[str, Sequence[Any], float]) -> _Weighed:
    what, items, weight = chunk
    found: _Weighed = []
    for item in items:
        made = training_examples([item]) if what == "examples" else judged_examples([item])
        found += [(item.fold, replace(one, right=one.right * weight)) for one in made]
    return found


_shared: dict[str, Any] = {}


def _fit(job: tuple[int | None, FitSettings]) -> dict[str, npt.NDArray[np.float32]]:
    fold, settings = job
    examples = [one for chunk in _shared["weighed"] for at, one in chunk if at != fold]
    return fit_network(examples, settings, settings.seed)


def _judging_jobs(
    given: Lessons, by_fold: Sequence[Ensemble]
) -> list[tuple[str, Sequence[Any], Ensemble, int]]:
    jobs: list[tuple[str, Sequence[Any], Ensemble, int]] = []
    counts: Counter[str] = Counter()
    by_place: dict[tuple[int, str], list[Example]] = defaultdict(list)
    for example in sorted(given.examples, key=lambda e: (e.fold, e.source, e.group, e.dialog)):
        share = _MOST_JUDGED / FOLDS
        if counts[f"{example.source} {example.fold}"] < share:
            counts[f"{example.source} {example.fold}"] += 1
            by_place[example.fold, example.source].append(example)
    for (fold, _), examples in by_place.items():
        jobs += [
            ("examples", examples[at : at + 300], by_fold[fold], len(jobs))
            for at in range(0, len(examples), 300)
        ]
    for fold in range(FOLDS):
        jobs.append(("made up", [m for m in given.made_up if m.example.fold == fold], by_fold[fold], fold))
        jobs.append(("judged", [j for j in given.judged if j.fold == fold], by_fold[fold], fold))
    return jobs


def _cases(job: tuple[str, Sequence[Any], Ensemble, int]) -> tuple[list[Found], list[Found]]:
    what, items, ensemble, seed = job
    known: dict[Document, tuple[Reading, ...]] = {}

    def read(document: Document) -> tuple[Reading, ...]:
        if document not in known:
            known[document] = tuple(chosen.reading for chosen in read_document(document, ensemble))
        return known[document]

    if what == "examples":
        return list(drift_cases(items, read, seed)), list(edit_cases(items, read, seed))
    if what == "made up":
        return list(made_up_cases(items, read)), list(edit_cases([m.example for m in items], read, seed))
    return list(dialogue_cases(items, read)), list(dialogue_edit_cases(items, read))


def _judgements(found: Sequence[Found]) -> list[SmallNetwork]:
    """For each fold the judgement learned from the others, then that learned from all, with precisions."""
    counts = Counter(one.source for one in found)

    def weight(source: str) -> float:
        if source == "made up":
            return 0.7
        return 12.0 if source == "dialogues" else min(4.0, max(0.3, math.sqrt(6000 / counts[source])))

    cases = [replace(one.case, weight=weight(one.source)) for one in found]
    settings = JudgementSettings()
    learned = []
    unseen: list[tuple[float, bool, float]] = []
    for fold in range(FOLDS):
        others = [case for case, one in zip(cases, found, strict=True) if one.fold != fold]
        learned.append(fit_judgement(others, settings))
        for case, one in zip(cases, found, strict=True):
            if one.fold == fold:
                each = learned[-1].probabilities(case.evidence.tolist())
                unseen.append((probability_of_any(each), case.yes, case.weight))
    learned.append(fit_judgement(cases, settings))
    return [with_precisions(one, unseen) for one in learned]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m replay.coreference.training.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    defaults = FitSettings()
    parser.add_argument("data", type=Path, nargs="+", help="files with human rewrites")
    parser.add_argument("--dialogues", type=Path, nargs="*", default=[], help="dialogues with wrong answers")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1], help="folder to write to")
    parser.add_argument("--folds", type=Path, help="folder for the weights of each fold")
    parser.add_argument("--networks", type=int, default=defaults.networks)
    parser.add_argument("--epochs", type=int, default=defaults.epochs)
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args(arguments)
    settings = FitSettings(networks=options.networks, epochs=options.epochs, seed=options.seed)
    started = time.perf_counter()
    try:
        given = lessons(options.data, options.dialogues)
    except ReplayError as error:
        print(error, file=sys.stderr)
        return 1
    whole, folds = train(given, settings, options.jobs)
    whole.write(options.out)
    if options.folds:
        for fold, weights in enumerate(folds):
            weights.write(options.folds / str(fold))
    print(
        f"{len(given.examples)} questions of {len({e.group for e in given.examples})} articles and topics, "
        f"{len(given.judged)} of dialogues, {settings.networks} networks, "
        f"{time.perf_counter() - started:.0f} s"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
