"""
Rewrites as they come, good and bad: a few of each file beside people's own, and how many are like those.

    python benchmarks/rewrites.py benchmarks/history-drift/exchanges_test.txt canard_dev.json --show 10

Takes what ``benchmarks/drift.py`` does, dialogues of ``benchmarks/history-drift`` (read in their recorded
history) and its exchanges, a text file. A question is asked as the policy ``rewrite`` would ask it if its
verdict were "invalid", with the default settings. Figures are those of ``benchmarks/drift.py`` under
"rewriting" and "edits"; "as people put it" are the edits that have the very words of the human rewrite,
whatever the case and punctuation. ``--show N`` prints N edits as a Markdown table, drawn by a seed.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

from drift import rewriting_lines

from replay.coreference.reading import rewriting
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.coreference.reading.words import words
from replay.coreference.training.annotated import (
    Example,
    is_for_decisions,
    is_held_out,
    read_dialogues,
    read_examples,
)
from replay.coreference.training.prepare import read_exchange


def examples_of(path: Path, only_held_out: bool) -> list[Example]:
    """Return the questions of *path* with their human rewrites; of exchanges and dialogues all."""
    if path.suffix == ".txt":
        lines = [read_exchange(line) for line in path.read_text("utf-8").splitlines()]
        return [
            Example(dialog=str(n), group="", document=document, rewrite=standalone)
            for n, (document, _, standalone) in enumerate(lines)
        ]
    if path.parent.name == "history-drift":
        return [
            Example(dialog=turn.dialog, group=turn.kind, document=turn.gold, rewrite=turn.standalone)
            for turn in read_dialogues([path])
            if turn.standalone
        ]
    found = read_examples([path])
    return [e for e in found if is_held_out(e) and not is_for_decisions(e)] if only_held_out else found


def table(examples: Sequence[Example], asked: Sequence[str], count: int) -> list[str]:
    """Return *count* edited questions as a Markdown table."""
    edited = [(e, put) for e, put in zip(examples, asked, strict=True) if put != e.document.question]
    drawn = random.Random(0).sample(edited, min(count, len(edited)))
    rows = [(e.document.question, put, e.rewrite) for e, put in drawn]
    shown = (" | ".join(text.replace("|", "\\|").replace("\n", " ") for text in row) for row in rows)
    return ["| recorded | asked | people |", "|---|---|---|", *(f"| {row} |" for row in shown)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument(
        "--held-out", action="store_true", help="of data sets, only what nothing was fitted to"
    )
    parser.add_argument("--show", type=int, default=0, metavar="N", help="edits of each file to print")
    parser.add_argument("--most", type=int, help="questions of a file at most, the first ones")
    parser.add_argument("--min-probability", type=float, default=rewriting.MIN_PROBABILITY, help="of an edit")
    options = parser.parse_args()
    resolver = EmbeddedResolver()
    for path in options.files:
        examples = examples_of(path, options.held_out)[: options.most]
        readings = resolver.read([example.document for example in examples])
        asked = [
            rewriting.rewrite(e.document.question, r, min_probability=options.min_probability)
            for e, r in zip(examples, readings, strict=True)
        ]
        print(f"{path.stem}: {len(examples)} questions")
        for line in rewriting_lines(examples, asked):
            print(line)
        edits = [
            words(put) == words(e.rewrite)
            for e, put in zip(examples, asked, strict=True)
            if put != e.document.question
        ]
        print(f"  as people put it {sum(edits)} of {len(edits)} edits", flush=True)
        if options.show:
            print("\n".join(table(examples, asked, options.show)), flush=True)


if __name__ == "__main__":
    main()
