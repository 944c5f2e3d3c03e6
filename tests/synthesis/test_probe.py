"""Dialogues whose drift is known by construction."""

import json
import random
import shutil

from replay.runs.launch import run_async
from replay.scenario.shipped import find_scenario, shipped_folder
from replay.synthesis.documents.read import read_documents
from replay.synthesis.pool import pool_of
from replay.synthesis.probe import drift_probe
from tests.cli.command import replay_cli


def probe(documents):
    areas = pool_of(read_documents([documents]), least=1).areas
    return list(drift_probe(areas, random.Random(0)))


def test_what_each_answer_does_to_the_next_question_is_known(pages):
    dialogues = probe(pages)
    assert len(dialogues) == 16  # eight pages with two parameters each
    outcomes = set()
    for dialogue in dialogues:
        first, *later = dialogue["turns"]
        assert first["means_the_same"] is None
        for turn in later:
            (key,) = turn["leans_on"]
            assert key in first["gold_answer"]
            assert key in turn["standalone"]
            assert key not in turn["question"]
            own = turn["leans_on_own"]
            assert all(name in first["own_answer"] and name != key for name in own)
            assert turn["means_the_same"] is (key in first["own_answer"])
            assert turn["rewrite_names"] == (None if turn["means_the_same"] else [key])
            outcomes.add((turn["means_the_same"], bool(own)))
    assert outcomes == {(True, False), (False, True), (False, False)}


def test_a_probe_is_written_beside_the_conversations(documents, tmp_path):
    arguments = ("synthesize", "docs", "-n", "4", "--turns", "4", "--drift-probe", "probe.json")
    done = replay_cli(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "probe.json").read_text("utf-8"))
    assert [one["turns"] for one in written] == [one["turns"] for one in probe(documents)]
    assert "probe.json: 16 dialogues" in done.stdout


def test_the_shipped_probe_is_what_its_tables_give(tmp_path):
    shipped = shipped_folder() / "drift"
    shutil.copy(shipped / "tables.md", tmp_path)
    given = ("tables.md", "-n", "1", "--turns", "1", "--found-by", "none", "--drift-probe", "dialogues.jsonl")
    done = replay_cli("synthesize", *given, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("dialogues.jsonl", "dialogues.answers.json"):
        assert (tmp_path / name).read_text("utf-8") == (shipped / name).read_text("utf-8")


async def test_the_shipped_probe_is_judged_by_what_is_known(tmp_path):
    run = await run_async(find_scenario("drift-probe"), runs=tmp_path)
    passed = {
        name: [one.passed for one in run.checks() if one.called == name] for name in ("changed", "same")
    }
    assert {name: len(one) for name, one in passed.items()} == {"changed": 36, "same": 24}
    for column, least in (("changed", 0.9), ("same", 0.9)):
        assert sum(passed[column]) >= least * len(passed[column])
