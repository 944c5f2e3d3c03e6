"""
Fits the last two decisions, "does it mean something else" and "is this edit for the better", on data that the
network had not seen (``reading.decisions``).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
from scipy.optimize import minimize

from replay.core.drift_evidence import Reading
from replay.coreference.reading import decisions, network
from replay.coreference.reading.decisions import Decisions, Logistic, evidence
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.rewriting import rewrite
from replay.coreference.reading.words import content_words, word_f1, words
from replay.coreference.training.annotated_questions import Example, read_examples, with_titles
from replay.coreference.training.corrupted import corrupt
from replay.coreference.training.dialogues import read_dialogues
from replay.coreference.training.held_out import is_for_decisions, is_held_out
from replay.coreference.training.prepare import WINDOW

UNDECIDED_VERDICT = Logistic(coefficients=(1.0, 0, 0, 0), intercept=0)
UNDECIDED_EDIT = Logistic(coefficients=(1.0, 0, 0, 0, 0, 0, 0), intercept=0)
_MOST_CORRUPTED = 2000
_DECAY = 0.0003
"""L2 penalty of a coefficient, for features that are about one's size."""


def fit_logistic(
    features: Sequence[Sequence[float]], truths: Sequence[float], weights: Sequence[float]
) -> Logistic:
    """Return the regression that fits best, each example counting by its weight."""
    x, y, w = np.array(features, float), np.array(truths, float), np.array(weights, float)
    w = w / w.sum()

    def loss(c: np.ndarray) -> float:
        logits = x @ c[:-1] + c[-1]
        each = np.logaddexp(0, logits) - y * logits
        return float((w * each).sum() + _DECAY * (c[:-1] ** 2).mean())

    found = minimize(loss, np.zeros(x.shape[1] + 1), method="L-BFGS-B")
    return Logistic(
        coefficients=tuple(round(float(c), 5) for c in found.x[:-1]), intercept=round(float(found.x[-1]), 5)
    )


def calibrate(folder: Path, rewrites: Sequence[Path], dev: Sequence[Path]) -> Iterator[str]:
    """
    Fit the decisions for the weights in *folder* and write them there; yield what was found, a line each.

    The dialogues *dev* count twice as much as what was made of *rewrites*, of which the held-out third that
    is ``is_for_decisions`` is taken; a third as much as these count their standalone questions in each
    other's histories, which nothing should be put into.
    """
    write(folder, Decisions(verdict=UNDECIDED_VERDICT, edit=UNDECIDED_EDIT))
    network.use(folder)
    turns = read_dialogues(dev)
    questions = [e for e in with_titles(read_examples(rewrites)) if is_held_out(e) and is_for_decisions(e)]
    shown = [replace(e.document, turns=e.document.turns[-WINDOW:]) for e in questions]
    wrong = list(corrupt(questions, harmless=True))
    wrong = random.Random(0).sample(wrong, min(_MOST_CORRUPTED, len(wrong)))
    spoken = verdict_cases((t.gold, t.own, not t.same) for t in turns if t.same is not None)
    written = verdict_cases((one.example.document, one.document, bool(one.lost)) for one in wrong)
    verdict = fit_logistic(*_together((spoken, 2), (written, 1)))
    spoken_edits = edit_cases((t.gold, t.standalone) for t in turns if t.standalone)
    written_edits = edit_cases((d, e.rewrite) for d, e in zip(shown, questions, strict=True))
    foreign_edits = edit_cases((d, d.question) for d in in_foreign_histories(questions))
    edit = fit_logistic(*_together((spoken_edits, 2), (written_edits, 1), (foreign_edits, 0.3)))
    write(folder, Decisions(verdict=verdict, edit=edit))
    for name, (features, truths), decision in (
        ("verdict, dialogues", spoken, verdict),
        ("verdict, rewrites", written, verdict),
        ("edit, dialogues", spoken_edits, edit),
        ("edit, rewrites", written_edits, edit),
        ("edit, foreign histories", foreign_edits, edit),
    ):
        found = [decision.probability(f) for f in features]
        yield f"{name}: {len(found)}, mean {np.mean(found):.3f}, yes {np.mean(truths):.3f}"
        for least in (0.4, 0.5, 0.6, 0.7, 0.8):
            flagged = [t for p, t in zip(found, truths, strict=True) if p >= least]
            precision, recall = sum(flagged) / max(1, len(flagged)), sum(flagged) / max(1.0, sum(truths))
            yield f"  from {least}: {len(flagged)}, precision {precision:.3f}, recall {recall:.3f}"
    yield f"{verdict} {edit}"


def write(folder: Path, decided: Decisions) -> None:
    """Write *decided* beside the weights in *folder*."""
    (folder / decisions.FILE).write_bytes(msgspec.json.format(msgspec.json.encode(decided)) + b"\n")
    decisions.load.cache_clear()


Cases = tuple[list[list[float]], list[float]]


def _together(*groups: tuple[Cases, float]) -> tuple[list[list[float]], list[float], list[float]]:
    """Return the cases of all *groups*, each with its weight as a whole."""
    features = [each for (found, _), _ in groups for each in found]
    truths = [truth for (_, told), _ in groups for truth in told]
    weights = [weight / len(found) for (found, _), weight in groups for _ in found]
    return features, truths, weights


def in_foreign_histories(examples: Sequence[Example]) -> Iterator[Document]:
    """Yield the standalone form of each of *examples* after the history of another one, of another group."""
    for example, other in zip(examples, [*examples[1:], *examples[:1]], strict=True):
        if other.group != example.group and other.document.turns:
            yield replace(other.document, question=example.rewrite, turns=other.document.turns[-WINDOW:])


def verdict_cases(
    cases: Iterable[tuple[Document, Document, bool]],
) -> tuple[list[list[float]], list[float]]:
    """Return features and truths of (recorded, own, has changed) where the question leans on anything."""
    resolver = EmbeddedResolver()
    features, truths = [], []
    for gold, own, changed in cases:
        meant = resolver.read([gold])[0] if gold != own else ()
        if meant:
            features.append(evidence(meant, gold, own))
            truths.append(float(changed))
    return features, truths


def edit_cases(cases: Iterable[tuple[Document, str]]) -> tuple[list[list[float]], list[float]]:
    """Return features and truths of each reading's edit: whether it comes nearer to the human rewrite and
    names nothing that this does not."""
    resolver = EmbeddedResolver()
    features, truths = [], []
    for document, human in cases:
        for reading in resolver.read([document])[0]:
            put = rewrite(document.question, [replace(reading, worth=1.0)], min_probability=0.0)
            if put != document.question:
                before, after = (word_f1(words(q), words(human)) for q in (document.question, put))
                features.append(decisions.edit_features(_leaning(reading), reading))
                foreign = set(content_words(put)) - set(content_words(f"{document.question} {human}"))
                truths.append(float(after > before + 1e-9 and not foreign))
    return features, truths


def _leaning(reading: Reading) -> float:
    return sum(p for p, _ in reading.distribution)
