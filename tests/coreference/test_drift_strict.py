"""The learned verdict: how the mentions' probabilities make the question's, and where the line is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from replay.core.drift_evidence import MENTION_KINDS, Mention, Reading
from replay.core.history import Exchange
from replay.coreference import drift_hard, drift_strict, small_network
from replay.coreference.drift_strict import THRESHOLD, compare, threshold_for
from replay.coreference.resolver import Document
from replay.coreference.verdict_evidence import WIDTH

LOST = len(MENTION_KINDS)
"""The column of a mention's evidence that says how much of the gold reading is lost."""


class WhatIsLost:
    """Easy to follow: a mention means something else as probably as its reading was lost."""

    def probabilities(self, seen):
        assert {len(row) for row in seen} <= {WIDTH}
        return [row[LOST] for row in seen]

    def threshold_for(self, precision):
        return precision / 2


@pytest.fixture
def followed(monkeypatch):
    monkeypatch.setattr(small_network, "shipped", {small_network.DRIFT: WhatIsLost()}.__getitem__)


def reading(*distribution, start=4, antecedent=None):
    """The most probable antecedent is the reading, unless another is given."""
    mention = Mention(start=start, end=start + 3, text="she", kind="she")
    best = antecedent or (distribution[0][1] if distribution else None)
    return Reading(mention=mention, antecedent=best, distribution=distribution)


def document(answer, **more):
    return Document(question="Did she sing?", turns=(Exchange(question="Who came?", answer=answer),), **more)


def verdict(gold, predicted, gold_answer="Ann and Sue did.", predicted_answer="Bob did.", **settings):
    return compare(
        gold if isinstance(gold, list) else [gold],
        predicted if isinstance(predicted, list) else [predicted],
        gold_document=document(gold_answer),
        predicted_document=document(predicted_answer),
        **settings,
    )


def test_the_networks_probability_of_a_mention_is_the_questions(followed):
    drift = verdict(reading((0.7, "Ann"), (0.2, "Bob")), reading((0.6, "Bob")))

    assert (drift.probability, drift.mentions[0].probability) == (0.7, 0.7)
    assert not drift.valid
    assert drift.mode == "strict"


def test_a_question_means_the_same_if_each_of_its_mentions_does(followed):
    gold = [reading((0.5, "Ann"), start=0), reading((0.4, "Sue"), start=10), reading((0.9, "Bob"), start=20)]
    drift = verdict(gold, [])

    assert [m.probability for m in drift.mentions] == [0.5, 0.4, 0.0]
    assert drift.probability == pytest.approx(1 - 0.5 * 0.6)


def test_a_runner_up_that_is_lost_counts_though_the_best_reading_stays(followed):
    """The hard rule can't see it."""
    gold, predicted = reading((0.5, "Bob"), (0.4, "Ann")), reading((0.8, "Bob"))
    drift = verdict(gold, predicted, "Ann and Bob did.", "Bob did.")

    assert (drift.valid, drift.probability) == (False, pytest.approx(0.4))
    assert drift.mentions[0].state == "same"
    assert drift_hard.compare([gold], [predicted]).valid


@pytest.mark.parametrize(("threshold", "valid"), [(0.0, False), (0.4, False), (0.41, True), (1.0, True)])
def test_the_threshold_decides(followed, threshold, valid):
    assert verdict(reading((0.4, "Ann")), reading((0.9, "Bob")), threshold=threshold).valid is valid


@pytest.mark.parametrize(("probability", "valid"), [(THRESHOLD - 0.01, True), (THRESHOLD, False)])
def test_the_rules_own_threshold_holds_where_none_is_given(followed, probability, valid):
    assert verdict(reading((probability, "Ann")), reading((0.9, "Bob"))).valid is valid


def test_six_digits_are_kept(followed):
    assert verdict(reading((1 / 3, "Ann")), reading((0.9, "Bob"))).probability == 0.333333


def test_a_probability_of_0_is_valid_at_any_threshold(followed):
    drift = verdict(reading((0.9, "Bob")), reading((0.5, "Bob")), "Ann and Bob did.", threshold=0.0)

    assert (drift.probability, drift.valid) == (0, True)


def test_equal_documents_are_valid_with_probability_0_whatever_was_read():
    """A law, and no matter of what was learned."""
    drift = verdict(reading((0.9, "Ann")), reading((0.9, "Sue")), "Ann.", "Ann.", threshold=0.0)

    assert (drift.probability, drift.valid, drift.mentions[0].probability) == (0, True, 0)


@pytest.mark.parametrize(
    ("gold", "predicted"), [("Ann", "Ann Lee"), ("Ann", "Bob"), ("Ann", None), (None, "Bob"), (None, None)]
)
def test_without_distributions_it_is_the_hard_rule(gold, predicted):
    one, other = reading(antecedent=gold), reading(antecedent=predicted)
    strict_drift, hard_drift = verdict(one, other), drift_hard.compare([one], [other])

    assert strict_drift.valid is hard_drift.valid
    assert strict_drift.probability == hard_drift.probability
    assert strict_drift.mentions == hard_drift.mentions
    assert strict_drift.mode == "strict"


@pytest.mark.parametrize("has", ["gold", "predicted"])
def test_one_distribution_is_enough_to_be_judged_by_what_was_learned(followed, has):
    known, bare = reading((0.9, "Ann")), reading(antecedent="Ann")
    drift = verdict(known, bare) if has == "gold" else verdict(bare, known)

    assert drift_hard.compare([known], [bare]).valid
    assert drift.probability == 0


def test_a_mention_that_one_side_did_not_find_has_lost_everything(followed):
    drift = verdict([reading((0.9, "Ann"), start=0)], [])

    assert drift.probability == pytest.approx(0.9)
    assert [m.state for m in drift.mentions] == ["lost"]


def test_no_mention_is_valid():
    assert verdict([], []).valid


def test_a_precision_is_the_learned_lines_affair(followed):
    assert threshold_for(0.8) == 0.4


def test_what_ships_gives_a_threshold_for_any_precision_and_never_a_lower_one_for_a_higher():
    found = [threshold_for(precision) for precision in np.arange(0.05, 1.0, 0.05)]

    assert all(0 < threshold < 1 for threshold in found)
    assert found == sorted(found)


def test_what_ships_gives_each_mention_a_probability():
    gold = [reading((0.9, "Ann"), start=0), reading((0.5, "Sue"), (0.4, "Ann"), start=10)]
    drift = verdict(gold, [reading((0.9, "Bob"), start=0), reading((0.9, "Bob"), start=10)])
    one, other = (m.probability for m in drift.mentions)

    assert 0 < one < 1
    assert 0 < other < 1
    assert drift.probability == pytest.approx(1 - (1 - one) * (1 - other), abs=2e-6)
    assert drift_strict.VERSION > 1
