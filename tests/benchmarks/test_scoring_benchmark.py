from __future__ import annotations

import pytest

from replay.scorers.bleu import Bleu4
from replay.scorers.operational import latency
from replay.scorers.word_overlap import f1
from tests.benchmarks.programs import load_program


@pytest.fixture(scope="module")
def benchmark():
    return load_program("scoring")


def test_the_same_seed_gives_the_same_turns(benchmark):
    turns = benchmark.synthetic_turns(40, 3)

    assert turns == benchmark.synthetic_turns(40, 3)
    assert turns != benchmark.synthetic_turns(40, 4)
    assert len({(turn.conversation, turn.depth) for turn in turns}) == len(turns) == 40


def test_policies_share_references_and_the_first_answer(benchmark):
    turns = benchmark.synthetic_turns(42, 0, policies=4, declining=0.0)
    same = [turn for turn in turns if turn.conversation == "c0" and turn.depth == 1]

    assert [turn.policy for turn in same] == [f"policy {number}" for number in range(4)]
    assert len({(turn.answer, turn.gold_answers) for turn in same}) == 1
    assert len({turn.answer for turn in turns}) < len(turns) == 42
    assert not any("CANNOTANSWER" in turn.gold_answers for turn in turns)


def test_there_is_a_line_for_each_scorer(benchmark):
    scorers = {"f1": f1(), "bleu4": Bleu4(), "p95": latency(quantile=0.95)}
    lines = list(benchmark.scorer_lines(scorers, benchmark.synthetic_turns(30, 0)))

    assert lines[0] == "30 turns"
    assert [line.split()[0] for line in lines[2:]] == list(scorers)
    assert [line.endswith("not a mean") for line in lines[2:]] == [False, True, True]


def test_light_scorers_are_those_that_need_no_model(benchmark):
    assert {"f1", "em"} <= set(benchmark.light_scorers([]))
    assert not set(benchmark.NEURAL) & set(benchmark.light_scorers([]))
    assert list(benchmark.light_scorers(["f1"])) == ["f1"]
