"""
How far the scorer ``repetition`` agrees with people: scores of recorded dialogues, for ``replay agree``.

    python benchmarks/repetition.py fed_data.json --out repetition.csv
    replay agree repetition.csv fed_data.json --level dialogue --against diverse

FILE is what ``replay judge-file`` reads. A dialogue's score is the mean of its answers'.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from replay.datasets.tables import write_table
from replay.scorers.reference_score import mean
from replay.scorers.scorer import Unscored
from replay.scorers.word_overlap import repetition
from replay.tables.responses import read_responses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--length", type=int, default=4, help="words in a run")
    given = parser.parse_args()
    scorer = repetition(length=given.length)
    rows = []
    for response in read_responses(given.file):
        found = scorer.observe(response.case.records)
        judged = found if response.level == "dialogue" else found[-1:]
        shares = [share for share in judged if not isinstance(share, Unscored)]
        row = {"id": response.id, "system": response.system, "level": response.level}
        rows.append({**row, "repetition": mean(shares)} if shares else row)
    write_table(given.out, ["id", "system", "level", "repetition"], rows)
    print(f"wrote {given.out}: {len(rows)} items")


if __name__ == "__main__":
    main()
