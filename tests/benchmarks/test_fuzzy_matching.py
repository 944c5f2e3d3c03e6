"""What the page of the scorers says of `fuzzy` holds on the conversations that are shipped."""

from __future__ import annotations

from random import Random

import pytest

from replay.datasets.loading import read_conversations
from replay.scorers.fuzzy import THRESHOLD, fuzzy_match
from tests.benchmarks.programs import load_program


@pytest.fixture(scope="module")
def benchmark():
    return load_program("fuzzy_matching")


@pytest.fixture(scope="module")
def found(benchmark):
    files = sorted(benchmark.SHIPPED.glob("*.jsonl"))
    read = list(read_conversations(files, reader=None, on_bad=None, limit=None))
    made = [*benchmark.pairs(read, Random(1)), *benchmark.most_alike(read, Random(1))]
    return {pair: fuzzy_match(pair.answer, pair.gold) for pair in made}


def test_facts_tell_right_answers_from_wrong_ones_and_letters_dont(benchmark, found):
    right, wrong = benchmark.mean_shares({pair: match.reaches(THRESHOLD) for pair, match in found.items()})
    letters = benchmark.mean_shares({pair: match.ratio >= THRESHOLD for pair, match in found.items()})

    assert right > 0.99
    assert wrong < 0.01
    assert letters[1] > 0.7


def test_the_default_threshold_is_where_they_are_told_apart_best(benchmark, found):
    def apart(threshold):
        right, wrong = benchmark.mean_shares({p: match.reaches(threshold) for p, match in found.items()})
        return right - wrong

    assert apart(THRESHOLD) == max(map(apart, benchmark.THRESHOLDS))


def test_comparing_facts_parts_no_question_from_what_people_made_of_it(benchmark, found):
    questions = [match for pair, match in found.items() if pair.kind == benchmark.QUESTIONS]

    assert len(questions) > 100
    assert all(match.differs is None for match in questions if match.ratio >= THRESHOLD)
    assert sum(match.differs is not None for match in questions) <= 0.02 * len(questions)
