"""Data that was an object of the program which began a run."""

from __future__ import annotations

import pytest

import replay
from replay.core.errors import ReplayError
from replay.results.run import newest_run
from replay.runs.launch import resume_async, run_async


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
