"""
What `fuzzy` takes for a match: right answers said otherwise, and wrong ones that look alike.

    python benchmarks/fuzzy_matching.py                       # the shipped conversations
    python benchmarks/fuzzy_matching.py FILE... [--dataworkz CSV] [--show KIND]

FILEs are conversations in any format that a scenario can read, CANARD's for one. Every gold answer is
changed in ways that keep what it says, and in ways that don't; it also stands beside the gold answers of
other turns, among them the one that is most like it. Questions and their standalone forms, which people wrote
to mean the same, show whether the comparison of facts parts what belongs together. With a table of the
Dataworkz framework its candidate answers count as right where all golden claims are common, and as wrong
where none is.

Prints by kind how many pairs match by letters alone and with facts compared, at the default threshold. Then,
for each threshold, the mean over the kinds of right answers less the mean over those of wrong ones: the
default is where that is greatest, "another word" aside, which no threshold tells apart. `--show` prints the
pairs of a kind that come out wrong.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean

from rapidfuzz import fuzz, process

from replay import Conversation
from replay.core.conversation import CANNOT_ANSWER
from replay.datasets.loading import read_conversations
from replay.scorers.answer_text import normalize
from replay.scorers.fuzzy import THRESHOLD, FuzzyMatch, fuzzy_match

SHIPPED = Path(__file__).resolve().parents[1] / "scenarios" / "conversations"
THRESHOLDS = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
QUESTIONS, ANY_WORD = "questions rewritten by people", "another word"
"""Kinds that the choice of a threshold leaves out."""
SHORT = 3
"""Words of a short answer."""
AT_MOST = 1000
"""Pairs of one kind."""

CONTRACTED = ("did", "was", "is", "were", "do", "does", "has", "had", "could", "would", "are")
UNITS = (("million", "billion"), ("%", " percentage points"), ("$", "€"), ("km", "miles"), ("kg", "tons"))
UNITS += (("years", "months"), ("hours", "days"), ("minutes", "hours"), ("percent", "per mille"))
DIRECTIONS = (("rose", "fell"), ("increased", "decreased"), ("more", "less"), ("higher", "lower"))
DIRECTIONS += (("won", "lost"), ("before", "after"), ("up", "down"), ("best", "worst"), ("grew", "shrank"))
DIRECTIONS += (("most", "least"), ("larger", "smaller"), ("first", "second"), ("over", "under"))
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
WORDS = dict(enumerate(NUMBERS, 2))
MONTHS = ("January", "March", "June", "September", "November", "December")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An answer beside a gold one, and whether it says the same."""

    kind: str
    right: bool
    gold: str
    answer: str


def pairs(conversations: Sequence[Conversation], rng: Random) -> Iterator[Pair]:
    """Every kind of pair that *conversations* give."""
    for conversation in conversations:
        golds = [turn.gold_answer for turn in conversation.turns]
        for place, gold in enumerate(golds):
            turn = conversation.turns[place]
            if turn.standalone and turn.standalone != turn.question:
                yield Pair(kind=QUESTIONS, right=True, gold=turn.question, answer=turn.standalone)
            if not gold or gold == CANNOT_ANSWER:
                continue
            for kind, answer in right_answers(gold, golds[place - 1] if place else None, rng):
                if answer != gold:
                    yield Pair(kind=kind, right=True, gold=gold, answer=answer)
            for kind, answer in wrong_answers(gold, rng):
                if answer != gold:
                    yield Pair(kind=kind, right=False, gold=gold, answer=answer)
            others = [one for one in golds if one and one not in (gold, CANNOT_ANSWER)]
            if others:
                yield Pair(kind="another turn's", right=False, gold=gold, answer=rng.choice(others))
            words = [word for other in others for word in re.findall(r"\b[a-z]{5,}\b", other)]
            own = list(re.finditer(r"\b[a-z]{5,}\b", gold))
            if own and (new := [word for word in words if word not in gold]):
                answer = _put(gold, rng.choice(own), lambda word: rng.choice(new))
                yield Pair(kind=ANY_WORD, right=False, gold=gold, answer=answer)
            names = [name for other in others for name in re.findall(r"(?<=[a-z] )[A-Z][a-z]{2,}", other)]
            own = list(re.finditer(r"(?<=[a-z] )[A-Z][a-z]{2,}", gold))
            if own and (new := [name for name in names if name not in gold]):
                answer = _put(gold, rng.choice(own), lambda name: rng.choice(new))
                yield Pair(kind="another name", right=False, gold=gold, answer=answer)


def right_answers(gold: str, before: str | None, rng: Random) -> Iterator[tuple[str, str]]:
    """*gold* said otherwise, by kind; equal to it where that can't be done."""
    bare = gold.rstrip(" .")
    yield "in a sentence", f"As far as I know, {bare}, if that is what you mean."
    if before and before != CANNOT_ANSWER:
        yield "after another answer", f"{before.rstrip(' .')}. {gold}"
    written = re.sub(r"(?<![\d.,])(?!1\d{3}\b|20\d{2}\b)(\d{1,3})(\d{3})\b(?![.,]\d)", r"\1,\2", gold)
    written = (
        written.replace(" percent", " %")
        if " percent" in gold
        else re.sub(r"(\d) ?%", r"\1 percent", written)
    )
    yield "figures written otherwise", re.sub(r"(?<![\w.,])(\d|1[0-2])(?![\w.,%])", _in_words, written)
    yield (
        "contracted or spelled out",
        re.sub(
            rf"\b({'|'.join(CONTRACTED)})(n't| not)\b(?! only)",
            lambda m: m[1] + (" not" if m[2] == "n't" else "n't"),
            gold,
        ),
    )
    words = gold.split()
    if len(words) > 4:
        place = rng.randrange(len(words))
        if len(words[place]) > 4 and words[place].isalpha():
            words[place] = words[place][:2] + words[place][3:]
        yield "a letter missing", " ".join(words)
    yield "punctuation and case", re.sub(r"[,;:\"']", "", gold.lower())


def wrong_answers(gold: str, rng: Random) -> Iterator[tuple[str, str]]:
    """*gold* with one fact changed, by kind; equal to it where it has none such."""
    if years := list(re.finditer(r"\b(?:1[0-9]|20)\d\d\b", gold)):
        yield (
            "another year",
            _put(gold, rng.choice(years), lambda year: str(int(year) + rng.choice((-10, -1, 1, 2)))),
        )
    if numbers := list(re.finditer(r"(?<![\d.,])\d{1,3}(?![\d.,])", gold)):
        yield (
            "another number",
            _put(gold, rng.choice(numbers), lambda number: str(int(number) + rng.choice((1, 2, 10)))),
        )
    if words := list(re.finditer(rf"\b(?:{'|'.join(WORDS.values())})\b", gold)):
        yield (
            "another number",
            _put(gold, rng.choice(words), lambda word: rng.choice([w for w in WORDS.values() if w != word])),
        )
    if months := list(re.finditer(rf"\b(?:{'|'.join(MONTHS)})\b", gold)):
        yield (
            "another month",
            _put(gold, rng.choice(months), lambda month: rng.choice([m for m in MONTHS if m != month])),
        )
    for kind, table in (("another unit", UNITS), ("the other way", DIRECTIONS)):
        for one, other in (pair for both in table for pair in (both, both[::-1])):
            bounds = (r"(?<=\d )" if table is UNITS else r"\b", r"\b") if one.isalpha() else ("", "")
            if found := re.search(bounds[0] + re.escape(one) + bounds[1], gold):
                yield kind, gold[: found.start()] + other + gold[found.end() :]
                break
    yield (
        "denied",
        re.sub(r"\b(did|was|is|were|has|had|could|would|are)\b(?! not|n't)", r"\1 not", gold, count=1),
    )
    yield "no longer denied", re.sub(r"(?:n't| not| never)\b", "", gold, count=1)


def most_alike(conversations: Sequence[Conversation], rng: Random) -> Iterator[Pair]:
    """Gold answers beside the one of another conversation that is most like it and says another thing."""
    golds = [
        (number, turn.gold_answer, normalize(turn.gold_answer))
        for number, conversation in enumerate(conversations)
        for turn in conversation.turns
        if turn.gold_answer and turn.gold_answer != CANNOT_ANSWER and normalize(turn.gold_answer)
    ]
    for kind, is_short in (("the most alike of all others", False), ("the most alike short one", True)):
        alike = [one for one in golds if (len(one[2].split()) <= SHORT) is is_short]
        for number, gold, bare in rng.sample(alike, min(len(alike), AT_MOST)):
            others = {
                other: text
                for theirs, text, other in alike
                if theirs != number and other not in bare and bare not in other
            }
            if found := process.extractOne(bare, others.keys(), scorer=fuzz.ratio):
                yield Pair(kind=kind, right=False, gold=gold, answer=others[found[0]])


def _in_words(found: re.Match[str]) -> str:
    return WORDS.get(int(found[1]), found[1])


def _put(text: str, found: re.Match[str], change: Callable[[str], str]) -> str:
    return text[: found.start()] + change(found[0]) + text[found.end() :]


def dataworkz_pairs(path: Path) -> Iterator[Pair]:
    """Candidate answers that have all golden claims, or none."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            recall = float(row["LLM Recall"])
            if recall in (0.0, 1.0):
                kind = f"candidates with {'all' if recall else 'no'} golden claims"
                yield Pair(
                    kind=kind,
                    right=recall == 1.0,
                    gold=row["Golden Response"],
                    answer=row["Candidate Response"],
                )


def report(found: dict[Pair, FuzzyMatch]) -> None:
    """Print the tables."""
    kinds = sorted({(not pair.right, pair.kind) for pair in found})
    print(f"| kind | pairs | letters ≥ {THRESHOLD:g} | with facts | told apart by |\n|---|--:|--:|--:|---|")
    for wrong, kind in kinds:
        matches = [match for pair, match in found.items() if (pair.right, pair.kind) == (not wrong, kind)]
        alike = [match for match in matches if match.ratio >= THRESHOLD]
        reasons = ", ".join(
            f"{reason} {n}"
            for reason in ("figures", "names", "negation", "direction")
            if (n := sum(match.differs == reason for match in alike))
        )
        shares = [len(alike), sum(match.reaches(THRESHOLD) for match in matches)]
        print(
            f"| {'wrong' if wrong else 'right'}: {kind} | {len(matches):,} "
            f"| {' | '.join(f'{n / len(matches):.1%}' for n in shares)} | {reasons} |"
        )
    print("\n| threshold | right | wrong | difference | by letters alone |\n|--:|--:|--:|--:|--:|")
    for at in THRESHOLDS:
        right, wrong = mean_shares({pair: match.reaches(at) for pair, match in found.items()})
        alone = mean_shares({pair: match.ratio >= at for pair, match in found.items()})
        print(f"| {at:g} | {right:.1%} | {wrong:.1%} | {right - wrong:.1%} | {alone[0] - alone[1]:.1%} |")


def mean_shares(matched: Mapping[Pair, bool]) -> tuple[float, float]:
    """The share of right pairs that match and that of wrong ones, each the mean over its kinds."""
    by_kind: dict[tuple[bool, str], list[bool]] = {}
    for pair, matches in matched.items():
        if pair.kind not in (QUESTIONS, ANY_WORD):
            by_kind.setdefault((pair.right, pair.kind), []).append(matches)
    right, wrong = (
        fmean(fmean(found) for (is_right, _), found in by_kind.items() if is_right is wanted)
        for wanted in (True, False)
    )
    return right, wrong


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--dataworkz", type=Path)
    parser.add_argument("--show")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = Random(options.seed)
    files = options.files or sorted(SHIPPED.glob("*.jsonl"))
    read = list(read_conversations(files, reader=None, on_bad=None, limit=None))
    made = [
        *pairs(read, rng),
        *most_alike(read, rng),
        *(dataworkz_pairs(options.dataworkz) if options.dataworkz else ()),
    ]
    rng.shuffle(made)
    kept: dict[str, list[Pair]] = {}
    for pair in made:
        if len(kept.setdefault(f"{pair.right} {pair.kind}", [])) < AT_MOST:
            kept[f"{pair.right} {pair.kind}"].append(pair)
    found = {pair: fuzzy_match(pair.answer, pair.gold) for some in kept.values() for pair in some}
    report(found)
    for pair, match in found.items():
        if options.show == pair.kind and match.reaches(THRESHOLD) != pair.right:
            print(f"\n{match}\n  gold:   {pair.gold}\n  answer: {pair.answer}")


if __name__ == "__main__":
    main()
