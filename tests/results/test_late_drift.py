"""Drift under ``pred`` is detected after the turns: as it would be before them, and once."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter

import pytest

import replay
from replay.core.errors import RunError
from replay.report.load_document import drift_sentences
from replay.report.notes import notes
from replay.results.run import Run, newest_run
from replay.runs.launch import resume_async, run_async
from replay.store.store import RunStore
from tests.load.processes import replaying
from tests.load.scenes import scenario
from tests.workers.inside import started_inside

RESOLVER = """
import os, signal
from pathlib import Path
from replay.core.drift_evidence import Mention, Reading

class Noting:
    \"\"\"Reads "that" as the newest answer; notes what it reads, and dies or fails when told to.\"\"\"
    signature = "noting"
    worth_caching = True
    def __init__(self, folder: Path):
        self.folder = folder
    def resolve(self, documents):
        raise NotImplementedError
    def read(self, documents):
        return [self.one(document) for document in documents]
    def one(self, document):
        deadly = self.folder / "deadly"
        if deadly.exists() and len(self.noted()) >= int(deadly.read_text()):
            os.kill(os.getpid(), signal.SIGKILL)
        with (self.folder / "read").open("a") as file:
            file.write(document.text() + "\\n")
        said = document.turns[-1].answer if document.turns else None
        return (Reading(mention=Mention(start=0, end=4, text="Then", kind="other"), antecedent=said),)
    def noted(self):
        path = self.folder / "read"
        return path.read_text().splitlines() if path.exists() else []
"""
TALKS = [
    {
        "id": name,
        "turns": [{"question": f"Then {name} {n}?", "gold_answers": [f"{name}{n}"]} for n in range(4)],
    }
    for name in "abcdef"
]
WRONG = {"settings": {"answers": ["a0", "wrong", "b2", "other"]}}
"""The answers of every conversation; recorded like this are the first of "a" and the third of "b"."""


def made(folder, load=None, *, policies=("pred",), **changes):
    (folder / "noting.py").write_text(RESOLVER)
    (folder / "read").unlink(missing_ok=True)
    changes = {"drift": {"resolver": "noting.py:Noting", "nlp_workers": 0}, **changes}
    return scenario(folder, load, talks=TALKS, policies=list(policies), **WRONG, **changes)


def read(folder):
    return (folder / "read").read_text().splitlines()


def own(name, depth):
    """The own history and the question of that turn, as a resolver reads them."""
    answers = WRONG["settings"]["answers"][: depth - 1]
    said = [f"Then {name} {n}? {answer}" for n, answer in enumerate(answers)]
    return " ".join([*said, f"<Q> Then {name} {depth - 1}?"])


def verdicts(run):
    return {(r.conversation, r.policy, r.depth): r.drift and r.drift.valid for r in run.records()}


async def test_verdicts_are_those_that_a_loop_of_ones_own_gets_before_it_asks(tmp_path):
    run = await run_async(made(tmp_path), runs=tmp_path / "runs")
    records = run.records()
    conversations = {one.id: one for one in run.conversations()}
    drift = {"resolver": str(tmp_path / "noting.py:Noting")}
    async with replay.drive("pred", drift=drift, system="s", folder=tmp_path) as loop:
        for name in "abcdef":
            play = loop.begin(conversations[name])
            for record in (one for one in records if one.conversation == name):
                await play.next_turn()
                play.answered(record.answer)

    assert [record.drift for record in records] == [record.drift for record in loop.records]
    assert Counter(verdicts(run).values()) == {True: 8, False: 16}


@pytest.mark.parametrize("workers", [1, 2])
async def test_each_document_is_read_once_for_all_plays(tmp_path, workers, monkeypatch):
    started_inside(monkeypatch)
    play = {"workers": workers, "repeats": 2}
    run = await run_async(made(tmp_path, policies=["gold", "pred"], play=play), runs=tmp_path / "runs")

    assert {policy for (_, policy, _), valid in verdicts(run).items() if valid is not None} == {"pred"}
    assert len(read(tmp_path)) == len(set(read(tmp_path)))


async def test_a_later_run_of_the_same_data_reads_no_recorded_side_again(tmp_path):
    await run_async(made(tmp_path), runs=tmp_path / "runs")
    first = read(tmp_path)
    run = await run_async(made(tmp_path), runs=tmp_path / "runs")
    recorded = {
        " ".join(
            [
                *(f"{t['question']} {t['gold_answers'][0]}" for t in talk["turns"][:n]),
                f"<Q> {turn['question']}",
            ]
        )
        for talk in TALKS
        for n, turn in enumerate(talk["turns"])
    }

    assert recorded <= set(first)
    assert not recorded.intersection(read(tmp_path))
    assert None not in verdicts(run).values()


async def test_a_run_killed_while_drift_is_detected_goes_on_where_it_stood(tmp_path):
    made(tmp_path)
    (tmp_path / "deadly").write_text("30")
    async with replaying("run", "load.yaml", folder=tmp_path) as command:
        code, _, _ = await command.ended()
    assert code == -signal.SIGKILL
    folder = newest_run(tmp_path / "runs")
    (tmp_path / "deadly").unlink()
    before, left = read(tmp_path), verdicts(Run(folder))
    (waiting,) = [note for note in notes(Run(folder).report()) if "looked at for drift" in note]
    answers = [record.answer for record in Run(folder).records()]
    run = await resume_async(folder)

    assert 0 < sum(valid is None for valid in left.values()) < 24
    assert waiting.startswith(f"{sum(valid is None for valid in left.values())} turns are still")
    assert all(valid == verdicts(run)[turn] for turn, valid in left.items() if valid is not None)
    assert None not in verdicts(run).values()
    assert [record.answer for record in run.records()] == answers
    assert not any("looked at for drift" in note for note in notes(run.report()))
    kept = {own(name, depth) for (name, _, depth), valid in left.items() if valid is False}
    assert kept
    assert not kept.intersection(read(tmp_path)[len(before) :]), "no verdict that was kept is given again"


LOAD = {"concurrency": 2, "turns": 120}


async def sampled(folder, size=40, **more):
    file = made(
        folder, LOAD, drift={"resolver": "noting.py:Noting", "nlp_workers": 0, "load_sample": size}, **more
    )
    return await run_async(file, runs=folder / "runs")


def judged(run):
    return {turn for turn, valid in verdicts(run).items() if valid is not None}


async def test_of_a_load_run_as_many_turns_are_judged_as_are_asked_for_and_the_share_is_told(tmp_path):
    run = await sampled(tmp_path)
    (share,) = run.load_summary().drift
    (sentence,) = drift_sentences(run.load_summary())

    assert len(judged(run)) == share.sample == 40
    assert share.turns == len(run.records()) >= 120
    drifted = sum(valid is False for valid in verdicts(run).values())
    assert share.invalid.value == drifted / 40
    assert share.invalid.low < share.invalid.value < share.invalid.high
    assert sentence.endswith(f"no longer mean the same, by 40 drawn of {share.turns} turns.")


async def test_without_a_size_all_are_judged(tmp_path):
    run = await sampled(tmp_path, size=None)
    (share,) = run.load_summary().drift

    assert share.sample == share.turns == len(run.records())
    assert "by all" in drift_sentences(run.load_summary())[0]


async def test_a_load_run_interrupted_while_drift_is_detected_is_resumed_with_the_same_sample(tmp_path):
    run = await sampled(tmp_path)
    kept = judged(run)
    store = RunStore(run.folder, write=True)
    store._writing.post(
        "UPDATE turn SET drift = NULL, valid = NULL WHERE rowid IN"
        " (SELECT rowid FROM turn WHERE drift IS NOT NULL LIMIT 15)",
        (),
    )
    store.set_fact("finished", False)
    store.close()
    assert len(judged(run)) == 25
    read_before, answered = len(read(tmp_path)), len(run.records())
    resumed = await resume_async(run.folder)

    assert judged(resumed) == kept
    assert len(resumed.records()) == answered
    assert 0 < len(read(tmp_path)) - read_before <= 2 * 15


async def test_a_load_interrupted_before_it_was_over_is_not_taken_up(tmp_path):
    file = made(tmp_path, {"concurrency": 2, "duration_s": 60})
    run = asyncio.create_task(run_async(file, runs=tmp_path / "runs"))
    while not list(tmp_path.glob("runs/*/run.db")):
        await asyncio.sleep(0)
    run.cancel()
    await asyncio.wait([run])
    with pytest.raises(RunError, match="can't be taken up again"):
        await resume_async(newest_run(tmp_path / "runs"))
