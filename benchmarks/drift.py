"""
How well resolvers read mentions, rewrite questions and see drift, on data with human rewrites.

    python benchmarks/drift.py --data canard_dev.json
    python benchmarks/drift.py --data cast_2022.json ikat_2024.json --resolver rules embedded
    python benchmarks/drift.py --data canard_dev.json --train cast_2022.json --cv
    python benchmarks/drift.py --data canard_dev.json --cv --without-title

Takes CANARD, CAsT 2021 and 2022 and iKAT files. The shipped weights of ``embedded`` have seen the
files they were trained on (``replay/coreference/embedded/WEIGHTS.LICENSE.txt``): ``--cv`` trains anew,
on four fifths of the articles and topics of all files, those of ``--train`` too, and reads the last
fifth, five times. Everything else is the same for every resolver:

- Mentions: each question is aligned with its human rewrite; the words that stand in a mention's
  place are its right reading. An antecedent is right when all its content words occur in the
  rewrite and one of them stands in the mention's place; a whole utterance, when it holds at least
  60 % of the words that people put there. P, R and F over all kinds, F for each kind. "left" is the
  share of the mentions that people left alone and the resolver too.
- Rewriting: sacreBLEU, ROUGE F and normalised exact match against the human rewrite.
- Drift: one of the last two gold answers is replaced, by another answer of the same dialog, by "I
  don't know." and by an answer of another dialog. The question is invalid when its human rewrite adds
  a content word that stood in the replaced answer and nowhere else in the predicted history, and that
  word stands in a mention's place. Questions that are invalid through ellipsis alone ("besides X")
  are left out of the figures but for "+ellipsis", since no mention could tell. "2 back" are the
  replaced answers before the last one. "came" turns every pair round: the history with the wrong
  answer counts as recorded, the right one as the system's own, so that the right antecedent is not
  lost but new.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from replay.core.conversation import CANNOT_ANSWER
from replay.core.drift_evidence import Drift, Reading
from replay.core.history import Exchange
from replay.coreference import drift_hard, drift_strict
from replay.coreference.clusters import read_all
from replay.coreference.embedded import EmbeddedResolver, RulesResolver
from replay.coreference.embedded.candidates import split_title
from replay.coreference.embedded.mention_features import KINDS
from replay.coreference.mentions import PRONOUN_KINDS, find_mentions
from replay.coreference.resolver import Document
from replay.coreference.rewriting import rewrite
from replay.coreference.training.annotated_questions import FOLDS, Example, read_examples
from replay.coreference.training.human_readings import RightReading, right_readings
from replay.coreference.words import content_words, words

CLAUSE_RECALL = 0.6
RESOLVERS = ("copy", "title", "rules", "embedded", "fastcoref")
THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
Read = Callable[[Document, int], tuple[Reading, ...]]
"""Readings of a document whose example belongs to the given fold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corruption:
    """An example under a history in which one answer is wrong."""

    example: int
    document: Document
    turns_back: int
    invalid: bool
    anaphoric: bool


def is_right(reading: Reading, right: RightReading, rewritten: str) -> bool:
    """Whether the resolver's antecedent is what people put in the mention's place."""
    said = set(content_words(reading.antecedent or ""))
    if reading.source == "clause":
        return len(said & set(right.words)) >= CLAUSE_RECALL * len(set(right.words))
    return bool(said & set(right.words)) and said <= set(words(rewritten))


def score_mentions(examples: Sequence[Example], read: Sequence[Sequence[Reading]]) -> dict[str, Counter[str]]:
    """Counts by kind: mentions, resolved, predicted, right, left, left-too."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in ("all", *KINDS)}
    for example, readings in zip(examples, read, strict=True):
        question = example.document.question
        mentions = find_mentions(question)
        by_place = {(r.mention.start, r.mention.end): r for r in readings}
        for mention, right in zip(mentions, right_readings(question, example.rewrite, mentions), strict=True):
            if right.status == "undecided":
                continue
            reading = by_place.get((mention.start, mention.end))
            says = reading is not None and bool(
                set(content_words(reading.antecedent or "")) - set(words(question))
            )
            for kind in ("all", mention.kind):
                count = counts[kind]
                count["resolved"] += right.status == "resolved"
                count["predicted"] += says
                count["left"] += right.status == "left"
                count["left-too"] += right.status == "left" and not says
                if reading is not None and says and right.status == "resolved":
                    count["right"] += is_right(reading, right, example.rewrite)
    return counts


def corrupt(examples: Sequence[Example], seed: int = 0, back: int = 2) -> list[Corruption]:
    """Every example with each of its last *back* answers replaced in up to three ways."""
    rng = random.Random(seed)
    by_dialog: dict[str, list[str]] = defaultdict(list)
    for example in examples:
        for turn in example.document.turns:
            if turn.answer not in by_dialog[example.dialog]:
                by_dialog[example.dialog].append(turn.answer)
    pool = [(dialog, answer) for dialog, answers in by_dialog.items() for answer in answers]
    corrupted = []
    for index, example in enumerate(examples):
        turns = example.document.turns
        question = example.document.question
        rights = right_readings(question, example.rewrite, find_mentions(question))
        in_places = {word for right in rights for word in right.words}
        for at in range(max(0, len(turns) - back), len(turns)):
            gold = turns[at].answer
            others = [a for a in by_dialog[example.dialog] if a != gold]
            same = [a for a in others if a not in {turn.answer for turn in turns}] or others
            strangers = len(by_dialog[example.dialog]) < len(pool)
            foreign = rng.choice(pool) if strangers else ("", CANNOT_ANSWER)
            while foreign[0] == example.dialog:
                foreign = rng.choice(pool)
            for wrong in (rng.choice(same) if same else gold, CANNOT_ANSWER, foreign[1]):
                if set(content_words(wrong)) == set(content_words(gold)) or gold == CANNOT_ANSWER:
                    continue
                exchange = Exchange(question=turns[at].question, answer=wrong)
                document = replace(example.document, turns=(*turns[:at], exchange, *turns[at + 1 :]))
                added = set(content_words(example.rewrite)) - set(words(question))
                lost = added & set(content_words(gold)) - set(words(document.context()))
                corrupted.append(
                    Corruption(
                        example=index,
                        document=document,
                        turns_back=len(turns) - at,
                        invalid=bool(lost),
                        anaphoric=bool(lost & in_places),
                    )
                )
    return corrupted


def f_score(right: int, predicted: int, resolved: int) -> tuple[float, float, float]:
    """Precision, recall and F in per cent; 0 where there is nothing to divide by."""
    precision = right / predicted if predicted else 0.0
    recall = right / resolved if resolved else 0.0
    both = precision + recall
    return 100 * precision, 100 * recall, 200 * precision * recall / both if both else 0.0


def agreement(truths: Sequence[bool], flags: Sequence[bool]) -> tuple[float, float, float]:
    """Precision, recall and F of *flags*, in per cent."""
    both = sum(truth and flag for truth, flag in zip(truths, flags, strict=True))
    return f_score(both, sum(flags), sum(truths))


def reader(name: str) -> Read:
    """
    A resolver of ``RESOLVERS`` as a function; "title" reads every pronoun as the title.

    Raises:
        Exception: whatever the large models raise where they can't be had.
    """
    if name == "copy":
        return lambda document, fold: ()
    if name == "title":
        return lambda document, fold: tuple(
            Reading(mention=mention, antecedent=split_title(document.title)[0], source="title")
            for mention in find_mentions(document.question)
            if mention.kind in PRONOUN_KINDS
        )
    resolver: object = RulesResolver() if name == "rules" else EmbeddedResolver()
    if name == "fastcoref":
        from replay.coreference.fastcoref import FastcorefResolver

        resolver = FastcorefResolver()
        read_all(resolver, [Document(question="Did she sing?", title="Ann Lee")])
    return lambda document, fold: read_all(resolver, [document])[0]


def cross_validated(examples: Sequence[Example], networks: int) -> Read:
    """The learned resolver, each fold read by networks trained on the other folds of *examples*."""
    from replay.coreference.embedded.ranker import read_document
    from replay.coreference.training.fit_networks import FitSettings
    from replay.coreference.training.train import train

    settings = FitSettings(networks=networks)
    trained = [train([e for e in examples if e.fold != fold], settings) for fold in range(FOLDS)]
    return lambda document, fold: tuple(c.reading for c in read_document(document, trained[fold]))


Verdicts = list[tuple[Corruption, Drift]]


def compared(examples: Sequence[Example], read: Read) -> tuple[Verdicts, Verdicts]:
    """The strict verdict on every corruption; the second time with the histories exchanged."""
    gold = [read(example.document, example.fold) for example in examples]
    lost: Verdicts = []
    came: Verdicts = []
    for corruption in corrupt(examples):
        example = examples[corruption.example]
        right = (gold[corruption.example], example.document)
        wrong = (read(corruption.document, example.fold), corruption.document)
        for verdicts, (first, second) in ((lost, (right, wrong)), (came, (wrong, right))):
            drift = drift_strict.compare(
                first[0], second[0], gold_document=first[1], predicted_document=second[1]
            )
            verdicts.append((corruption, drift))
    return lost, came


def report(name: str, examples: Sequence[Example], read: Read, thresholds: bool = False) -> Iterator[str]:
    """The lines to print of one resolver."""
    import sacrebleu
    from rouge_score.rouge_scorer import RougeScorer

    started = time.process_time()
    readings = [read(example.document, example.fold) for example in examples]
    ms = 1000 * (time.process_time() - started) / max(1, len(examples))
    counts = score_mentions(examples, readings)
    total = counts["all"]
    p, r, f = f_score(total["right"], total["predicted"], total["resolved"])
    left = 100 * total["left-too"] / max(1, total["left"])
    kinds = " ".join(
        f"{kind} {f_score(c['right'], c['predicted'], c['resolved'])[2]:.1f}"
        for kind, c in counts.items()
        if c["resolved"] and kind != "all"
    )
    yield f"{name}: {len(examples)} questions, {ms:.2f} ms a question"
    yield f"  mentions  n {total['resolved']} P {p:.1f} R {r:.1f} F {f:.1f} left {left:.1f} | {kinds}"

    asked = [rewrite(e.document.question, found) for e, found in zip(examples, readings, strict=True)]
    human = [example.rewrite for example in examples]
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=False)
    rouge = [scorer.score(a, b) for a, b in zip(human, asked, strict=True)]
    shown = " ".join(
        f"{key} {100 * sum(s[key].fmeasure for s in rouge) / len(rouge):.1f}"
        for key in ("rouge1", "rouge2", "rougeL")
    )
    exact = 100 * sum(words(a) == words(b) for a, b in zip(human, asked, strict=True)) / len(human)
    yield f"  rewriting BLEU {sacrebleu.corpus_bleu(asked, [human]).score:.1f} {shown} exact {exact:.1f}"

    lost, came = compared(examples, read)
    yield from _drift_lines(lost, came)
    if thresholds:
        yield from _threshold_lines(examples, _anaphoric(lost), _anaphoric(came))


def _threshold_lines(examples: Sequence[Example], lost: Verdicts, came: Verdicts) -> Iterator[str]:
    """F by threshold, and with a threshold that is chosen for each fold on the others."""

    def f_at(rows: Verdicts, at: float) -> float:
        return agreement([c.anaphoric for c, _ in rows], [d.probability >= at for _, d in rows])[2]

    for at in THRESHOLDS:
        yield f"  threshold {at:.2f}: drift F {f_at(lost, at):.1f}, came F {f_at(came, at):.1f}"
    chosen = []
    for fold in range(FOLDS):
        others = [row for row in lost if examples[row[0].example].fold != fold]
        best = [f_at(others, at) for at in THRESHOLDS]
        chosen.append(THRESHOLDS[best.index(max(best))])
    flags = [d.probability >= chosen[examples[c.example].fold] for c, d in lost]
    f = agreement([c.anaphoric for c, _ in lost], flags)[2]
    yield f"  threshold chosen on the other folds ({', '.join(f'{at:g}' for at in chosen)}): drift F {f:.1f}"


def _anaphoric(rows: Verdicts) -> Verdicts:
    return [row for row in rows if row[0].anaphoric or not row[0].invalid]


def _drift_lines(lost: Verdicts, came: Verdicts) -> Iterator[str]:
    rows, others = _anaphoric(lost), _anaphoric(came)
    for name, chosen, is_valid in (
        ("strict", rows, _strict),
        ("hard", rows, _hard),
        ("2 back", [row for row in rows if row[0].turns_back == 2], _strict),
        ("came", others, _strict),
        ("came hard", others, _hard),
    ):
        truths = [c.anaphoric for c, _ in chosen]
        p, r, f = agreement(truths, [not is_valid(d) for _, d in chosen])
        yield f"  drift     {name:<10} n {len(chosen)} invalid {sum(truths)} P {p:.1f} R {r:.1f} F {f:.1f}"
    p, r, f = agreement([c.invalid for c, _ in lost], [not d.valid for _, d in lost])
    yield f"  drift     +ellipsis  n {len(lost)} P {p:.1f} R {r:.1f} F {f:.1f}"


def _strict(drift: Drift) -> bool:
    return drift.valid


def _hard(drift: Drift) -> bool:
    """The hard rule's verdict on what the strict one read."""
    return drift_hard.compare([m.gold for m in drift.mentions], [m.predicted for m in drift.mentions]).valid


def shown_as(examples: Sequence[Example], without_title: bool, window: int | None) -> list[Example]:
    """The examples without title and section, or with the last *window* turns only, where asked."""
    shown = []
    for example in examples:
        document = example.document
        if without_title:
            document = replace(document, title="", section="")
        if window is not None:
            document = replace(document, turns=document.turns[len(document.turns) - window :])
        shown.append(replace(example, document=document))
    return shown


TRAINED_ON = (
    "embedded: the shipped weights were trained on half of CANARD's development split, CAsT 2021 and 2022 "
    "and iKAT 2024; on those files only --cv says how well it works"
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="files to measure on")
    parser.add_argument("--resolver", choices=RESOLVERS, nargs="+", default=RESOLVERS)
    parser.add_argument("--folds", help="folds of the articles to use, of 0 to 4; all when left out")
    parser.add_argument("--cv", action="store_true", help="train the embedded resolver anew, fold by fold")
    parser.add_argument("--train", type=Path, nargs="*", default=[], help="more files for --cv to train on")
    parser.add_argument("--networks", type=int, default=10, help="networks that --cv trains for each fold")
    parser.add_argument("--without-title", action="store_true", help="leave out title and section")
    parser.add_argument("--window", type=int, help="show the last turns only, so many; all when left out")
    parser.add_argument("--thresholds", action="store_true", help="drift F by threshold as well")
    options = parser.parse_args()
    examples = read_examples(options.data)
    if options.folds:
        folds = {int(fold) for fold in options.folds.split(",")}
        examples = [example for example in examples if example.fold in folds]
    measured = shown_as(examples, options.without_title, options.window)
    for name in options.resolver:
        label = name
        try:
            if name == "embedded" and options.cv:
                label = "embedded, cross-validated"
                # In an order of their own, so that the networks don't depend on which file is measured.
                files = sorted({*options.data, *options.train})
                read = cross_validated(read_examples(files), options.networks)
            else:
                read = reader(name)
                if name == "embedded":
                    print(TRAINED_ON)
        except Exception as error:  # noqa: BLE001 - whatever keeps a large model from loading is the reason
            print(f"{name}: left out: {error}")
            continue
        for line in report(label, measured, read, options.thresholds):
            print(line, flush=True)


if __name__ == "__main__":
    main()
