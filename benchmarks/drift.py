"""
How well resolvers read mentions, rewrite questions and see drift, on data with human rewrites.

    python benchmarks/drift.py --data canard_dev.json
    python benchmarks/drift.py --data qrecc.json gecor.json --resolver copy embedded --held-out
    python benchmarks/drift.py --data canard_dev.json --without-title --window 2

Takes CANARD's form, CAsT 2021 and 2022 and iKAT; each file is reported by itself. The shipped weights have
seen most of the files they were trained on (``replay/coreference/reading/weights/WEIGHTS.LICENSE.txt``):
``--held-out`` takes the articles, dialogs and topics that nothing was fitted to.

- Mentions: each question is aligned with its human rewrite; the words that stand in a mention's
  place are its right reading. An antecedent is right when all its content words occur in the
  rewrite and one of them stands in the mention's place; a whole utterance, when it holds at least
  60 % of the words that people put there. P, R and F over pronouns, demonstratives and general nouns ("the
  band"), F for each kind beside it, "def" being other definite noun phrases. "left" is the share of the
  mentions that people left alone and the resolver too.
- Rewriting: sacreBLEU, ROUGE-1 and normalised exact match against the human rewrite. Of edits, the share
  for the better (word F1 with the human rewrite rises), the share repaired of the questions that people
  changed, and the share left alone of those that people left alone.
- Drift: one of the last two gold answers is replaced, by another answer of the same dialog, by "I
  don't know." and by an answer of another dialog. The question is invalid when its human rewrite adds
  a content word that stood in the replaced answer and nowhere else in the predicted history. "mentions"
  leaves out the questions that are invalid through ellipsis alone ("besides X"). "hard" is the hard
  rule's verdict on the same readings. "calibration" is the expected calibration error of the
  probabilities in ten bins, with the mean probability and the share invalid of each. "ranking" is the area
  under the ROC curve, beside that of "the fewer words, the sooner".
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from dialogues import ranking

from replay.core.drift_evidence import MENTION_KINDS, Drift, Mention, Reading
from replay.coreference.reading import rewriting
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.coreference.reading.mentions import GENERAL_NOUNS, PRONOUN_KINDS, ellipsis_of, find_mentions
from replay.coreference.reading.readings import read_all
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.verdict import compare_hard, compare_strict
from replay.coreference.reading.words import content_words, word_f1, words
from replay.coreference.training.annotated import (
    Example,
    RightReading,
    is_for_decisions,
    is_held_out,
    read_examples,
    right_readings,
)
from replay.coreference.training.synthetic import CorruptedExample, corrupt

CLAUSE_RECALL = 0.6
RESOLVERS = ("copy", "title", "embedded", "fastcoref")
THRESHOLDS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6)
Read = Callable[[Document], tuple[Reading, ...]]
_KINDS = tuple(kind for kind in MENTION_KINDS if kind != "other")
_CLASSIC = ("he", "she", "they", "it", "this", "this-noun", "the-noun")


def is_classic(mention: Mention) -> bool:
    """Whether it is a pronoun, a demonstrative or a general noun with "the"."""
    plain = mention.kind != "the-noun" or mention.text.split()[-1].lower() in GENERAL_NOUNS
    return mention.kind in _CLASSIC and plain


def is_right(reading: Reading, right: RightReading, rewritten: str) -> bool:
    """Whether the resolver's antecedent is what people put in the mention's place."""
    said = set(content_words(reading.antecedent or ""))
    if reading.source == "clause":
        return len(said & set(right.words)) >= CLAUSE_RECALL * len(set(right.words))
    return bool(said & set(right.words)) and said <= set(words(rewritten))


def score_mentions(examples: Sequence[Example], read: Sequence[Sequence[Reading]]) -> dict[str, Counter[str]]:
    """Counts by kind: mentions, resolved, predicted, right, left, left-too; "all" is what is classic."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in ("all", *_KINDS, "def")}
    for example, readings in zip(examples, read, strict=True):
        question = example.document.question
        mentions = (*find_mentions(question), ellipsis_of(question))
        by_place = {(r.mention.start, r.mention.end): r for r in readings}
        for mention, right in zip(mentions, right_readings(question, example.rewrite, mentions), strict=True):
            if right.status == "undecided":
                continue
            reading = by_place.get((mention.start, mention.end))
            says = reading is not None and bool(
                set(content_words(reading.antecedent or "")) - set(words(question))
            )
            classic = is_classic(mention)
            kind = "def" if mention.kind == "the-noun" and not classic else mention.kind
            for count in [counts["all"], counts[kind]] if classic else [counts[kind]]:
                count["resolved"] += right.status == "resolved"
                count["predicted"] += says
                count["left"] += right.status == "left"
                count["left-too"] += right.status == "left" and not says
                if reading is not None and says and right.status == "resolved":
                    count["right"] += is_right(reading, right, example.rewrite)
    return counts


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
        return lambda document: ()
    if name == "title":
        return lambda document: tuple(
            Reading(mention=mention, antecedent=document.title, source="title")
            for mention in find_mentions(document.question)
            if mention.kind in PRONOUN_KINDS
        )
    resolver: object = EmbeddedResolver()
    if name == "fastcoref":
        from replay.coreference.service.fastcoref import FastcorefResolver

        resolver = FastcorefResolver()
        read_all(resolver, [Document(question="Did she sing?", title="Ann Lee")])
    return lambda document: read_all(resolver, [document])[0]


Verdicts = list[tuple[CorruptedExample, Drift]]


def report(
    name: str, examples: Sequence[Example], read: Read, min_probability: float = rewriting.MIN_PROBABILITY
) -> Iterator[str]:
    """Yield the lines to print of one resolver; edits less probable than *min_probability* are not made."""
    started = time.process_time()
    readings = [read(example.document) for example in examples]
    seconds = time.process_time() - started
    asked = [
        rewriting.rewrite(e.document.question, r, min_probability=min_probability)
        for e, r in zip(examples, readings, strict=True)
    ]
    read = cache(read)
    learned, overlap = (compared(examples, readings, read, rule) for rule in (compare_strict, _hard))
    yield f"{name}: {len(examples)} questions, {1000 * seconds / max(1, len(examples)):.2f} ms a question"
    yield _mention_line(score_mentions(examples, readings))
    yield from rewriting_lines(examples, asked)
    yield from _drift_lines(learned, overlap)


def compared(
    examples: Sequence[Example], gold: Sequence[tuple[Reading, ...]], read: Read, rule: Callable[..., Drift]
) -> Verdicts:
    """The verdict of *rule* on every corruption; each source draws its answers from itself."""
    by_document = dict(zip((example.document for example in examples), gold, strict=True))
    return [
        (
            one,
            rule(
                by_document[one.example.document],
                read(one.document),
                gold_document=one.example.document,
                predicted_document=one.document,
            ),
        )
        for one in corrupt(examples)
    ]


def _mention_line(counts: dict[str, Counter[str]]) -> str:
    total = counts["all"]
    p, r, f = f_score(total["right"], total["predicted"], total["resolved"])
    kinds = " ".join(
        f"{kind} {f_score(c['right'], c['predicted'], c['resolved'])[2]:.1f}"
        for kind, c in counts.items()
        if c["resolved"] and kind != "all"
    )
    left = 100 * total["left-too"] / max(1, total["left"])
    return f"  mentions  n {total['resolved']} P {p:.1f} R {r:.1f} F {f:.1f} left {left:.1f} | {kinds}"


def rewriting_lines(examples: Sequence[Example], asked: Sequence[str]) -> Iterator[str]:
    """Yield how near the *asked* questions are to the human rewrites, and what edits did."""
    import sacrebleu
    from rouge_score.rouge_scorer import RougeScorer

    human = [example.rewrite for example in examples]
    scorer = RougeScorer(["rouge1"], use_stemmer=False)
    rouge = [scorer.score(a, b)["rouge1"].fmeasure for a, b in zip(human, asked, strict=True)]
    exact = 100 * sum(words(a) == words(b) for a, b in zip(human, asked, strict=True)) / len(human)
    bleu = sacrebleu.corpus_bleu(list(asked), [human]).score
    yield f"  rewriting BLEU {bleu:.1f} rouge1 {100 * sum(rouge) / len(rouge):.1f} exact {exact:.1f}"
    edited = better = worse = needed = unneeded = left = 0
    for example, put in zip(examples, asked, strict=True):
        question = example.document.question
        needs = set(words(example.rewrite)) != set(words(question))
        needed += needs
        unneeded += not needs
        left += not needs and put == question
        if put != question:
            before, after = (word_f1(words(q), words(example.rewrite)) for q in (question, put))
            edited += 1
            better += after > before + 1e-9
            worse += after < before - 1e-9
    yield (
        f"  edits     {edited}, for the better {100 * better / max(1, edited):.1f} %, worse {worse}; "
        f"repaired {100 * better / max(1, needed):.1f} % of {needed}; "
        f"left alone {100 * left / max(1, unneeded):.1f} % of {unneeded}"
    )


def _drift_lines(verdicts: Verdicts, hard: Verdicts) -> Iterator[str]:
    anaphoric = [_through_a_mention(one) for one, _ in verdicts]
    rows = [row for row, through in zip(verdicts, anaphoric, strict=True) if through or not row[0].lost]
    for name, chosen in (
        ("all", verdicts),
        ("mentions", rows),
        ("2 back", [row for row in verdicts if row[0].turns_back == 2]),
        ("hard", hard),
    ):
        truths = [bool(one.lost) for one, _ in chosen]
        p, r, f = agreement(truths, [drift.invalid for _, drift in chosen])
        yield f"  drift     {name:<9} n {len(chosen)} invalid {sum(truths)} P {p:.1f} R {r:.1f} F {f:.1f}"
    for at in THRESHOLDS:
        truths = [bool(one.lost) for one, _ in verdicts]
        p, r, f = agreement(truths, [drift.probability >= at for _, drift in verdicts])
        yield f"  threshold {at:.2f}: P {p:.1f} R {r:.1f} F {f:.1f}"
    lengths = [(-float(len(words(one.example.document.question))), bool(one.lost)) for one, _ in verdicts]
    ranked = [(drift.probability, bool(one.lost)) for one, drift in verdicts]
    yield f"  ranking   AUC {ranking(ranked):.3f}, of the fewer words {ranking(lengths):.3f}"
    error, bins = calibration([(drift.probability, bool(one.lost)) for one, drift in verdicts])
    yield f"  calibration error {error:.3f} | " + " ".join(
        f"{p:.2f}:{share:.2f}({n})" for p, share, n in bins
    )


def calibration(
    found: Sequence[tuple[float, bool]], count: int = 10
) -> tuple[float, list[tuple[float, float, int]]]:
    """The expected calibration error; of each bin the mean probability, the share of yes, and the count."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(count)]
    for probability, yes in found:
        bins[min(count - 1, int(probability * count))].append((probability, yes))
    filled = [
        (sum(p for p, _ in one) / len(one), sum(yes for _, yes in one) / len(one), len(one))
        for one in bins
        if one
    ]
    error = sum(n * abs(p - share) for p, share, n in filled) / max(1, len(found))
    return error, filled


def _through_a_mention(one: CorruptedExample) -> bool:
    question = one.example.document.question
    mentions = find_mentions(question)
    rights = right_readings(question, one.example.rewrite, mentions)
    return any(one.lost.intersection(right.words) for right in rights)


def _hard(gold: Sequence[Reading], predicted: Sequence[Reading], **_: object) -> Drift:
    return compare_hard(gold, predicted)


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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="files to measure on")
    parser.add_argument("--resolver", choices=RESOLVERS, nargs="+", default=RESOLVERS)
    parser.add_argument("--held-out", action="store_true", help="only what nothing was fitted to")
    parser.add_argument("--without-title", action="store_true", help="leave out title and section")
    parser.add_argument("--window", type=int, help="show the last turns only, so many; all when left out")
    parser.add_argument("--min-probability", type=float, default=rewriting.MIN_PROBABILITY, help="of an edit")
    parser.add_argument("--most", type=int, help="questions of a file at most, the first ones")
    options = parser.parse_args()
    for path in options.data:
        examples = read_examples([path])
        if options.held_out:
            examples = [e for e in examples if is_held_out(e) and not is_for_decisions(e)]
        examples = shown_as(examples[: options.most], options.without_title, options.window)
        print(f"{path.stem}:")
        for name in options.resolver:
            try:
                read = reader(name)
            except Exception as error:  # noqa: BLE001 - whatever keeps a model from loading is the reason
                print(f"{name}: left out: {error}")
                continue
            for line in report(name, examples, read, options.min_probability):
                print(line, flush=True)


if __name__ == "__main__":
    main()
