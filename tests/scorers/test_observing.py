"""What a scorer does wrong is said with the first turn that it goes wrong at."""

from __future__ import annotations

import json

import pytest

from replay.core.errors import PluginError
from replay.scorers.observing import combine, observe, smoke_test
from replay.scorers.scorer import Unscored
from replay.statistics.score_column import ScoreColumn
from replay.testing import turn


class Words:
    """Words in the answer; whatever goes wrong is put in its place."""

    signature = "words"

    def __init__(self, **wrong):
        self.wrong = wrong

    def observe(self, records):
        found = [self.wrong.get(r.answer, float(len((r.answer or "").split()))) for r in records]
        for one in found:
            if isinstance(one, Exception):
                raise one
        return found

    def combine(self, observed):
        if self.wrong.get("combined") == "nothing":
            return None
        return self.wrong.get("combined", 1.0)


TURNS = [turn("a b", depth=1), turn("bad", depth=2, conversation="c7"), turn("c", depth=3)]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (ValueError("no"), r'"w" fails at turn 2 of conversation "c7" \(system "s", policy "pred"\): Value'),
        (float("inf"), 'gives inf for turn 2 of conversation "c7"'),
        ((1, {2}), r"gives \(1, \{2\}\) for turn 2 .* kept as JSON"),
        ([float("nan")], r"gives \[nan\] for turn 2"),
    ],
)
def test_the_turn_is_named(bad, words):
    with pytest.raises(PluginError, match=words):
        observe("w", Words(bad=bad), TURNS)


@pytest.mark.parametrize("fine", [1.0, 0, True, "b", [1, 2], {"a": [1.5]}, Unscored(reason="why")])
def test_json_values_and_reasons_are_fine(fine):
    assert observe("w", Words(bad=fine), TURNS) == [2.0, fine, 1.0]


class Parsing(Words):
    def observe(self, records):
        return [json.loads(record.answer) for record in records]


def test_the_line_is_the_plug_ins_own_and_not_that_of_what_it_calls():
    line = Parsing.observe.__code__.co_firstlineno + 1
    with pytest.raises(PluginError, match=rf"\(test_observing\.py, line {line}\)"):
        observe("w", Parsing(), TURNS)


def test_an_error_of_ours_comes_through_as_it_is():
    """A scorer that says itself what it lacks."""
    with pytest.raises(PluginError, match=r"^no model$"):
        observe("w", Words(bad=PluginError("no model")), TURNS)


@pytest.mark.parametrize("combined", ["nothing", "text", float("-inf")])
def test_what_is_no_number_is_none(combined):
    with pytest.raises(PluginError, match=r'scorer "words" .*\[1.0, 2.0\]'):
        combine(Words(combined=combined), [1.0, 2.0])


def test_nan_stands_for_what_is_not_defined():
    assert combine(Words(combined=float("nan")), [1.0]) != 0.0


def test_a_column_says_what_its_scorer_does_wrong():
    column = ScoreColumn(scorer=Words(combined="text"), observed=[1.0, 2.0])
    with pytest.raises(PluginError, match="fails to combine"):
        column.value([0, 1])


class Heavy(Words):
    """It would load a model to score an answer."""

    def check_installed(self):
        pass

    def observe(self, records):
        assert all(r.answer is None for r in records)
        return [Unscored(reason="not answered")] * len(records)


def test_one_that_may_need_a_model_is_tried_with_turns_that_have_no_answer():
    smoke_test("heavy", Heavy())
    with pytest.raises(PluginError, match="tried with made-up turns"):
        smoke_test("w", Words(combined="text"))
