"""Only the last turns asked, after the recorded history: over HTTP, resumed, asked again, judged."""

from __future__ import annotations

import json

import pytest
import yaml

from replay.core.errors import ScenarioError
from replay.runs.launch import resume_async, run_async
from replay.runs.rerun import rerun_async
from replay.scenario.assembly import assemble
from replay.scenario.reading import read_scenario
from replay.testing import chat_server
from tests.cli.command import replay_cli
from tests.runs.scenes import playing

QUESTIONS = {"a": ["Who?"], "b": ["Who?", "Why?", "When?"], "c": ["Who?", "Where?"]}
LAST = [("a", 1), ("b", 3), ("c", 2)]


@pytest.fixture
def folder(tmp_path):
    talks = []
    for name, questions in QUESTIONS.items():
        turns = [{"question": f"{name}: {q}", "gold_answer": f"{name} said {q}"} for q in questions]
        talks.append({"id": name, "turns": turns, "metadata": {"look_for": f"criterion of {name}"}})
    del talks[1]["turns"][1]["gold_answer"]  # it can't stand in the history
    del talks[2]["turns"][1]["gold_answer"]  # as in MultiChallenge: asked, unscored
    (tmp_path / "talks.jsonl").write_text("".join(json.dumps(one) + "\n" for one in talks), "utf-8")
    return tmp_path


def scenario(folder, system, **changes):
    data = {"path": str(folder / "talks.jsonl"), "ask": "last"}
    return playing(folder, system, data=data, scorers=["em"], play={"attempts": 1}, **changes)


def places(run):
    return [(record.conversation, record.depth) for record in run.records()]


async def test_only_the_last_turn_is_asked_and_keeps_its_depth(folder):
    async with chat_server() as server:
        server.answers = {"a: Who?": "a said Who?"}
        run = await run_async(scenario(folder, server.system), runs=folder / "runs")

    assert sorted(server.asked.elements()) == ["a: Who?", "b: When?", "c: Where?"]
    assert places(run) == LAST
    table = run.depth_table(resamples=0)
    assert list(table["depth"].dropna()) == [1, 2, 3]
    assert list(table["turns"]) == [1, 1, 1, 3]
    assert set(table["unreached"]) == {0}
    assert list(run.turns()["em"].fillna(-1)) == [1.0, 0.0, -1]


async def test_the_history_is_the_recorded_one(folder):
    (folder / "mine.py").write_text(
        "def answer(question, history):\n    return ' '.join(e.answer for e in history) or 'nothing'\n"
    )
    system = {"name": "s", "adapter": "python", "settings": {"target": str(folder / "mine.py") + ":answer"}}
    run = await run_async(scenario(folder, system), runs=folder / "runs")

    assert [record.answer for record in run.records()] == ["nothing", "b said Who?", "c said Who?"]


async def test_a_finished_run_has_nothing_to_resume_and_asks_a_failed_turn_again(folder):
    async with chat_server() as server:
        server.broken = {"b: When?"}
        run = await run_async(scenario(folder, server.system), runs=folder / "runs")
        assert run.outcomes() == {"answered": 2, "refused": 1}
        await resume_async(run.folder)
        assert sum(server.asked.values()) == 3
        server.broken = set()
        await rerun_async(run.folder, only=["failed"])

    assert run.outcomes() == {"answered": 3}
    assert (sum(server.asked.values()), places(run)) == (4, LAST)


async def test_a_judge_sees_the_recorded_history(folder):
    (folder / "judge.txt").write_text(
        "{% for e in history %}{{ e.answer }} {% endfor %}| {{ question }} {{ predicted }}"
        " {{ conversation.metadata.look_for }}"
    )
    judge = {
        "correctness": {
            "adapter": "scripted",
            "settings": {"answers": ["yes"]},
            "prompt": str(folder / "judge.txt"),
        }
    }
    system = {"name": "s", "adapter": "scripted", "settings": {"answers": {"b": ["", "", "So."]}}}
    run = await run_async(scenario(folder, system, judges=[judge]), runs=folder / "runs")

    (case,) = [one for one in run.verdicts("correctness") if one.conversation == "b"]
    assert "b said Who? | b: When? So. criterion of b" in str(case)


@pytest.mark.parametrize("policy", ["pred", "rewrite", "replace", "filter"])
def test_policies_that_show_own_answers_are_refused(folder, policy):
    system = {"name": "s", "adapter": "scripted"}
    (folder / "s.yaml").write_text(yaml.safe_dump(scenario(folder, system, policies=["gold", policy])))
    with pytest.raises(ScenarioError) as caught:
        assemble(read_scenario(folder / "s.yaml"))

    assert (
        f'"{policy}" shows the system its own answers, and with data.ask: last it has given none; use "gold"'
        in str(caught.value)
    )


def test_a_system_that_keeps_the_history_is_refused(folder):
    system = {"name": "s", "adapter": "scripted", "settings": {"history": "server"}}
    (folder / "s.yaml").write_text(yaml.safe_dump(scenario(folder, system, policies=["augment"])))
    with pytest.raises(ScenarioError, match='"last" asks after the recorded history, but "s" keeps its own'):
        assemble(read_scenario(folder / "s.yaml"))


def test_validate_and_dry_run_count_what_will_be_asked(folder):
    system = {"name": "s", "adapter": "scripted"}
    (folder / "s.yaml").write_text(yaml.safe_dump(scenario(folder, system, policies=["gold", "augment"])))
    told = replay_cli("validate", "s.yaml", cwd=folder).stdout

    assert "3 conversations, 3 turns" in told
    assert "after 3 turns that are shown as recorded, 1 of them left out for want of an answer" in told
    assert "6 questions at most (3 turns" in replay_cli("run", "s.yaml", "--dry-run", cwd=folder).stdout
