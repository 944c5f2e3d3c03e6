"""
How well `recorded` tells answers that say the same from others, on pairs labelled by hand.

    python benchmarks/same_answers.py [--show]

The pairs are recorded and own answers of history-drift. The labels, `same_answers.txt`, are one hand's, a
language model's, which read each pair before any program compared it, and wrote the rules afterwards. They
were tried, and the bound chosen, on the part "choosing", of train.json; the part "measuring" is of dev.json
and test.json, whose kinds of dialogue train.json hasn't got.

Prints for each part how many answers that are called the same are (precision), and how many that are the same
are found (recall), with Wilson's intervals of 95 %; then the same for equal normalized texts, and for three
measures from the bound on that gives the best F1 of both on the first part. Then, over whole files: of the
answers after which a question that leans on them means something else, how many are called the same. Some of
them are, all the same: "the second one" after a list in another order. `--show` prints what comes out wrong.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from replay.results.same_answer import compare_answers, word_likeness
from replay.scenario.sections import SAME_FROM
from replay.scorers.answer_text import normalize
from replay.scorers.fuzzy import fuzzy_match
from replay.scorers.word_overlap import token_f1
from replay.statistics.interval import wilson_ends

HERE = Path(__file__).resolve().parent
FILES = ("train", "dev", "test")


class LabelledPair(NamedTuple):
    """A question with both answers, and whether they say the same."""

    question: str
    recorded: str
    now: str
    same: bool


Comparer = Callable[[LabelledPair], bool]


def dialogues(file: str) -> list[dict[str, Any]]:
    """Return the dialogues of one file of history-drift."""
    found: list[dict[str, Any]] = json.loads((HERE / "history-drift" / f"{file}.json").read_text("utf-8"))
    return found


def labelled_pairs(part: str) -> list[LabelledPair]:
    """Return the pairs of *part* that have a plain label."""
    turns = {one["id"]: one["turns"] for file in FILES for one in dialogues(file)}
    lines = (HERE / "same_answers.txt").read_text("utf-8").splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return [
        LabelledPair(turn["question"], turn["gold_answer"], turn["own_answer"], label == "s")
        for name, id, depth, label in rows
        if name == part and label != "?"
        for turn in [turns[id][int(depth) - 1]]
    ]


def changing_answers(file: str) -> Iterator[LabelledPair]:
    """Yield the answers of *file* after which a question leans on what only the recorded one says."""
    for one in dialogues(file):
        for turn, following in zip(one["turns"], one["turns"][1:], strict=False):
            spans, (gold, own) = following["leans_on"], (turn["gold_answer"], turn["own_answer"])
            leans = any(span in gold for span in spans) and not any(span in own for span in spans)
            if following["means_the_same"] is False and leans and gold != own:
                yield LabelledPair(turn["question"], gold, own, False)


def ours(pair: LabelledPair) -> bool:
    """Return whether the program calls both answers the same."""
    return compare_answers(*pair[:3]).same


def others() -> dict[str, Callable[[LabelledPair], float]]:
    """Return measures that one might take instead, in [0, 1]."""
    return {
        "token F1": lambda pair: token_f1(pair.now, [pair.recorded]),
        "words beside the question's, alone": lambda pair: word_likeness(*pair[:3]),
        "fuzzy match": lambda pair: (
            fuzzy_match(pair.now, pair.recorded).ratio
            * (fuzzy_match(pair.now, pair.recorded).differs is None)
        ),
    }


def bound_of(measure: Callable[[LabelledPair], float], pairs: list[LabelledPair]) -> float:
    """Return the bound with the best F1 of "the same" on *pairs*."""

    def quality(bound: float) -> float:
        hits = sum(pair.same and measure(pair) >= bound for pair in pairs)
        said = sum(measure(pair) >= bound for pair in pairs)
        return 2 * hits / (said + sum(pair.same for pair in pairs))

    return max((step / 20 for step in range(1, 21)), key=quality)


def line(name: str, same: Comparer, pairs: list[LabelledPair]) -> str:
    """Return a row with precision and recall."""
    said = [pair.same for pair in pairs if same(pair)]
    return f"{name:52} {share(sum(said), len(said))}   {share(sum(said), sum(p.same for p in pairs))}"


def share(part: int, whole: int) -> str:
    """Return ``35 of 39, 89.7 % [76, 96]``."""
    if not whole:
        return f"{'-':29}"
    low, high = wilson_ends(part / whole, whole, 1.96)
    text = f"{part} of {whole}, {100 * part / whole:.1f} % [{100 * low:.0f}, {100 * high:.0f}]"
    return f"{text:29}"


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print the pairs that come out wrong")
    show = parser.parse_args().show
    choosing = labelled_pairs("choosing")
    bounds = {name: bound_of(measure, choosing) for name, measure in others().items()}
    for part in ("choosing", "measuring"):
        pairs = labelled_pairs(part)
        print(f"{part}: {len(pairs)} pairs, {sum(pair.same for pair in pairs)} the same")
        print(f"{'':52} {'precision':29}   recall")
        print(line(f"recorded (from {SAME_FROM:g})", ours, pairs))
        print(line("normalized texts equal", lambda p: normalize(p.now) == normalize(p.recorded), pairs))
        for name, measure in others().items():
            bound = bounds[name]
            print(line(f"{name} (from {bound:g})", lambda p, m=measure, b=bound: m(p) >= b, pairs))  # type: ignore[misc]
        for pair in pairs:
            if show and ours(pair) != pair.same:
                found = compare_answers(*pair[:3])
                print(f"  {'same' if pair.same else 'not the same'}: {found.reason}\n    {pair[:3]}")
        print()
    print("the next question means something else, and both answers are called the same")
    for file in FILES:
        changing = list(changing_answers(file))
        print(f"{file:52} {share(sum(map(ours, changing)), len(changing))}")


if __name__ == "__main__":
    main()
