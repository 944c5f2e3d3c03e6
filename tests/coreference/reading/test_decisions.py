"""From the network's numbers to the two decisions: is a verdict drift, and is an edit for the better."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.reading import decisions, network
from replay.coreference.reading.decisions import (
    Logistic,
    apart,
    edit_features,
    evidence,
    lost_share,
    probability_of_drift,
    shares_of,
    verdict_features,
    words_of,
)
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.coreference.reading.network import WEIGHTS
from replay.coreference.reading.sequence import Role
from tests.coreference.reading.made_up import document, pieces, undecided
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
    assert lost_share(reading(*gold), SAID) == pytest.approx(share)


@from_table
def test_apart_is_how_far_the_two_distributions_are(gold, own, share):
    assert apart(reading(*gold), reading(*own)) == pytest.approx(share)


distributions = st.lists(
    st.tuples(st.floats(0.01, 0.3), st.sampled_from(["Ann", "Bob Ray", "the Moon", "?!", ""])), max_size=3
).map(tuple)


@given(distributions, distributions)
def test_both_are_shares_and_a_reading_is_not_apart_from_itself(gold, own):
    assert 0 <= lost_share(reading(*gold), SAID) <= 1 + 1e-9
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


GOLD = document("Did she see him?", "Who?", "Ann met Bob.")
OWN = document("Did she see him?", "Who?", "Nobody met Bob.")


def leaning(start, *distribution):
    mention = Mention(start=start, end=start + 3, text="she", kind="she")
    return Reading(
        mention=mention, antecedent=distribution[0][1] if distribution else None, distribution=distribution
    )


ANN, BOB, LEFT = leaning(4, (0.9, "Ann")), leaning(12, (0.5, "Bob")), leaning(4, (0.9, "Nobody"))


@pytest.fixture
def told(monkeypatch):
    """Says the same logit of every pair; keeps the sequences."""
    sequences = []

    def run(sequence):
        sequences.append(sequence)
        return SimpleNamespace(verdict=np.array([1.5]))

    monkeypatch.setattr(network, "current", lambda: SimpleNamespace(pieces=pieces(), run=run))
    monkeypatch.setattr(decisions, "current", lambda: undecided(logit=2.0))
    return sequences


def test_the_pair_is_what_the_question_meant_and_the_own_history(told):
    evidence([BOB, ANN], GOLD, OWN)
    ((question, meant, recorded, *history),) = [sequence.segments for sequence in told]

    assert (question.text, meant.text, recorded.text) == (GOLD.question, "Ann & Bob", "Ann met Bob.")
    assert [(s.role, s.text) for s in history] == [(Role.ANSWER, "Nobody met Bob."), (Role.ASKED, "Who?")]


def test_the_networks_logit_is_weighed_with_what_was_lost(told):
    logit, _, lost, _ = evidence([ANN, BOB], GOLD, OWN)

    assert logit == 1.5
    assert lost == pytest.approx(0.9 / 1.4)
    assert probability_of_drift([ANN], GOLD, OWN) == pytest.approx(1 / (1 + np.exp(-2 * 1.5)))


def test_the_mention_that_lost_most_has_the_largest_share():
    lost, kept = shares_of([(ANN, LEFT), (BOB, BOB)], OWN)

    assert lost == 1
    assert 0 < kept < 0.1


def test_a_mention_that_means_something_else_that_was_said_has_a_large_share_too():
    elsewhere = leaning(4, (0.9, "Bob"))
    own = document(GOLD.question, "Who?", "Bob met Ann.")

    assert shares_of([(ANN, elsewhere), (BOB, BOB)], own)[1] < 0.1


def test_mentions_that_all_stay_share_alike():
    assert shares_of([(ANN, ANN), (BOB, BOB)], GOLD) == [1, 1]


def test_a_mention_that_only_the_own_history_has_counts_for_what_it_is():
    shares = shares_of([(ANN, LEFT), (replace(BOB, distribution=()), BOB)], OWN)

    assert shares[0] == 1
    assert 0 < shares[1] < 0.1


def test_with_the_shipped_weights_it_is_a_probability_and_the_same_again():
    (meant,) = EmbeddedResolver().read([GOLD])
    probability = probability_of_drift(meant, GOLD, OWN)

    assert 0 < probability < 1
    assert probability_of_drift(meant, GOLD, OWN) == probability
