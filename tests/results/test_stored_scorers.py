"""Scores are shown without their scorers' code: the same numbers, or it is said where there are none."""

from __future__ import annotations

import json
import math
import sqlite3
from shutil import copytree

import pytest

from replay.core.errors import InputError, RunError
from replay.core.settings.plugins import load_object
from replay.results.run import Run, newest_run
from replay.results.scoring import stored_columns
from replay.runs import launch
from replay.scorers.scorer import Unscored
from replay.scorers.stored_scorer import StoredScorer, digest, how_combined
from replay.statistics.comparison import ComparisonSettings
from replay.statistics.depth_table import depth_table
from replay.statistics.paired import policy_gaps
from replay.statistics.run_comparison import comparison_report
from replay.store.reader import DATABASE
from replay.store.store import RunStore
from tests.cli.command import replay_cli

SCORERS = """
from dataclasses import dataclass
from replay import Unscored

@dataclass(frozen=True, kw_only=True)
class Own:
    lower_is_better: bool = False
    unit: str = "share"

    @property
    def signature(self):
        return type(self).__name__.lower()

    def observe(self, records):
        return [self.one(r) if r.answer and len(r.answer) != 4 else Unscored(reason="four") for r in records]

class Mean(Own):
    def one(self, record):
        return len(record.answer) / 10

    def combine(self, observed):
        observed = list(observed)
        return sum(observed) / len(observed)

class Ratio(Own):
    def one(self, record):
        return record.answer.count("a"), len(record.answer)

    def combine(self, observed):
        observed = list(observed)
        return sum(a for a, _ in observed) / sum(n for _, n in observed)

class Longest(Mean):
    def combine(self, observed):
        return max(observed)
"""


@pytest.fixture
def run(played, tmp_path):
    """Each test's own, to be changed."""
    copytree(played, tmp_path, dirs_exist_ok=True)
    return Run(newest_run(tmp_path / "runs"))


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("played")
    (folder / "own.py").write_text(SCORERS + ANSWERS)
    talks = [
        {
            "id": f"talk{n}",
            "turns": [
                {"id": str(depth), "question": f"Question {depth} of {n}?", "gold_answers": ["Yes."]}
                for depth in (1, 2, 3)
            ],
        }
        for n in range(8)
    ]
    (folder / "talks.jsonl").write_text("\n".join(map(json.dumps, talks)))
    (folder / "s.yaml").write_text(
        "name: n\ndata: {path: talks.jsonl}\npolicies: [gold, pred]\n"
        "systems:\n  - {name: s, adapter: 'own.py:Answers'}\n"
        "scorers: [f1, {'own.py:Mean': {lower_is_better: true, unit: s}}, 'own.py:Ratio', 'own.py:Longest']\n"
        "drift: {nlp_workers: 0}\n"
    )
    launch.run(folder / "s.yaml", runs=folder / "runs")
    return folder


ANSWERS = """

from contextlib import nullcontext
from replay import ChatReply

class Answers:
    history = "client"

    def session(self, conversation):
        return nullcontext(self)

    async def ask(self, request):
        known = len(" ".join(one.answer for one in request.history))
        return ChatReply(text="ab ca"[: 1 + (known + sum(map(ord, request.question))) % 4] * request.depth)
"""


def live(run: Run, name: str):
    (entry,) = (one for one in facts(run)["scorers"] if name in one["label"])
    return entry["label"], load_object(entry["name"], run.folder.parents[1])(**entry["settings"])


def facts(run: Run) -> dict[str, object]:
    connection = sqlite3.connect(run.folder / DATABASE)
    try:
        return {key: json.loads(value) for key, value in connection.execute("SELECT * FROM run")}
    finally:
        connection.close()


def change(run: Run, sql: str, *values: object) -> None:
    connection = sqlite3.connect(run.folder / DATABASE)
    try:
        connection.execute(sql, values)
        connection.commit()
    finally:
        connection.close()


def set_fact(run: Run, key: str, value: object) -> None:
    change(run, "UPDATE run SET value = ? WHERE key = ?", json.dumps(value), key)


def alike(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one == other


@pytest.mark.parametrize(("name", "combined"), [("Mean", "mean"), ("Ratio", "ratio")])
@pytest.mark.parametrize("method", ["t", "percentile", "bca"])
async def test_numbers_intervals_and_gaps_are_those_of_the_scorer_itself(
    run, name, combined, method, code_runs
):
    label, scorer = live(run, name)
    (run.folder.parents[1] / "own.py").unlink()
    records, columns = run.scored()
    with_store = RunStore(run.folder)
    own = stored_columns(with_store, records, {label: scorer})
    lengths = with_store.conversation_lengths()
    with_store.close()
    one = {label: columns[label]}

    assert one[label].scorer.combined == combined
    assert (one[label].unit, one[label].lower_is_better) == (scorer.unit, scorer.lower_is_better)
    assert sum(own[label].is_scored(place) for place in range(len(records))) < len(records)
    tables = [
        depth_table(records, scores, lengths, resamples=200, method=method).to_json() for scores in (one, own)
    ]
    gaps = [
        [gap.to_json() for gap in policy_gaps(records, scores, resamples=200, method=method)]
        for scores in (one, own)
    ]
    assert alike(*tables)
    assert alike(*gaps)
    assert gaps[0][0]["rows"][-1]["low"] is not None


async def test_what_is_neither_mean_nor_ratio_is_shown_as_it_was_made_and_that_is_said(run, code_runs):
    label, scorer = live(run, "Longest")
    report = run.report(resamples=50)
    records, scores = run.scored()

    for group in report.table.groups:
        for row in group.rows:
            cell = [
                value
                for record, value in zip(records, scores[label].observed, strict=True)
                if (record.system, record.policy) == (group.group.system, group.group.policy)
                and row.depth in (record.depth, None)
                and not isinstance(value, Unscored)
            ]
            estimate = row.scores[label]
            assert estimate.value == scorer.combine(cell)
            assert (estimate.low, estimate.high) == (None, None)
    assert [one for one in report.remarks if label in one and "entry point" in one]
    sides = [(run.scored_run("a").groups()[0], run.scored_run("b").groups()[1])]
    settings = ComparisonSettings(resamples=10, permutations=10)
    compared = comparison_report(run.scored_run("a"), run.scored_run("b"), sides, settings=settings)
    assert label in compared.left_out
    with pytest.raises(InputError, match="installed under an entry point"):
        comparison_report(run.scored_run("a"), run.scored_run("b"), sides, metrics=[label], settings=settings)


HOSTILE_ENTRIES = {
    "wrong types": {"signature": 3},
    "a way that isn't there": {"combined": "eval"},
    "a text that is endless": {"signature": "x" * 20_000},
    "numbers that are none": {"combined": "kept", "values": {"a": "b"}},
    "code under the name of what is installed": {"combined": "installed", "name": "subprocess:getoutput"},
    "settings that don't fit": {"combined": "installed", "name": "latency", "settings": {"quantile": "a"}},
    "a scorer that isn't installed": {"combined": "installed", "name": "nothing"},
}


@pytest.mark.parametrize("change_to", HOSTILE_ENTRIES.values(), ids=HOSTILE_ENTRIES.keys())
async def test_a_scorer_that_somebody_changed_is_left_out_with_a_sentence(run, change_to):
    entries = facts(run)["scorers"]
    set_fact(run, "scorers", [entries[0], {**entries[1], **change_to}, *entries[2:]])

    report = run.report(resamples=10)

    assert entries[1]["label"] not in report.table.columns
    assert "f1" in report.table.columns
    (remark,) = (one for one in report.remarks if "are not shown" in one)
    assert entries[1]["label"] in remark
    assert len(remark) < 1500


@pytest.mark.parametrize("entries", [{}, {"a": 1}, "x", 3, [3], [None], [{}], [[]]])
async def test_facts_of_another_shape_are_a_sentence(run, entries):
    set_fact(run, "scorers", entries)
    assert not run.scorers()
    assert bool(run.report(resamples=0).remarks) == bool(entries)


@pytest.mark.parametrize(
    "value",
    ['"abc"', "NaN", "1e999", "[1, 2]", "{}", "[" * 100_000, "9" * 10_000, "1e300", ""],
    ids=str.__len__,
)
async def test_a_score_that_somebody_changed_is_a_sentence(run, value):
    change(run, "UPDATE score SET value = ? WHERE scorer = 'f1' AND depth = 2", value)
    with pytest.raises(RunError) as told:
        run.report(resamples=10)
    assert len(str(told.value)) < 1000


@pytest.mark.parametrize(
    ("key", "value"), [("seed", "x"), ("policies", [1]), ("judged", 3), ("scenario", "x")]
)
async def test_other_facts_that_somebody_changed_are_a_sentence(run, key, value):
    if key == "judged":
        change(run, "INSERT INTO run VALUES ('judged', 3)")
    else:
        set_fact(run, key, value)
    changed = Run(run.folder)  # whoever has played a run knows its scenario
    with pytest.raises(RunError):
        (changed.scenario if key == "scenario" else changed.report)()


async def test_markup_in_what_is_stored_is_shown_as_it_stands(run, tmp_path):
    entries = facts(run)["scorers"]
    signature = "[/nope] [link=http://evil.example]here[/link] <script>"
    set_fact(run, "scorers", [{**entries[0], "signature": signature, "unit": "[bold]"}])
    for more in ([], ["--markdown"], ["--html", tmp_path / "page.html"]):
        done = replay_cli("report", run.folder, *more, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        if not more:
            assert signature in done.stdout
    assert "<script>" not in (tmp_path / "page.html").read_text().split("[/nope]", 1)[1][:200]


class Odd:
    """A scorer that combines as it is told to."""

    signature = "odd"

    def __init__(self, number):
        self.combine = number

    def observe(self, records):
        return [0.0] * len(records)


@pytest.mark.parametrize(
    ("number", "cells", "combined"),
    [
        (lambda o: sum(o) / len(o), [[0.5, 1.0], [0.0]], "mean"),
        (lambda o: sum(o) / len(o), [[True, False, True]], "mean"),
        (lambda o: sum(o) / len(o), [], "mean"),
        (sum, [[0.0, 0.0], [0.0]], "kept"),
        (max, [[0.5, 0.5], [0.5]], "kept"),
        (lambda o: sum(o) / len(o) + 1e-7, [[0.5, 1.0]], "kept"),
        (lambda o: sorted(o)[len(o) // 2], [[0.0, 1.0, 1.0, 0.0, 1.0]], "kept"),
        (lambda o: sum(a for a, _ in o) / sum(b for _, b in o), [[[1, 2], [0, 3]]], "ratio"),
        (lambda o: sum(a for a, _ in o) / sum(b for _, b in o), [[[0, 0], [0, 0], [1, 3]]], "ratio"),
        (lambda o: sum(a / b for a, b in o) / len(o), [[[1, 2], [0, 3], [1, 5]]], "kept"),
        (lambda o: sum(a / b for a, b in o) / len(o), [[[1, 2], [1, 2]]], "kept"),
        (lambda o: float(len(o)), [["a", "b"]], "kept"),
    ],
)
def test_how_a_scorer_combines_is_found_out(number, cells, combined):
    assert how_combined(Odd(number), cells) == combined


def test_what_was_kept_is_found_whatever_the_order():
    kept = StoredScorer(
        signature="s", unit="", lower_is_better=False, combined="kept", values={digest([[1, 2], "a"]): 0.5}
    )
    assert kept.combine(["a", [1, 2]]) == 0.5
    assert math.isnan(kept.combine(["a"]))
