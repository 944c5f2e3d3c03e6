"""A run from the command line reads its scenario, builds its scorers and opens its database once."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from replay.scenario import reading
from tests.cli.command import replay_cli

SCENARIO = """
name: once
data: {path: talk.jsonl}
systems: [{name: a, adapter: scripted, settings: {answers: gold}}]
policies: [gold]
scorers: [{"counted.py:Counted": {}}]
"""
SCORER = """
from pathlib import Path

class Counted:
    unit, signature, lower_is_better = "turn", "counted", False

    def __init__(self):
        with Path(__file__).with_name("built").open("a") as file:
            file.write("x")

    def observe(self, records):
        return [1.0 for _ in records]

    def combine(self, observed):
        return sum(observed) / len(observed)
"""


@pytest.fixture
def counts(monkeypatch):
    counts = Counter()

    def counting(module, name, what):
        real = getattr(module, name)

        def counted(*args, **kwargs):
            counts[what(*args, **kwargs)] += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(module, name, counted)

    counting(reading, "parse", lambda text: "parsed")
    counting(sqlite3, "connect", lambda path, **_: Path(path).name)
    return counts


@pytest.mark.parametrize("options", [(), ("--limit", "1", "--repeats", "2", "--skip-bad")])
def test_a_run_makes_each_thing_once(tmp_path, counts, options):
    (tmp_path / "talk.jsonl").write_text(
        '{"id": "c", "turns": [{"question": "Who?", "gold_answer": "Me."}]}\n'
    )
    (tmp_path / "once.yaml").write_text(SCENARIO)
    (tmp_path / "counted.py").write_text(SCORER)
    done = replay_cli("run", "once.yaml", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "built").read_text()) == 1
    # Opened to read and to write while it is played, then to look at it as a run, and for all that is shown.
    del counts[":memory:"]
    assert counts == {"parsed": 1, "run.db.unfinished": 1, "run.db": 4}
