"""
How well a resolver reads mentions, rewrites questions and sees drift, on a file in CANARD's format.

    python benchmarks/drift.py --data canard_dev.json [--resolver embedded|rules|title|copy] [--folds 0,1]

- Mentions: each question is aligned with its human rewrite; the words that stand in a mention's
  place are its right reading. An antecedent is right when all its content words occur in the
  rewrite and one of them stands in the mention's place; a whole utterance, when it holds at least
  60 % of the words that people put there. "left" is the share of the mentions that people left alone
  and the resolver too.
- Rewriting: sacreBLEU, ROUGE F and normalised exact match against the human rewrite.
- Drift: one of the last two gold answers is replaced, by another answer of the same dialog, by "I
  don't know." and by an answer of another dialog. The question is invalid when its human rewrite adds
  a content word that stood in the replaced answer and nowhere else in the predicted history. The
  "anaphoric" rows leave out the questions that are invalid through ellipsis alone ("besides X"),
  where no mention could tell.

A fold is a fifth of the articles, so that rules can be made on some and checked on others.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal

from replay.coreference import strict
from replay.coreference.embedded import EmbeddedResolver
from replay.coreference.embedded.candidates import split_title
from replay.coreference.mentions import PRONOUN_KINDS, find_mentions
from replay.coreference.resolver import Document
from replay.coreference.rewriting import rewrite
from replay.coreference.words import content_words, tokens, words
from replay.evidence import Mention, Reading
from replay.history import Exchange

NO_ANSWER = "I don't know."  # how CANARD writes CANNOTANSWER
CLAUSE_RECALL = 0.6
KINDS = ("all", "he", "she", "they", "it", "this", "this-noun", "the-noun")
Read = Callable[[Document], tuple[Reading, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A question in its gold history, with the human rewrite."""

    dialog: str
    document: Document
    rewrite: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RightReading:
    """What people put in a mention's place."""

    status: Literal["resolved", "left", "undecided"]
    """``left``: nothing in the question was changed. ``undecided``: the alignment doesn't tell."""
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Corruption:
    """An example under a history in which one answer is wrong."""

    example: int
    document: Document
    invalid: bool
    anaphoric: bool


def load(path: Path, folds: frozenset[int] | None = None) -> list[Example]:
    """The rows of a CANARD file, of the given folds or of all."""
    examples = []
    for row in json.loads(path.read_text("utf-8")):
        title, section, *said = [*row["History"], ""] if len(row["History"]) < 2 else row["History"]
        if folds is not None and hashlib.md5(title.strip().lower().encode()).digest()[0] % 5 not in folds:
            continue
        turns = tuple(
            Exchange(question=question, answer=answer)
            for question, answer in zip(said[::2], said[1::2], strict=False)
        )
        document = Document(question=row["Question"], turns=turns, title=title, section=section)
        examples.append(Example(dialog=row["QuAC_dialog_id"], document=document, rewrite=row["Rewrite"]))
    return examples


def right_readings(question: str, rewritten: str, mentions: Sequence[Mention]) -> list[RightReading]:
    """The right reading of each mention, from what replaces it in the human rewrite."""
    old, new = tokens(question), tokens(rewritten)
    matcher = SequenceMatcher(None, [t.normal for t in old], [t.normal for t in new], autojunk=False)
    edits = [edit for edit in matcher.get_opcodes() if edit[0] != "equal"]
    in_question = set(content_words(question))
    readings = []
    for mention in mentions:
        place = [i for i, t in enumerate(old) if mention.start <= t.start and t.end <= mention.end]
        first, end = place[0], place[-1] + 1
        put: list[str] = []
        touched = False
        for _, a, b, c, d in edits:
            replaced = a < end and b > first
            # "the album" -> "the album X" adds words behind or inside a mention that has a noun
            added = a == b and (a == end or first < a <= end) and mention.kind not in PRONOUN_KINDS
            if replaced or added:
                touched = True
                put += [word for t in new[c:d] for word in content_words(t.text)]
        if not touched:
            readings.append(RightReading(status="left"))
            continue
        if mention.kind != "this-noun":
            put = [word for word in put if word not in in_question]
        readings.append(RightReading(status="resolved" if put else "undecided", words=tuple(put)))
    if any(reading.status == "resolved" for reading in readings):
        # People name each thing once, so a pronoun left as it was tells nothing then.
        return [RightReading(status="undecided") if r.status == "left" else r for r in readings]
    return readings


def is_right(reading: Reading, right: RightReading, rewritten: str) -> bool:
    """Whether the resolver's antecedent is what people put in the mention's place."""
    said = set(content_words(reading.antecedent or ""))
    if reading.source == "clause":
        return len(said & set(right.words)) >= CLAUSE_RECALL * len(set(right.words))
    return bool(said & set(right.words)) and said <= set(words(rewritten))


def score_mentions(examples: Sequence[Example], read: Sequence[Sequence[Reading]]) -> dict[str, Counter[str]]:
    """Counts by kind: mentions, resolved, predicted, right, left, left-too."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
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
            foreign = rng.choice(pool) if strangers else ("", NO_ANSWER)
            while foreign[0] == example.dialog:
                foreign = rng.choice(pool)
            for wrong in (rng.choice(same) if same else gold, NO_ANSWER, foreign[1]):
                if set(content_words(wrong)) == set(content_words(gold)) or gold == NO_ANSWER:
                    continue
                exchange = replace(turns[at], answer=wrong)
                document = replace(example.document, turns=(*turns[:at], exchange, *turns[at + 1 :]))
                added = set(content_words(example.rewrite)) - set(words(question))
                lost = added & set(content_words(gold)) - set(words(document.context()))
                corrupted.append(
                    Corruption(
                        example=index,
                        document=document,
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


def title_reader(document: Document) -> tuple[Reading, ...]:
    """The baseline that reads every pronoun as the title."""
    title = split_title(document.title)[0]
    return tuple(
        Reading(mention=mention, antecedent=title, source="title")
        for mention in find_mentions(document.question)
        if mention.kind in PRONOUN_KINDS
    )


def reader(name: str) -> Read:
    """``rules`` and ``embedded`` are the same as long as the embedded resolver has nothing but rules."""
    if name == "copy":
        return lambda document: ()
    if name == "title":
        return title_reader
    resolver = EmbeddedResolver()
    return lambda document: resolver.read([document])[0]


def report(name: str, examples: Sequence[Example], read: Read) -> Iterable[str]:
    """The lines to print."""
    import sacrebleu
    from rouge_score.rouge_scorer import RougeScorer

    started = time.perf_counter()
    readings = [read(example.document) for example in examples]
    ms = 1000 * (time.perf_counter() - started) / max(1, len(examples))
    yield f"{name}: {len(examples)} questions, {ms:.2f} ms a question"
    yield f"{'mentions':<12}{'n':>6}{'P':>7}{'R':>7}{'F':>7}{'left':>7}"
    for kind, count in score_mentions(examples, readings).items():
        p, r, f = f_score(count["right"], count["predicted"], count["resolved"])
        left = 100 * count["left-too"] / count["left"] if count["left"] else 0.0
        yield f"{kind:<12}{count['resolved']:>6}{p:>7.1f}{r:>7.1f}{f:>7.1f}{left:>7.1f}"

    asked = [rewrite(e.document.question, found) for e, found in zip(examples, readings, strict=True)]
    human = [example.rewrite for example in examples]
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=False)
    rouge = [scorer.score(a, b) for a, b in zip(human, asked, strict=True)]
    means = {k: 100 * sum(s[k].fmeasure for s in rouge) / len(rouge) for k in ("rouge1", "rouge2", "rougeL")}
    exact = 100 * sum(words(a) == words(b) for a, b in zip(human, asked, strict=True)) / len(human)
    bleu = sacrebleu.corpus_bleu(asked, [human]).score
    shown = " ".join(f"{key} {value:.1f}" for key, value in means.items())
    yield f"rewriting   BLEU {bleu:.1f} {shown} exact {exact:.1f}"

    corrupted = corrupt(examples)
    flagged = [not strict.compare(readings[c.example], read(c.document)).valid for c in corrupted]
    for rows, kept in (
        ("all", corrupted),
        ("anaphoric", [c for c in corrupted if c.anaphoric or not c.invalid]),
    ):
        chosen = {id(c) for c in kept}
        pairs = [(c.invalid, flag) for c, flag in zip(corrupted, flagged, strict=True) if id(c) in chosen]
        right, predicted, invalid = (
            sum(a and b for a, b in pairs),
            sum(flag for _, flag in pairs),
            sum(truth for truth, _ in pairs),
        )
        p, r, f = f_score(right, predicted, invalid)
        yield f"drift {rows:<10} n {len(pairs)} invalid {invalid} P {p:.1f} R {r:.1f} F {f:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a file in CANARD's format")
    parser.add_argument("--resolver", choices=["embedded", "rules", "title", "copy"], default="embedded")
    parser.add_argument("--folds", help="folds of the articles to use, of 0 to 4; all when left out")
    options = parser.parse_args()
    folds = frozenset(int(fold) for fold in options.folds.split(",")) if options.folds else None
    for line in report(options.resolver, load(options.data, folds), reader(options.resolver)):
        print(line)


if __name__ == "__main__":
    main()
