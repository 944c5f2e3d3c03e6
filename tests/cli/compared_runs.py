"""Two runs whose comparison can be reckoned in the head."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

import replay

TALKS, TURNS = 6, 4


def scenario(folder: Path, answers, **changes):
    return {
        "name": "try",
        "data": {"path": str(folder / "talks.jsonl")},
        "systems": [{"name": "s", "adapter": "scripted", "settings": {"answers": answers}}],
        "policies": ["gold", "pred"],
        "scorers": ["em", "f1"],
        "drift": {"nlp_workers": 0},
        **changes,
    }


def write_talks(made: Path, talks: int, turns: int) -> None:
    """``talks.jsonl``, of so many conversations with so many turns."""
    made_up = [
        {
            "id": f"talk{n}",
            "turns": [
                {"question": f"Who sang {n}-{depth}?", "gold_answer": f"Ann sang {depth}."}
                for depth in range(1, turns + 1)
            ],
        }
        for n in range(talks)
    ]
    (made / "talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in made_up))


def right_and_wrong(made: Path) -> Path:
    """Six talks; run ``right`` answers as recorded, run ``wrong`` errs from turn 2 on."""
    write_talks(made, TALKS, TURNS)
    wrong = ["Ann sang 1.", *["Nobody knows."] * (TURNS - 1)]
    for name, answers in (("right", "gold"), ("wrong", wrong)):
        content = scenario(made, answers)
        (made / f"{name}.yaml").write_text(yaml.safe_dump(content))
        replay.run(content, runs=made / "made").folder.rename(made / name)
    return made
