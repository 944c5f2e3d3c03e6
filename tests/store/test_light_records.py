from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import replay
from replay.results.run import Run
from replay.statistics.depth_table import depth_table
from replay.statistics.paired import policy_gaps
from replay.store import schema
from replay.store.store import RunStore
from tests.cli.command import replay_cli

TALKS = Path(__file__).parents[2] / "scenarios" / "conversations" / "music.jsonl"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    """Drift judged and not, edits, failures, skipped turns."""
    scenario = {
        "name": "outlined",
        "data": {"path": str(TALKS), "limit": 6},
        "systems": [
            {"name": "s", "adapter": "extractive"},
            {"name": "broken", "adapter": "scripted", "settings": {"answers": {"*": ["a"]}}},
        ],
        "policies": ["gold", "pred", "rewrite", "filter"],
        "drift": {"nlp_workers": 0},
        "play": {"attempts": 1},
    }
    return replay.run(scenario, runs=tmp_path_factory.mktemp("runs"))


def test_an_outline_has_all_that_tables_count(run):
    records, columns = run.scored()
    with closing(RunStore(run.folder)) as store:
        outlines, lengths = list(store.outlines()), store.conversation_lengths()
    assert {record.outcome for record in records} >= {"answered", "skipped"}
    assert any(record.failed for record in records)
    for record, outline in zip(records, outlines, strict=True):
        assert (outline.drift and outline.drift.valid) == (record.drift and record.drift.valid)

    both = [(records, columns), (outlines, columns)]
    tables = [depth_table(*one, lengths, only_last=False, resamples=50, seed=0) for one in both]
    assert tables[0].to_json() == tables[1].to_json()
    gaps = [list(policy_gaps(*one, resamples=50, seed=0)) for one in both]
    assert gaps[0] == gaps[1]


def test_a_report_reads_no_texts_and_an_export_no_two_turns_at_a_time(run, monkeypatch):
    def read(row):
        raise AssertionError("a whole record was read")

    with run.scored_one_by_one() as (records, scores):
        assert iter(records) is records
        assert all(len(one.observed) == run.state().records for one in scores.values())
    shown = replay_cli("export", str(run.folder), "--format", "jsonl", cwd=run.folder)
    assert len(shown.stdout.splitlines()) == run.state().records
    monkeypatch.setattr(schema, "row_record", read)
    assert run.report(resamples=10).table.groups
    assert len(run.depth_table(resamples=10))
    with run.scored_one_by_one():  # the columns, before any record is asked for
        pass
