"""Scorers, policies and judges can be called something of one's own, which is then their name everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from replay.core.errors import ScenarioError
from replay.core.settings.choice import Choice
from replay.results.judging import score
from replay.results.run import Run
from replay.results.scoring import chosen_scorers
from replay.scenario.assembly import assemble
from replay.scenario.reading import parse_scenario, read_choices
from replay.store.store import RunStore
from tests.cli.command import replay_cli
from tests.data_tables import from_table

MINE = """\
from dataclasses import dataclass

from replay import GoldPolicy, why_unscored


@dataclass(frozen=True)
class Length:
    cap: float = 2.0
    unit = ""
    signature = "length"

    def observe(self, records):
        return [why_unscored(r) or min(self.cap, len(r.answer)) for r in records]

    def combine(self, observed):
        values = list(observed)
        return sum(values) / len(values)


def gold(sure: bool = True):
    return GoldPolicy()
"""
SCENARIO = {
    "name": "try",
    "data": {"path": "talk.jsonl"},
    "systems": [{"name": "s", "adapter": "scripted"}],
    "policies": ["gold", {"sure_gold": "mine.py:gold", "settings": {"sure": True}}],
    "scorers": [
        "f1",
        {"strict": "f1", "settings": {"answerable_only": True}},
        {"length": "mine.py:Length", "settings": {"cap": 3}},
        {"default-length": "mine.py:Length"},
    ],
    "judges": [
        {"tone": "correctness", "settings": {"adapter": "scripted", "settings": {"answers": ["Yes"]}}}
    ],
    "drift": {"nlp_workers": 0},
    "assert": [{"metric": "length", "policy": "sure_gold", "min": 3}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a run that is over."""
    made = tmp_path_factory.mktemp("names")
    (made / "mine.py").write_text(MINE)
    talk = {"id": "c", "turns": [{"question": "Who?", "gold_answer": "Me too."}]}
    (made / "talk.jsonl").write_text(json.dumps(talk) + "\n")
    (made / "s.yaml").write_text(yaml.safe_dump(SCENARIO, sort_keys=False))
    done = replay_cli("run", "s.yaml", cwd=made)
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture
def run(folder) -> Run:
    (path,) = (folder / "runs").iterdir()
    return Run(path)


NAMES = ["f1", "strict", "length", "default-length"]


def test_the_table_and_the_run_call_them_so(folder, run):
    assert list(run.scorers()) == [*NAMES, "tone"]
    turns = run.turns()
    assert set(turns["policy"]) == {"gold", "sure_gold"}
    assert list(turns["length"]) == [3.0, 3.0]  # the setting is heard
    assert list(turns["default-length"]) == [2.0, 2.0]
    assert list(turns["tone"]) == [1.0, 1.0]
    shown = replay_cli("report", cwd=folder).stdout
    assert "s, sure_gold" in shown
    assert all(name in shown for name in [*NAMES, "tone"])


def test_validate_says_what_code_of_ones_own_is_run(folder):
    said = replay_cli("validate", "s.yaml", cwd=folder).stdout
    assert "mine.py:Length (scorer length, scorer default-length)\n" in said
    assert "mine.py:gold (policy sure_gold)\n" in said


def test_scored_again_they_keep_their_names(run):
    assert list(score(run.folder).scorers()) == [*NAMES, "tone"]
    store = RunStore(run.folder)
    try:
        assert [choice.label for choice in chosen_scorers(store)] == NAMES
    finally:
        store.close()


def test_the_command_line_takes_names_as_well(folder):
    done = replay_cli("score", "--scorer", "{mine: 'mine.py:Length', settings: {cap: 1}}", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert " mine " in done.stdout


def test_a_judges_name_is_how_it_is_asked_for_again(folder):
    done = replay_cli("score", "--judge", "tone", cwd=folder)
    assert done.returncode == 0, done.stderr


def test_a_name_stands_in_the_place_of_name_and_settings():
    (choice,) = read_choices(["{words: 'a.py:B', settings: {cap: 1}}"], "--scorer")
    assert choice == Choice(name="a.py:B", settings={"cap": 1}, called="words")
    assert choice.label == "words"


@from_table
def test_wrong_forms_are_told_with_the_right_one(entry, words, tmp_path):
    with pytest.raises(ScenarioError) as caught:
        read_choices([entry], "--scorer")
    assert words in str(caught.value)
    facts = {**SCENARIO, "scorers": ["f1", yaml.safe_load(entry)]}
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(yaml.safe_dump(facts), source="s.yaml", folder=tmp_path)
    assert [f.path for f in caught.value.faults if words in f.message] == ["scorers[1]"]


def test_two_of_one_name_are_refused_and_settings_have_their_place(code_runs, folder):
    scorers = [{"one": "f1"}, {"one": "em"}, {"two": "mine.py:Length", "settings": {"cpa": 1}}]
    text = yaml.safe_dump({**SCENARIO, "scorers": scorers, "assert": []}, sort_keys=False)
    with pytest.raises(ScenarioError) as caught:
        assemble(parse_scenario(text, source="s.yaml", folder=folder))
    found = [(f.path, text.splitlines()[f.line - 1].strip()) for f in caught.value.faults]
    assert found == [("scorers[1]", "- one: em"), ("scorers[2].settings.cpa", "cpa: 1")]


@from_table
def test_a_model_is_shown_by_the_last_part_of_its_name(model, shown):
    """A path would take the whole width of a table."""
    assert Choice(name="bertscore", settings={"model": model, "idf": True}).label == (
        f"bertscore(model={shown},idf=True)"
    )
