"""From the network's numbers to the two decisions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.reading import decisions
from replay.coreference.reading.decisions import (
    Logistic,
    apart,
    edit_features,
    lost,
    verdict_features,
    words_of,
)
from replay.coreference.reading.network import WEIGHTS
from tests.coreference.reading.made_up import document
from tests.data_tables import from_table


def reading(*distribution, kind="she", text="she", source="answer"):
    mention = Mention(start=4, end=4 + len(text), text=text, kind=kind)
    return Reading(mention=mention, antecedent=None, source=source, distribution=distribution)


def test_a_logistic_weighs_its_features():
    weighed = Logistic(coefficients=(2.0, -1.0), intercept=0.5)

    assert weighed.probability([0, 0.5]) == 0.5
    assert weighed.probability([1, 0]) == pytest.approx(1 / (1 + math.exp(-2.5)))
    assert weighed.probability([1e9, 0]) < 1
    assert weighed.probability([-1e9, 0]) > 0


def test_a_logistic_takes_as_many_features_as_it_was_fitted_with():
    with pytest.raises(ValueError, match="argument"):
        Logistic(coefficients=(1.0,), intercept=0).probability([1, 2])


SAID = words_of(document("Who?", "Was it Ann?", "Bob Ray left.", title="Moon"))


@from_table
def test_lost_is_what_the_own_history_does_not_say(gold, share):
    assert lost(reading(*gold), SAID) == pytest.approx(share)


@from_table
def test_apart_is_how_far_the_two_distributions_are(gold, own, share):
    assert apart(reading(*gold), reading(*own)) == pytest.approx(share)


distributions = st.lists(
    st.tuples(st.floats(0.01, 0.3), st.sampled_from(["Ann", "Bob Ray", "the Moon", "?!", ""])), max_size=3
).map(tuple)


@given(distributions, distributions)
def test_both_are_shares_and_a_reading_is_not_apart_from_itself(gold, own):
    assert 0 <= lost(reading(*gold), SAID) <= 1 + 1e-9
    assert 0 <= apart(reading(*gold), reading(*own)) <= 1
    assert apart(reading(*gold), reading(*gold)) == 0
    assert apart(reading(*gold), reading(*own)) == pytest.approx(apart(reading(*own), reading(*gold)))


def test_the_shipped_decisions_take_what_the_features_give():
    shipped = decisions.load(WEIGHTS)

    assert len(shipped.verdict.coefficients) == len(verdict_features(0, [], []))
    assert len(shipped.edit.coefficients) == len(edit_features(0.5, reading()))
    assert decisions.current() == shipped


def test_the_more_probable_a_place_and_its_reading_the_better_is_the_shipped_edit():
    edit = decisions.load(WEIGHTS).edit
    doubtful, sure = (
        edit.probability(edit_features(p, reading((p, "Ann"), (0.1, "Bob")))) for p in (0.2, 0.9)
    )

    assert doubtful < sure


def test_the_more_is_lost_the_more_probable_is_drift_by_the_shipped_verdict():
    verdict = decisions.load(WEIGHTS).verdict
    meant = [reading((0.9, "Ann"))]
    kept = verdict.probability(verdict_features(-3.0, meant, [0.0]))
    gone = verdict.probability(verdict_features(3.0, meant, [1.0]))

    assert kept < gone
