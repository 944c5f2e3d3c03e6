"""How probable it is that a question means something else, by the pair's network and what was lost."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.reading import decisions, network
from replay.coreference.reading.decisions import evidence, probability_of_drift, shares_of
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.coreference.reading.sequence import Role
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
    elsewhere = reading(4, (0.9, "Bob"))
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
