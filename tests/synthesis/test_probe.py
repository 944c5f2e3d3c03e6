"""Dialogues whose drift is known by construction."""

import json
import random

from replay.synthesis.documents.read import read_documents
from replay.synthesis.pool import pool_of
from replay.synthesis.probe import drift_probe
from tests.cli.command import replay_cli


def probe(documents):
    areas = pool_of(read_documents([documents]), least=1).areas
    return list(drift_probe(areas, random.Random(0)))


def test_what_each_answer_does_to_the_next_question_is_known(documents):
    dialogues = probe(documents)
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
