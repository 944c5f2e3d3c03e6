"""
What became of checks, kept in a run's database and read again.

A kept reply is read as it was kept, or it is said why not.

Steps of turns under way, kept until the turn has its record.
"""

from __future__ import annotations

import zlib
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

import replay
from replay.core.errors import RunError
from replay.core.message import Message, ToolCall
from replay.core.record import Step, UnfinishedTurn, Usage
from replay.results.run import Run
from replay.statistics.checks import count_checks
from replay.statistics.depth_table import depth_table
from replay.statistics.paired import policy_gaps
from replay.store import rows, schema
from replay.store.page_queries import RunBrowser
from replay.store.rows import raw_reply
from replay.store.store import RunStore
from tests.cli.command import replay_cli
from tests.report.sample_checks import check
from tests.store.test_store import record
from tests.viewer.runs import make_run, record as played_turn, talk

PASSED = check("c1", 2, "+", system="s", value=["a", "é"], evidence="found a", asked=None, answer=None)
UNREACHED = replace(PASSED, depth=3, called="half \ud800", passed=None, reason="never reached", evidence=None)


def test_checks_come_back_as_they_were_and_a_later_one_takes_its_place(tmp_path: Path) -> None:
    with_facts = RunStore.create(tmp_path / "run", {})
    with_facts.add_checks([UNREACHED, PASSED])
    with_facts.add_checks([replace(PASSED, passed=False, evidence="only b")])
    with_facts.settle()

    assert list(with_facts.checks()) == [replace(PASSED, passed=False, evidence="only b"), UNREACHED]
    with_facts.close()


def test_checks_come_with_the_turns_that_they_were_made_of(tmp_path: Path) -> None:
    """In the data's order; a turn that was never reached has no texts."""
    later = replace(PASSED, conversation="b", depth=1)
    folder = make_run(
        tmp_path / "run",
        [talk("c1"), talk("b")],
        [played_turn("c1", 2, "pred", answer="é", system="s"), played_turn("b", 1, "pred", system="s")],
        {},
    )
    store = RunStore(folder, write=True)
    store.add_checks([later, UNREACHED, PASSED])
    store.settle()
    store.close()
    browser = RunBrowser(folder)
    found = Run(folder).checks()

    assert [(one.conversation, one.depth, one.asked, one.answer) for one in found] == [
        ("c1", 2, "Question 2?", "é"),
        ("c1", 3, None, None),
        ("b", 1, "Question 1?", "Yes."),
    ]
    assert [one.verdict for one in found] == ["passed", "not looked at", "passed"]
    assert found[1].columns == ["check", "check.contains", "check.half \ud800"]
    assert browser.checks("b") == found[2:]
    assert Run(folder).report(resamples=10).checks == count_checks(found)
    browser.close()


def stored(data):
    return ("2026-03-01", "c", "s", "gold", 1, 1, "answered", 9, 0, data)


def test_a_reply_comes_back_as_it_was():
    assert raw_reply(stored(zlib.compress(b"Yes."))).data == b"Yes."


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (zlib.compress(bytes(1001)), "larger than any can be"),
        (zlib.compress(b"Yes.")[:-3], "is cut"),
        (b"no stream", "incorrect header"),
        (None, "can't be read"),
    ],
)
def test_what_somebody_put_in_its_place_is_told(data, why, monkeypatch):
    """A few bytes of a folder that was sent could come to gigabytes."""
    monkeypatch.setattr(rows, "LARGEST_BYTES", 1000)
    with pytest.raises(RunError, match=why):
        raw_reply(stored(data))


PLACE = ("c \ud800", "s", "pred", 2)
CALL = ToolCall(id="1", name="find \udc80", arguments="{")
STEPS = (
    Step(
        message=Message(role="assistant", tool_calls=(CALL,)),
        times_s=(0.0, 1.5),
        attempts=2,
        usage=Usage(prompt_tokens=3),
        cost_usd=0.5,
    ),
    Step(message=Message(role="tool", text="half \ud800", tool_call_id="1"), times_s=(1.5, 1.5)),
)


async def test_steps_come_back_as_they_were_until_the_turn_has_its_record(tmp_path):
    store = RunStore.create(tmp_path / "run", {})
    assert not store.has_begun_turns()
    for number, step in enumerate(STEPS):
        await store.write_step(PLACE, number, "Where \ud800?", step)
    assert store.has_begun_turns()
    assert store.begun_turn(PLACE) == UnfinishedTurn(asked="Where \ud800?", steps=STEPS)
    assert store.begun_turn((*PLACE[:3], 3)) is None
    store.close()


async def test_a_question_put_another_way_begins_with_no_steps_but_its_own(tmp_path):
    store = RunStore.create(tmp_path / "run", {})
    for number, step in enumerate(STEPS):
        await store.write_step(PLACE, number, "Where?", step)
    await store.write_step(PLACE, 0, "Where is Ann?", STEPS[0])
    assert store.begun_turn(PLACE) == UnfinishedTurn(asked="Where is Ann?", steps=STEPS[:1])
    store.close()


@pytest.mark.parametrize("asked_again", [False, True])
async def test_the_record_of_a_turn_takes_the_place_of_its_steps_and_of_no_other_ones(tmp_path, asked_again):
    store = RunStore.create(tmp_path / "run", {})
    found = record(conversation=PLACE[0], depth=2, steps=tuple(step.message for step in STEPS))
    found = msgspec.structs.replace(found, asks=2, step_times_s=((0.0, 1.5), (1.5, 1.5), (2.0, 3.25)))
    for number, step in enumerate(STEPS):
        await store.write_step(PLACE, number, "Where?", step)
    await store.write_step((*PLACE[:3], 3), 0, "And then?", STEPS[0])
    await (store.replace(found, "rerun", and_later=False) if asked_again else store.write(found))
    assert store.begun_turn(PLACE) is None
    assert store.begun_turn((*PLACE[:3], 3)) is not None
    assert list(store.records_of(*PLACE[:3])) == [found]
    store.close()


TALKS = Path(__file__).parents[2] / "scenarios" / "conversations" / "music.jsonl"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    """Drift judged and not, edits, failures, skipped turns."""
    scenario = {
        "name": "outlined",
        "data": {"path": str(TALKS), "limit": 3},
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
    for kept, outline in zip(records, outlines, strict=True):
        assert (outline.drift and outline.drift.valid) == (kept.drift and kept.drift.valid)

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
