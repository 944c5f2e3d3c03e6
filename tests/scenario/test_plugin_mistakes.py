"""What is wrong with somebody's plug-in is said in a sentence, with its place, before anything is asked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from replay.core.errors import PluginError, ScenarioError
from replay.core.settings.plugins import load_object
from replay.datasets import loading
from replay.datasets.loading import read_conversations
from replay.scenario.assembly import assemble
from replay.scenario.reading import parse_scenario
from tests.cli.command import replay_cli
from tests.data_tables import from_table

pytestmark = pytest.mark.usefixtures("code_runs")

MINE = """\
from replay import DatasetError, Unscored, why_unanswered


class Scorer:
    signature = "mine"

    def observe(self, records):
        return [why_unanswered(r) or float(len(r.answer)) for r in records]

    def combine(self, observed):
        return sum(observed) / len(list(observed))


class MethodSignature(Scorer):
    def signature(self):
        return "mine"


class NumberSignature(Scorer):
    signature = 3


class FailingSignature(Scorer):
    @property
    def signature(self):
        return self.nmae


class NoCombine:
    signature = "mine"
    observe = Scorer.observe


class NoObserve:
    signature = "mine"
    combine = Scorer.combine


class TextForCombine(Scorer):
    combine = "mean"


class AsyncObserve(Scorer):
    async def observe(self, records):
        return []


class OnlyAnswered(Scorer):
    def observe(self, records):
        return [float(len(r.answer)) for r in records if r.answer]


class ForgetsTheUnanswered(Scorer):
    def observe(self, records):
        return [float(len(r.answer)) for r in records]


class NotANumber(Scorer):
    def observe(self, records):
        return [float("nan") for r in records]


class Nothing(Scorer):
    def observe(self, records):
        return [None for r in records]


class NoJson(Scorer):
    def observe(self, records):
        return [why_unanswered(r) or {1, 2} for r in records]


class FailingCombine(Scorer):
    def combine(self, observed):
        return sum(observed) / 0


class EndlessCombine(Scorer):
    def combine(self, observed):
        return float("inf")


class Greeter:
    history = "own"
    signature = "greeter"

    async def plan(self, conversation, depth, played):
        ...


class NoPlan:
    history = "own"
    signature = "none"


class NoSession:
    history = "client"


class AsyncSession:
    history = "client"

    async def session(self, conversation):
        yield self


class MethodHistory:
    def history(self):
        return "client"

    def session(self, conversation):
        ...


class NoRead:
    def recognizes(self, path, head):
        return False


class FailingRead(NoRead):
    def read(self, path):
        yield DatasetError("is bad", path=str(path))
        raise KeyError("turns")


class DictionaryRead(NoRead):
    def read(self, path):
        yield {"id": "a"}


class NoResolve:
    signature = "none"


class NoOpinion:
    level = "turn"
    outputs = ()
    needed_parameters = ()
    signature = "none"

    def why_not(self, case):
        ...

    def plan(self, case):
        ...


class FailingToBeMade(Scorer):
    def __init__(self):
        {}["here"]


class HiddenSetting(Scorer):
    def __init__(self, _words=3):
        ...


def a_class():
    return Scorer


three = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    talk = {"id": "c", "turns": [{"question": "Who?", "gold_answer": "Me."}]}
    (tmp_path / "talk.jsonl").write_text(json.dumps(talk) + "\n")
    return tmp_path


def scenario(**changes: object) -> str:
    facts = {
        "name": "try",
        "data": {"path": "talk.jsonl"},
        "systems": [{"name": "mine", "adapter": "scripted"}],
        "policies": ["gold"],
        "scorers": ["em"],
        "drift": {"nlp_workers": 0},
    }
    return yaml.safe_dump({**facts, **changes}, sort_keys=False)


def only_fault(folder: Path, **changes: object) -> tuple[str, str]:
    """Place and message; the place is in the file."""
    text = scenario(**changes)
    with pytest.raises(ScenarioError) as caught:
        assemble(parse_scenario(text, source="s.yaml", folder=folder))
    (found,) = caught.value.faults
    assert found.line is not None
    assert found.line > text.splitlines().index("scorers:" if "scorers" in found.path else "name: try")
    return found.path, found.message


@from_table
def test_a_scorer(folder, name, words):
    path, message = only_fault(folder, scorers=["em", f"mine.py:{name}"])
    assert path in ("scorers[1]", f"scorers[1].mine.py:{name}")
    assert words in message


@from_table
def test_any_other_plug_in(folder, place, changes, words):
    path, message = only_fault(folder, **changes)
    assert path == place
    assert words in message


def test_with_other_faults_in_the_scenario_it_is_told_as_well(folder):
    text = scenario(scorers=["mine.py:MethodSignature"], nmae="x")
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, source="s.yaml", folder=folder)
    assert [f.path for f in caught.value.faults] == ["scorers[0]", "nmae"]


@from_table
def test_a_reader_that_fails_half_way(folder, name, words):
    data = {"path": "talk.jsonl", "format": f"mine.py:{name}"}
    assembly = assemble(parse_scenario(scenario(data=data), source="s.yaml", folder=folder))
    with pytest.raises(PluginError, match=words):
        list(read_conversations(assembly.paths, reader=assembly.reader, on_bad=lambda bad: None, limit=None))


def test_an_installed_reader_that_is_none(folder, monkeypatch):
    """It is asked about every file whose format isn't named."""
    made = {"bad": load_object("mine.py:NoRead", folder)}
    monkeypatch.setattr(loading, "available", lambda kind: made)
    monkeypatch.setattr(loading, "load", lambda kind, name, folder: made[name])
    with pytest.raises(
        PluginError, match=r'"bad" gives no reader: it lacks read; mend it, or remove the pack'
    ):
        list(read_conversations([folder / "talk.jsonl"], reader=None, on_bad=None, limit=None))


@pytest.mark.parametrize(
    "arguments", [["serve", "mine.py:NoSession"], ["rewrite", "talk.jsonl", "--format", "mine.py:NoRead"]]
)
def test_one_that_the_command_line_names(folder, arguments):
    done = replay_cli(*arguments, cwd=folder)
    assert done.returncode == 2
    assert re.fullmatch(r'"mine.py:\w+" gives no \w+: it lacks \w+; docs/plugins.md .*\n', done.stderr)


def test_on_the_command_line_it_is_one_message(folder):
    (folder / "s.yaml").write_text(scenario(scorers=["mine.py:OnlyAnswered"]))
    done = replay_cli("run", "s.yaml", cwd=folder)

    assert done.returncode == 2
    first, second = done.stderr.splitlines()
    assert first == "s.yaml: 1 problem"
    assert second.startswith(
        '  line 10  scorers[0]  scorer "mine.py:OnlyAnswered" gives 2 observations for 4'
    )
    assert not (folder / "runs").exists()
