"""
Dialogues made to drift: questions that hang on a detail of an answer, and answers that get it wrong.

"Which parameter has the default value 30?" is answered with the right one, with the same in other words,
with another one, or not at all; what "What is its type?" means after each is known by construction. The
format is that of the data set history-drift (``benchmarks/history-drift/README.md``), which
``benchmarks/dialogues.py`` scores; as conversations they expect the verdict, and a script has the answers.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from replay.core.conversation import Conversation, Turn
from replay.core.expectation import Expectation
from replay.synthesis.pool import Area
from replay.synthesis.questions.question import DocumentFact, lean_on

OwnAnswer = Literal["another", "the same", "none"]

KINDS: tuple[OwnAnswer, ...] = ("another", "the same", "another", "the same", "none")
"""What the other system answers, in turn: half of the questions change their meaning, and some lose it."""
MOST_FOLLOW_UPS = 3
LONGEST_KEY = 4
"""Words of a value that a thing is asked for by."""
_OF_THING = re.compile(r"^What is the [a-z -]+ of \{\}\?$")
_THING = re.compile(r"^the (?P<key>.+) (?P<kind>[a-z]+)$")


@dataclass(frozen=True, slots=True)
class _TableRow:
    """One thing of a table, and what its cells say of it."""

    key: str
    kind: str
    cells: Mapping[str, DocumentFact]
    """By the frames of their questions."""


def drift_probe(areas: Sequence[Area], rng: random.Random) -> Iterator[dict[str, Any]]:
    """
    Yield dialogues as JSON values, one for each thing in a table that a value of a column tells apart.

    Tables need a first column of a known kind ("Parameter"), and two others of which one tells rows apart.
    """
    number = 0
    for area in areas:
        for section, rows in _tables(area).items():
            for row in rows:
                found = _dialogue(row, rows, KINDS[number % len(KINDS)], rng)
                if found is not None:
                    number += 1
                    yield {
                        "id": f"{PurePath(section).name}/{row.key}",
                        "kind": "documentation-tables",
                        "turns": found,
                    }


def probe_conversations(dialogues: Iterable[Mapping[str, Any]]) -> Iterator[Conversation]:
    """Yield *dialogues* as conversations that expect the verdict which is right after the other answers."""
    for one in dialogues:
        turns = [
            Turn(
                id=f"{one['id']}#{depth}", question=turn["question"], standalone=turn["standalone"],
                gold_answers=(turn["gold_answer"],), expect=_verdict(turn["means_the_same"]),
            )
            for depth, turn in enumerate(one["turns"], 1)
        ]  # fmt: skip
        yield Conversation(id=one["id"], turns=tuple(turns))


def probe_answers(dialogues: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return what the other system says in *dialogues*, as the adapter ``scripted`` takes it."""
    return {one["id"]: [turn["own_answer"] for turn in one["turns"]] for one in dialogues}


def _verdict(means_the_same: bool | None) -> tuple[Expectation, ...]:
    if means_the_same is None:
        return ()
    called = "same" if means_the_same else "changed"
    return (Expectation(kind="drifts", value=not means_the_same, called=called),)


def _tables(area: Area) -> dict[str, list[_TableRow]]:
    cells: dict[str, dict[str, dict[str, DocumentFact]]] = defaultdict(lambda: defaultdict(dict))
    for fact in area.facts:
        is_cell = fact.kind in ("cell", "yes-no") and fact.filler and fact.frame != "What is {}?"
        if is_cell and _THING.match(fact.filler):
            cells[fact.section.id][fact.filler][fact.frame] = fact
    tables: dict[str, list[_TableRow]] = {}
    for section, things in cells.items():
        for filler, facts in things.items():
            thing = _THING.match(filler)
            assert thing is not None  # others were left out
            tables.setdefault(section, []).append(_TableRow(thing["key"], thing["kind"], facts))
    return tables


def _dialogue(
    row: _TableRow, rows: Sequence[_TableRow], own: OwnAnswer, rng: random.Random
) -> list[dict[str, Any]] | None:
    """Return the turns of a dialogue about *row*, None where nothing tells it from the other *rows*."""
    named_by = next((frame for frame in row.cells if _tells_apart(row, rows, frame)), None)
    others = [one for one in rows if one.key != row.key and one.cells.keys() >= row.cells.keys()]
    asked = [frame for frame in row.cells if frame != named_by][:MOST_FOLLOW_UPS]
    if named_by is None or not others or not asked:
        return None
    other = rng.choice(others)
    noun = named_by.removeprefix("What is the ").removesuffix(" of {}?")
    opening = f"Which {row.kind} has the {noun} {row.cells[named_by].answers[0]}?"
    said: dict[OwnAnswer, str] = {
        "another": f"That is the {other.kind} {other.key}.",
        "the same": f"{row.key} is the one that has it.",
        "none": "I can't find that out.",
    }
    turns = [_turn(opening, opening, f"It is the {row.key} {row.kind}.", said[own])]
    before = row.cells[named_by]
    for frame in asked:
        fact = row.cells[frame]
        form = next(iter(lean_on(fact, before, len(turns))))
        answers: dict[OwnAnswer, str] = {
            "another": other.cells[frame].answers[0],
            "the same": fact.answers[0],
            "none": "I can't find that out either.",
        }
        turn = _turn(form.question, fact.question, fact.answers[0], answers[own])
        turns.append(
            turn
            | {
                "means_the_same": own == "the same",
                "refers_by": "pronoun",
                "leans_on": [row.key],
                "leans_on_own": [other.key] if own == "another" else [],
                "rewrite_names": None if own == "the same" else [row.key],
            }
        )
    return turns


def _tells_apart(row: _TableRow, rows: Sequence[_TableRow], frame: str) -> bool:
    """Return whether *row* can be asked for by its cell of *frame*: no other row has the same there."""
    value = row.cells[frame].answers[0]
    same = [one for one in rows if frame in one.cells and one.cells[frame].answers[0] == value]
    return _OF_THING.match(frame) is not None and len(same) == 1 and len(value.split()) <= LONGEST_KEY


def _turn(question: str, standalone: str, gold: str, own: str) -> dict[str, Any]:
    return {
        "question": question,
        "gold_answer": gold,
        "own_answer": own,
        "means_the_same": None,
        "refers_by": None,
        "standalone": standalone,
        "leans_on": [],
        "leans_on_own": [],
        "rewrite_names": None,
    }
