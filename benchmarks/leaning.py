"""
Does ``replay drift`` without gold answers find the questions that lean on an answer, and those at risk?

    python benchmarks/leaning.py [FILE ...] [-v]

Each FILE (by default ``benchmarks/history-drift/test.json``) is a JSON list of dialogues as described in
``benchmarks/history-drift/README.md``. Only the recorded answers are read. Counted are questions whose label
says what they lean on:

- *leans on an answer*: a marked span stands in an earlier answer and in no earlier question of the user;
- *right words*: the quoted words share a content word with such a span; *right turn*: a marked span stands in
  the answer that is named;
- *at risk*, of questions that no longer mean the same after the other answers of the data (all should be), of
  those that lean on nothing and those that lean on the user's own words (none should be), and of those that
  lean on an answer and still mean the same after the other one, which may have named the same thing.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from replay.core.conversation import Conversation, Turn
from replay.coreference.leaning import QuestionLeaning, find_leaning
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.coreference.reading.words import comparable_words

FILES = (Path(__file__).parent / "history-drift" / "test.json",)


def label_of(turns: list[dict[str, Any]], depth: int) -> str | None:
    """What the question at *depth* leans on by its marked spans; None where nothing is marked and something
    is left out."""
    turn, before = turns[depth - 1], turns[: depth - 1]
    if not turn["leans_on"]:
        return "nothing" if turn["refers_by"] == "nothing" else None
    in_answers = {s for s in turn["leans_on"] if any(s in one["gold_answer"] for one in before)}
    in_questions = {s for s in turn["leans_on"] if any(s in one["question"] for one in before)}
    return "answer" if in_answers - in_questions else "question"


def count(turns: list[dict[str, Any]], found: tuple[QuestionLeaning, ...], show: bool) -> Counter[str]:
    """The questions of one dialogue from its second turn on."""
    counts: Counter[str] = Counter()
    for turn, one in zip(turns[1:], found[1:], strict=True):
        label = label_of(turns, one.depth)
        if label is None:
            continue
        leans = one.leans_on == "answer"
        counts["leans"] += label == "answer"
        counts["found"] += leans
        if label == "answer" and leans:
            counts["both"] += 1
            spans = [
                s for s in turn["leans_on"] if any(s in t["gold_answer"] for t in turns[: one.depth - 1])
            ]
            named = set(comparable_words(one.words or ""))
            counts["words"] += any(named & set(comparable_words(span)) for span in spans)
            answer = turns[one.depth - 1 - (one.turns_back or 0)]["gold_answer"]
            counts["turn"] += any(span in answer for span in spans)
        if turn["means_the_same"] is None:
            continue
        group = "changed" if not turn["means_the_same"] else f"same, {label}"
        counts[group] += 1
        counts[f"{group}: at risk"] += one.at_risk
        if show:
            risk = " AT RISK" if one.at_risk else ""
            print(f"{group}{risk}: {one.question!r} -> {one.leans_on} {one.words!r}")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE", help="files of dialogues")
    parser.add_argument("-v", "--verbose", action="store_true", help="show every question")
    options = parser.parse_args()
    resolver, counts = EmbeddedResolver(), Counter[str]()
    for dialogue in (d for file in options.files or FILES for d in json.loads(file.read_text("utf-8"))):
        turns = dialogue["turns"]
        conversation = Conversation(
            id=dialogue["id"],
            turns=tuple(
                Turn(id=str(n), question=turn["question"], gold_answers=(turn["gold_answer"],))
                for n, turn in enumerate(turns)
            ),
        )
        counts += count(turns, find_leaning(conversation, resolver), options.verbose)

    def share(part: str, whole: str) -> str:
        return f"{counts[part]} of {counts[whole]} ({100 * counts[part] / max(1, counts[whole]):.1f} %)"

    print(
        f"leans on an answer: found {share('both', 'leans')}, right of those found {share('both', 'found')}"
    )
    print(f"  of both: right words {share('words', 'both')}, right turn {share('turn', 'both')}")
    for group in ("changed", "same, nothing", "same, question", "same, answer"):
        print(f"at risk, {group}: {share(f'{group}: at risk', group)}")


if __name__ == "__main__":
    main()
