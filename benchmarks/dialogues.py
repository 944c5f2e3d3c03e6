"""
Are verdicts and rewrites right where it is known whether a question still means the same?

    python benchmarks/dialogues.py [FILE ...] [--half train|held-out|all] [-v]

Each FILE (by default the kinds of ``benchmarks/history-drift`` that nothing was fitted to) is a JSON list of
dialogues: an ``id`` and
``turns`` with

- ``question`` and ``gold_answer``, as recorded, and ``own_answer``, what the system says instead;
- ``means_the_same``: whether the question still does after the system's own answers; null is not judged;
- ``rewrite_names``: where it does not, a right rewrite contains one of these, whatever the case;
- ``refers_by``: the way in which the question leans on what was said before.

Verdicts are those of ``pred``, questions as asked those of ``rewrite``, both with the default settings.
Printed are precision, recall and F of "invalid" in percent, by ``refers_by`` and over all judged
questions; how many of the rewritten questions, and of those that no longer mean the same, were put right
(to rewrite one that still means the same is wrong, and harmful where it puts a name that its standalone form
doesn't have); the area under the ROC curve of the probabilities, beside that of "the fewer words, the
sooner"; and the expected calibration error of ``drift.probability`` in ten bins of equal width, with the
reliability table.

``--half`` takes the dialogues at even (train) or odd (held-out) positions of each file, from 0.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.stats import mannwhitneyu

from replay.core.conversation import Conversation, Turn
from replay.core.history import PlayedTurn
from replay.coreference.drift import DriftDetector
from replay.coreference.reading.words import words
from replay.coreference.service.service import CoreferenceService, ResolverChoice
from replay.policies.rewrite import RewritePolicy

FILES = (Path(__file__).parent / "history-drift" / "test.json",)
HALVES = {"train": slice(0, None, 2), "held-out": slice(1, None, 2), "all": slice(None)}
BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One question whose meaning is known, and what was made of it."""

    place: str
    refers_by: str
    question: str
    changed: bool
    """Whether it no longer means the same."""
    names: tuple[str, ...]
    invalid: bool
    probability: float
    asked: str
    """The question as ``rewrite`` puts it."""
    standalone: str = ""
    """As people put it; empty where nobody did."""

    @property
    def rewritten(self) -> bool:
        return self.asked != self.question

    @property
    def right(self) -> bool:
        """Whether it was rewritten right; one that still means the same has no right rewrite."""
        return self.rewritten and any(name.casefold() in self.asked.casefold() for name in self.names)

    @property
    def is_harmful(self) -> bool:
        """Whether it was rewritten and not right, with words that people wouldn't put."""
        if not self.rewritten or self.right:
            return False
        return bool(set(words(self.asked)) - set(words(self.question)) - set(words(self.standalone)))


async def played(dialogue: dict[str, Any], detector: DriftDetector) -> list[Judged]:
    """The judged questions of one dialogue, played under ``pred`` and under ``rewrite``."""
    turns = dialogue["turns"]
    conversation = Conversation(
        id=dialogue["id"],
        turns=tuple(
            Turn(id=f"{dialogue['id']}#{n}", question=t["question"], gold_answers=(t["gold_answer"],))
            for n, t in enumerate(turns, 1)
        ),
    )
    policy = RewritePolicy(detector=detector)
    pred: list[PlayedTurn] = []
    rewrite: list[PlayedTurn] = []
    judged = []
    for depth, (turn, recorded) in enumerate(zip(turns, conversation.turns, strict=True), 1):
        drift = (await detector.assess(conversation, depth, pred)).drift
        asked = (await policy.plan(conversation, depth, rewrite)).question
        if turn["means_the_same"] is not None:
            judged.append(
                Judged(
                    place=f"{dialogue['id']} {depth}",
                    refers_by=turn["refers_by"] or "not said",
                    question=recorded.question,
                    changed=not turn["means_the_same"],
                    names=tuple(turn["rewrite_names"] or ()),
                    invalid=drift.valid is False,
                    probability=drift.probability,
                    asked=asked,
                    standalone=turn.get("standalone") or "",
                )
            )
        pred.append(PlayedTurn(turn=recorded, asked=recorded.question, answer=turn["own_answer"]))
        rewrite.append(PlayedTurn(turn=recorded, asked=asked, answer=turn["own_answer"]))
    return judged


async def play(dialogues: Sequence[dict[str, Any]]) -> list[Judged]:
    """The judged questions of all *dialogues*, with the default resolver and rewriter."""
    async with CoreferenceService(ResolverChoice(settings={}, folder=Path()), workers=0) as service:
        detector = DriftDetector(service=service)
        return [judged for dialogue in dialogues for judged in await played(dialogue, detector)]


def reliability(judged: Sequence[Judged]) -> list[tuple[int, int, float, float]]:
    """
    (bin, questions in it, their mean probability, the share that changed) for each bin that isn't empty.

    Bin b holds the probabilities in [b / 10, (b + 1) / 10), the last one 1 as well.
    """
    bins: list[list[Judged]] = [[] for _ in range(BINS)]
    for j in judged:
        bins[min(int(j.probability * BINS), BINS - 1)].append(j)
    return [
        (b, len(js), sum(j.probability for j in js) / len(js), sum(j.changed for j in js) / len(js))
        for b, js in enumerate(bins)
        if js
    ]


def calibration_error(judged: Sequence[Judged]) -> float:
    """Expected calibration error in [0, 1]: the bins' |mean probability - share|, by their questions."""
    return sum(n * abs(mean - share) for _, n, mean, share in reliability(judged)) / len(judged)


def ranking(found: Sequence[tuple[float, bool]]) -> float:
    """Return the probability that a yes has the higher number than a no; ties count half, 0.5 without
    both."""
    yes, no = [n for n, truth in found if truth], [n for n, truth in found if not truth]
    return float(mannwhitneyu(yes, no).statistic) / (len(yes) * len(no)) if yes and no else 0.5


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def report(judged: Sequence[Judged], show: bool = False) -> Iterator[str]:
    """The lines to print; with *show*, each wrong verdict and rewrite before them."""
    for j in judged if show else ():
        if j.invalid != j.changed:
            missed = "changed, not seen" if j.changed else "same, flagged"
            yield f"{missed} ({j.refers_by}, {j.probability:.2f}): {j.place}: {j.question}"
        if j.rewritten and not j.right:
            yield f"wrong rewrite: {j.place}: {j.question} -> {j.asked}"

    yield "refers by      changed  seen  same flagged      P      R      F"
    for kind in (*sorted({j.refers_by for j in judged}), "all"):
        rows = [j for j in judged if kind in (j.refers_by, "all")]
        changed = sum(j.changed for j in rows)
        seen = sum(j.changed and j.invalid for j in rows)
        flagged = sum(j.invalid for j in rows) - seen
        p, r = percent(seen, seen + flagged), percent(seen, changed)
        f = percent(2 * seen, changed + seen + flagged)
        yield f"{kind:<14} {changed:7} {seen:5} {len(rows) - changed:5} {flagged:7} {p:>6} {r:>6} {f:>6}"

    rewritten, right = sum(j.rewritten for j in judged), sum(j.right for j in judged)
    changed = sum(j.changed for j in judged)
    yield f"rewritten {rewritten} of {len(judged)}, right {right}"
    yield f"  {percent(right, rewritten)} % of these, {percent(right, changed)} % of the {changed} changed"

    harmful = sum(j.is_harmful for j in judged)
    yield f"  harmful {harmful}, {percent(harmful, len(judged))} % of all questions"
    by_verdict = ranking([(j.probability, j.changed) for j in judged])
    by_length = ranking([(-float(len(words(j.question))), j.changed) for j in judged])
    yield f"ranking: AUC {by_verdict:.3f}, of the fewer words {by_length:.3f}"
    yield f"calibration error {calibration_error(judged):.3f}"
    yield "  probability  questions   mean  changed"
    for b, n, mean, share in reliability(judged):
        yield f"  {b / BINS:.1f} to {(b + 1) / BINS:.1f} {n:11} {mean:6.2f} {share:8.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE", help="files of dialogues")
    parser.add_argument("--half", choices=HALVES, default="all", help="which dialogues of each file")
    parser.add_argument("-v", "--verbose", action="store_true", help="show wrong verdicts and rewrites")
    options = parser.parse_args()
    files = options.files or FILES
    dialogues = [d for file in files for d in json.loads(file.read_text("utf-8"))[HALVES[options.half]]]
    print(f"{len(dialogues)} dialogues ({options.half}) of {', '.join(file.name for file in files)}")
    for line in report(asyncio.run(play(dialogues)), options.verbose):
        print(line)


if __name__ == "__main__":
    main()
