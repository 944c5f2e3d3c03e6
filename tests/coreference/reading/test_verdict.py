"""How probable it is that a question means something else, by the pair's network and both readings."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.drift_hard import paired
from replay.coreference.reading import EmbeddedResolver, decisions, network
from replay.coreference.reading.sequence import Role
from replay.coreference.reading.verdict import evidence, probability_of_drift
from tests.coreference.reading.made_up import document, pieces, undecided

GOLD = document("Did she see him?", "Who?", "Ann met Bob.")
OWN = document("Did she see him?", "Who?", "Nobody met Bob.")


def reading(start, *distribution):
    mention = Mention(start=start, end=start + 3, text="she", kind="she")
    return Reading(
        mention=mention, antecedent=distribution[0][1] if distribution else None, distribution=distribution
    )


ANN, BOB, LEFT = reading(4, (0.9, "Ann")), reading(12, (0.5, "Bob")), reading(4, (0.9, "Nobody"))


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
    evidence([(BOB, BOB), (ANN, LEFT)], GOLD, OWN)
    ((question, meant, recorded, *history),) = [sequence.segments for sequence in told]

    assert (question.text, meant.text, recorded.text) == (GOLD.question, "Ann & Bob", "Ann met Bob.")
    assert [(s.role, s.text) for s in history] == [(Role.ANSWER, "Nobody met Bob."), (Role.ASKED, "Who?")]


def test_the_networks_logit_and_the_comparison_are_weighed(told):
    compared, features = evidence([(ANN, LEFT), (BOB, BOB)], GOLD, OWN)

    assert features[0] == 1.5
    assert [(c.lost, c.apart) for c in compared] == [(1, 1), (0, 0)]
    assert probability_of_drift([(ANN, LEFT)], GOLD, OWN)[0] == pytest.approx(1 / (1 + np.exp(-2 * 1.5)))


def test_the_mention_that_lost_most_has_the_largest_share(told):
    _, (lost, kept) = probability_of_drift([(ANN, LEFT), (BOB, BOB)], GOLD, OWN)

    assert lost == 1
    assert 0 < kept < 0.1


def test_a_mention_that_means_something_else_that_was_said_has_a_large_share_too(told):
    elsewhere = reading(4, (0.9, "Bob"))
    own = document(GOLD.question, "Who?", "Bob met Ann.")

    assert probability_of_drift([(ANN, elsewhere), (BOB, BOB)], GOLD, own)[1][1] < 0.1


def test_mentions_that_all_stay_share_alike(told):
    assert probability_of_drift([(ANN, ANN), (BOB, BOB)], GOLD, GOLD)[1] == [1, 1]


def test_a_mention_that_only_the_own_history_has_counts_for_what_it_is(told):
    _, shares = probability_of_drift([(ANN, LEFT), (replace(BOB, distribution=()), BOB)], GOLD, OWN)

    assert shares[0] == 1
    assert 0 < shares[1] < 0.1


def test_with_the_shipped_weights_it_is_a_probability_and_the_same_again():
    before, after = EmbeddedResolver().read([GOLD, OWN])
    pairs = list(paired(before, after))
    probability, shares = probability_of_drift(pairs, GOLD, OWN)

    assert 0 < probability < 1
    assert max(shares) == 1
    assert all(0 < share <= 1 for share in shares)
    assert probability_of_drift(pairs, GOLD, OWN) == (probability, shares)
