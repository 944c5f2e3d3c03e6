"""Data that was an object of the program which began a run."""

from __future__ import annotations

import pytest

import replay
from replay.core.errors import ReplayError, RunError
from replay.results.run import newest_run
from replay.runs.launch import resume_async, run_async
from tests.cli.command import replay_cli
from tests.reliability.test_changed_data import BEFORE, changed_texts, write


def conversation(name, *questions):
    turns = tuple(
        replay.Turn(id=f"{name}#{n}", question=q, gold_answers=("Me.",)) for n, q in enumerate(questions, 1)
    )
    return replay.Conversation(id=name, turns=turns)


class Failing:
    """A policy that stops the run at its third turn, until it is mended."""

    signature = "failing"
    history = "gold"

    def __init__(self):
        self.planned = 0
        self.mended = False

    async def plan(self, conversation, depth, played):
        self.planned += 1
        if self.planned == 3 and not self.mended:
            raise RuntimeError("broken")
        return replay.PlannedTurn(question=conversation.turns[depth - 1].question, history=(), edit="kept")


async def test_data_from_memory_is_compared_and_stays_as_it_was_read(tmp_path):
    policy = Failing()
    content = {
        "name": "memory",
        "data": [conversation("a", "Who?", "Why?"), conversation("b", "When?")],
        "systems": [{"name": "s", "adapter": "scripted"}],
        "policies": [policy],
        "scorers": ["f1"],
        "drift": {"nlp_workers": 0},
        "play": {"concurrency": 1},
    }
    with pytest.raises(ReplayError, match="broken"):
        await run_async(content, runs=tmp_path)
    policy.mended = True
    folder = newest_run(tmp_path)
    other = {**content, "data": [conversation("b", "Where?"), conversation("c", "How?")]}
    said = []
    run = await resume_async(folder, scenario=other, observer=Listener(said))
    assert [record.asked for record in run.records()] == ["Who?", "Why?", "When?"]
    assert '1 conversation is new ("c"); 1 conversation has another content ("b")' in said[0]
    assert '1 conversation is gone ("a")' in said[0]
    run = await resume_async(folder, scenario=other, with_new_data=True)
    assert [record.asked for record in run.records()] == ["Who?", "Why?", "When?", "How?"]


class Listener:
    """An observer that keeps what it is told before anything is asked."""

    def __init__(self, said):
        self.noticed = said.append

    def recorded(self, record):
        pass

    def played(self, play):
        pass


async def test_a_killed_load_run_keeps_what_it_read_and_is_not_resumed(tmp_path):
    load = {"profile": "closed", "concurrency": 2, "conversations": 4}
    write(tmp_path / "talks.jsonl", BEFORE[:2])
    content = {
        "name": "load",
        "data": {"path": str(tmp_path / "talks.jsonl")},
        "systems": [{"name": "s", "adapter": "scripted"}],
        "policies": ["gold"],
        "drift": {"nlp_workers": 0},
        "load": load,
    }
    run = await run_async(content, runs=tmp_path / "runs")
    write(tmp_path / "talks.jsonl", changed_texts())
    with pytest.raises(RunError, match="load run"):
        await resume_async(run.folder, with_new_data=True)
    assert [one.turns[0].question for one in run.conversations()] == [
        "Who sang talk0-1?",
        "Who sang talk1-1?",
    ]
    assert replay_cli("score", run.folder, "--scorer", "f1", cwd=tmp_path).returncode == 0
