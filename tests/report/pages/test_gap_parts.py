"""What the gap between gold and reality is made of, on numbers that can be done by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.report.pages.gap_parts import Gap
from replay.report.pages.gap_view import parts_sentence
from replay.scorers.token_f1 import f1
from replay.statistics.group import Group
from replay.statistics.score_column import ScoreColumn

COLUMN = ScoreColumn(scorer=f1(), observed=())
GOLD, PRED, REWRITE = (Group("s", policy) for policy in ("gold", "pred", "rewrite"))


def gap(observed, **more):
    return Gap(score="f1", column=COLUMN, observed=observed, seed=1, **more)


def sides(gold, pred, rewrite):
    turns = [(f"c{n // 2}", n % 2 + 1) for n in range(len(gold))]
    return {g: dict(zip(turns, v, strict=True)) for g, v in ((GOLD, gold), (PRED, pred), (REWRITE, rewrite))}


def test_what_rewriting_repairs_and_what_is_left():
    (parts,) = gap(sides([1, 1, 1, 1], [0, 0, 1, 0.5], [1, 0, 1, 0.5])).parts()
    assert parts.means == (1.0, 0.375, 0.625)
    assert (parts.gap.value, parts.repaired.value, parts.left.value) == (0.625, 0.25, 0.375)
    assert (parts.turns, parts.conversations) == (4, 2)


def test_only_turns_with_a_score_under_all_three_count():
    observed = sides([1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0])
    del observed[REWRITE]["c0", 1]
    (parts,) = gap(observed).parts()
    assert parts.turns == 3
    assert parts.gap.value == pytest.approx(1 / 3)


shares = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=6, max_size=6)


@given(shares, shares, shares, st.sets(st.integers(0, 5)))
def test_the_parts_add_up_to_the_gap(gold, pred, rewrite, bad):
    observed = sides(gold, pred, rewrite)
    (parts,) = gap(observed, resamples=20).parts()
    assert parts.repaired.value + parts.left.value == pytest.approx(parts.gap.value)
    turns = list(observed[GOLD])
    drifted = {"s": {turns[n] for n in bad}}
    (split,) = gap(observed, resamples=20).by_verdict(drifted)
    assert split.on_drifted.value + split.on_valid.value == pytest.approx(split.gap.value)
    assert split.gap.value == pytest.approx(parts.gap.value)
    assert split.drifted_turns == len(bad)


def test_a_gap_that_could_be_chance_is_not_explained():
    (parts,) = gap(sides([1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 1, 1])).parts()
    assert "could be chance" in parts_sentence(parts)


def test_a_repaired_gap_is_said_to_be_drift():
    many = [1.0] * 40
    (parts,) = gap(sides(many, [0.0] * 40, [0.5] * 40)).parts()
    said = parts_sentence(parts)
    assert "repairs 50 % of the gap" in said
    assert "wrong answers" in said


def test_without_all_three_policies_there_are_no_parts():
    observed = sides([1, 1], [0, 0], [1, 0])
    del observed[PRED]
    assert gap(observed).parts() == []


def test_plays_of_one_conversation_are_drawn_together():
    observed = sides([1, 1, 1, 1], [0, 0, 1, 0.5], [1, 0, 1, 0.5])
    (parts,) = gap(observed, sources={"c1": "c0"}).parts()
    assert parts.conversations == 1
    assert parts.gap.value == 0.625
    assert parts.gap.low is None
