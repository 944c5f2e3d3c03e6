"""A scenario in Python: functions, plug-ins and conversations as they are, without a file for each."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import replay
from replay import ChatReply, Conversation, GoldPolicy, Turn
from replay.core.errors import RunError, ScenarioError
from replay.results import run_data
from replay.runs.launch import load_scenario, resume_async, run_async
from replay.scenario.assembly import assemble
from tests.cli.command import replay_cli, replay_process
from tests.waiting import PATIENCE_S


def talk(name, *questions):
    turns = (Turn(id=f"{name}#{n}", question=q, gold_answers=("Me.",)) for n, q in enumerate(questions, 1))
    return Conversation(id=name, turns=tuple(turns))


TALKS = [talk("a", "Who?", "Why?"), talk("b", "When?")]


def answer(question, history):
    return f"{question} after {len(history)}"


class Bot:
    def answer(self, question):
        return f"bot: {question}"


@dataclass(kw_only=True)
class Shouting:
    """An adapter."""

    volume: int = 1
    history: str = "client"

    def session(self, conversation):
        from contextlib import nullcontext

        return nullcontext(self)

    async def ask(self, request):
        return ChatReply(text=request.question.upper() + "!" * self.volume)


@dataclass(frozen=True, kw_only=True)
class Length:
    """A scorer."""

    of: str = "answer"
    signature = "length"
    unit = ""
    is_mean = True

    def observe(self, records):
        return [replay.why_unanswered(record) or float(len(getattr(record, self.of))) for record in records]

    def combine(self, observed):
        return sum(observed) / len(observed)


def scenario(**changes):
    return {
        "name": "memory",
        "data": TALKS,
        "systems": [{"name": "s", "adapter": answer}],
        "policies": ["gold"],
        "scorers": ["f1"],
        "drift": {"nlp_workers": 0},
        **changes,
    }


async def answers(tmp_path, **changes):
    run = await run_async(scenario(**changes), runs=tmp_path)
    return [record.answer for record in run.records()]


@pytest.mark.parametrize(
    ("system", "first"),
    [
        ({"adapter": answer}, "Who? after 0"),
        ({"adapter": Bot().answer}, "bot: Who?"),
        ({"adapter": "python", "settings": {"target": answer}}, "Who? after 0"),
        ({"adapter": "python", "settings": {"target": lambda question: question[::-1]}}, "?ohW"),
        ({"adapter": Shouting, "settings": {"volume": 2}}, "WHO?!!"),
        ({"adapter": Shouting(volume=3)}, "WHO?!!!"),
        ({"adapter": lambda loud: Shouting(volume=loud), "settings": {"loud": 4}}, "WHO?!!!!"),
    ],
)
async def test_a_function_a_class_or_an_object_is_a_system(tmp_path, system, first):
    assert (await answers(tmp_path, systems=[{"name": "s", **system}]))[0] == first


@pytest.mark.parametrize("at_once", [1, 2, 3, 5, 500])
async def test_conversations_keep_their_order_however_many_are_stored_at_once(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(run_data, "_TURNS_READ_AT_ONCE", at_once)
    assert await answers(tmp_path, data=[talk(name, f"{name}?") for name in "dbaec"]) == [
        f"{name}? after 0" for name in "dbaec"
    ]


async def test_two_functions_without_a_name_are_two(tmp_path):
    systems = [
        {"name": "one", "adapter": "python", "settings": {"target": lambda question: "1"}},
        {"name": "two", "adapter": "python", "settings": {"target": lambda question: "2"}},
    ]
    assert await answers(tmp_path, systems=systems, data=TALKS[1:]) == ["1", "2"]


async def test_a_function_that_was_defined_anew_is_asked_anew(tmp_path):
    """As in a notebook's cell."""
    for said in ("first", "second"):
        exec(f"def again(question): return {said!r}", found := {})
        systems = [{"name": "s", "adapter": found["again"]}]
        assert await answers(tmp_path, systems=systems, data=TALKS[1:]) == [said]


async def test_policies_and_scorers_are_classes_or_objects_and_called_by_their_names(tmp_path):
    content = scenario(
        policies=["gold", GoldPolicy, {"mine": GoldPolicy()}], scorers=[Length(of="asked"), "f1"]
    )
    run = await run_async(content, runs=tmp_path)

    assert list(run.scorers()) == ["Length", "f1"]
    assert {record.policy for record in run.records()} == {"gold", "GoldPolicy", "mine"}
    assert run.turns()["Length"].iloc[0] == len("Who?")


@pytest.mark.parametrize(
    ("data", "asked"),
    [
        (TALKS, ["Who?", "Why?", "When?"]),
        (TALKS[1], ["When?"]),
        (tuple(TALKS), ["Who?", "Why?", "When?"]),
        ((one for one in TALKS), ["Who?", "Why?", "When?"]),
        ({"path": TALKS, "limit": np.int64(1)}, ["Who?", "Why?"]),
        ({"path": TALKS, "ask": "last"}, ["Why?", "When?"]),
    ],
)
async def test_conversations_come_from_memory(tmp_path, data, asked):
    run = await run_async(scenario(data=data), runs=tmp_path)

    assert [record.asked for record in run.records()] == asked


async def test_conversations_that_cannot_be_played_are_named_or_skipped(tmp_path):
    twice = [*TALKS, TALKS[0], Conversation(id="empty", turns=())]
    with pytest.raises(replay.DatasetError, match='conversation 3 of this file has the id "a"'):
        await run_async(scenario(data=twice), runs=tmp_path)
    run = await run_async(scenario(data={"path": twice, "skip_bad": True}), runs=tmp_path)

    assert (len(run.conversations()), run.state().skipped_conversations) == (2, 2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": [TALKS[0], {"id": "b"}]}, "data[1]  is a dict, not a replay.Conversation"),
        ({"data": []}, "is empty; there is no conversation to play"),
        (
            {"data": [Conversation(id="c", turns=TALKS[0].turns, asked_from=2)]},
            "has asked_from; a run asks the last turn alone by data.ask: last",
        ),
        ({"data": 5}, "data[0]  is a int, not a replay.Conversation"),
        (
            {"data": [Conversation(id="n", turns=(Turn(id="n#1", question=None),))]},
            'data[0]  conversation "n": Expected `str`, got `null` - at `$.turns[0].question`',
        ),
        ({"data": {"path": TALKS, "format": "native"}}, "conversations from memory are in no format"),
        ({"systems": [{"name": "s", "adapter": "python", "settings": {"target": 5}}]}, "5"),
        ({"drift": {"resolver": Length}}, "a resolver from memory works in this process alone; give 0"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(changes, words):
    with pytest.raises(ScenarioError) as caught:
        assemble(load_scenario(scenario(**changes)))
    assert words in str(caught.value)


def test_a_load_by_several_processes_needs_what_they_can_find():
    load = {"concurrency": 2, "duration_s": 1, "workers": 2}
    with pytest.raises(ScenarioError, match=r"load.workers .* known to this process alone; give 1"):
        assemble(load_scenario(scenario(load=load)))


PROGRAM = """\
import sys, replay
from replay import Conversation, Turn

def answer(question):
    if question == "Why?" and sys.argv[1] == "stop":
        raise KeyboardInterrupt
    return "So."

class Longest:
    signature, unit, is_mean = "longest", "", True
    def observe(self, records):
        return [replay.why_unanswered(r) or float(len(r.answer)) for r in records]
    def combine(self, observed):
        return max(observed)

turns = tuple(Turn(id=q, question=q, gold_answers=("So.",)) for q in ("Who?", "Why?", "When?"))
scenario = {
    "name": "kept", "data": [Conversation(id="c", turns=turns)], "policies": ["gold"],
    "systems": [{"name": "s", "adapter": answer}], "scorers": ["f1", Longest()], "drift": {"nlp_workers": 0},
}
if sys.argv[1] == "stop":
    replay.run(scenario)
else:
    run = replay.resume(sys.argv[1], scenario=scenario)
    print([r.answer for r in run.records()], list(run.scorers()))
"""


def test_another_process_goes_on_when_it_is_given_the_scenario_again(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)

    def program(argument):
        command = [sys.executable, "program.py", argument]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )

    assert program("stop").returncode != 0
    (folder,) = (tmp_path / "runs").iterdir()
    refused = replay_process("resume", str(folder), cwd=tmp_path)
    done = program(str(folder))
    report = replay_cli("report", folder, cwd=tmp_path)

    assert refused.returncode == 2
    assert '"in-memory:answer" was an object of the program that began the run' in refused.stderr
    assert done.stdout.strip() == "['So.', 'So.', 'So.'] ['f1', 'Longest']", done.stderr
    assert report.returncode == 0, report.stderr
    assert "are not shown" not in report.stdout
    assert "Longest  longest" in report.stdout, "the scores of an object are shown without it"


async def test_a_run_is_not_resumed_with_another_scenario(tmp_path):
    run = await run_async(scenario(), runs=tmp_path)
    with pytest.raises(RunError, match="was begun with another scenario"):
        await resume_async(run.folder, scenario=scenario(policies=["pred"]))
    assert (await resume_async(run.folder, scenario=scenario())).outcomes() == {"answered": 3}


@pytest.mark.parametrize(("name", "arguments"), [("run", (scenario(),)), ("resume", ("runs/x",))])
async def test_inside_an_event_loop_one_is_told_to_await(name, arguments, recwarn):
    """A notebook has one; no coroutine is left behind that nobody awaited."""
    with pytest.raises(RuntimeError, match=rf"write `await replay\.{name}_async\(\.\.\.\)`"):
        getattr(replay, name)(*arguments)
    assert not recwarn.list


def test_paths_and_numbers_of_numpy_are_plain_values(tmp_path):
    (tmp_path / "talk.jsonl").write_text('{"id": "a", "turns": [{"question": "Who?"}]}\n')
    content = scenario(data={"path": [Path(tmp_path / "talk.jsonl")]}, play={"timeout_s": np.float32(0.5)})
    assert assemble(load_scenario(content)).file.scenario.play.timeout_s == 0.5
