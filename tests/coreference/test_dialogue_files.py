"""The dialogues with known labels have the shape that their README says, whichever of the files are there."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parent / "dialogues").glob("*.json"))
WAYS = {"pronoun", "demonstrative", "definite", "ordinal", "there/then", "ellipsis", "nothing"}
TEXTS = ("question", "gold_answer", "own_answer")
KEYS = {*TEXTS, "means_the_same", "rewrite_names", "refers_by"}


def dialogues(path):
    return json.loads(path.read_text(encoding="utf-8"))


def judged(path):
    return [turn for dialogue in dialogues(path) for turn in dialogue["turns"][1:]]


def test_there_is_a_file():
    """Without one, every other test here would pass by having nothing to look at."""
    assert FILES


def test_ids_are_unique_across_files():
    ids = Counter(dialogue["id"] for path in FILES for dialogue in dialogues(path))

    assert [name for name, times in ids.items() if times > 1 or name != name.lower()] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_turn_has_its_fields_and_all_but_the_first_a_label(path):
    for dialogue in dialogues(path):
        assert dialogue.keys() == {"id", "turns"}
        assert 4 <= len(dialogue["turns"]) <= 7, dialogue["id"]
        for depth, turn in enumerate(dialogue["turns"], 1):
            place = (dialogue["id"], depth)
            assert turn.keys() == KEYS, place
            assert all(turn[text].strip() for text in TEXTS), place
            if depth == 1:
                assert turn["means_the_same"] is turn["refers_by"] is None, place
            else:
                assert isinstance(turn["means_the_same"], bool), place
                assert turn["refers_by"] in WAYS, place


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_rewrite_must_name_was_said_before_and_not_in_the_question(path):
    """A name that the question says itself would call every rewrite right."""
    for dialogue in dialogues(path):
        said = ""
        for depth, turn in enumerate(dialogue["turns"], 1):
            place = (dialogue["id"], depth)
            assert bool(turn["rewrite_names"]) == (turn["means_the_same"] is False), place
            for name in turn["rewrite_names"] or ():
                assert name.lower() in said, (*place, name)
                assert name.lower() not in turn["question"].lower(), (*place, name)
            said += f"{turn['question']}\n{turn['gold_answer']}\n".lower()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_labels_and_ways_of_referring_are_balanced(path):
    turns = judged(path)
    ways = Counter(turn["refers_by"] for turn in turns)
    changed = Counter(turn["refers_by"] for turn in turns if not turn["means_the_same"])

    assert 0.4 <= changed.total() / len(turns) <= 0.5
    assert changed["nothing"] == 0
    for way in WAYS:
        assert 0.08 <= ways[way] / len(turns) <= 0.22, way
    for way in WAYS - {"nothing"}:
        assert 0.3 <= changed[way] / ways[way] <= 0.7, way
