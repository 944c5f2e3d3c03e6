"""The verdict mention by mention: what is asked of the network, what is law, where the line is drawn."""

from __future__ import annotations

import pytest

from replay.core.drift_evidence import Mention, Reading
from replay.core.history import Exchange
from replay.coreference.reading import decisions as learned
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.verdict import THRESHOLD, compare_hard, compare_strict


@pytest.fixture
def judged(monkeypatch):
    """Makes the network say a probability, with a share for each mention; keeps what it was asked."""
    asked = []

    def judge(probability, *shares):
        def probability_of_drift(meant, gold, own):
            asked.append((meant, gold, own))
            return probability

        monkeypatch.setattr(learned, "probability_of_drift", probability_of_drift)
        monkeypatch.setattr(learned, "shares_of", lambda pairs, own: list(shares) or [1.0] * len(pairs))
        return asked

    return judge


def reading(*distribution, start=4, antecedent=None):
    """The most probable antecedent is the reading, unless another is given."""
    mention = Mention(start=start, end=start + 3, text="she", kind="she")
    best = antecedent or (distribution[0][1] if distribution else None)
    return Reading(mention=mention, antecedent=best, distribution=distribution)


def document(answer, **more):
    return Document(question="Did she sing?", turns=(Exchange(question="Who came?", answer=answer),), **more)


def verdict(gold, predicted, gold_answer="Ann and Sue did.", predicted_answer="Bob did.", **settings):
    return compare_strict(
        gold if isinstance(gold, list) else [gold],
        predicted if isinstance(predicted, list) else [predicted],
        gold_document=document(gold_answer),
        predicted_document=document(predicted_answer),
        **settings,
    )


ANN, BOB = reading((0.9, "Ann")), reading((0.9, "Bob"))


def test_the_networks_probability_is_the_questions(judged):
    asked = judged(0.7)
    drift = verdict(ANN, BOB)

    assert (drift.probability, drift.valid, drift.mode) == (0.7, False, "strict")
    assert asked == [([ANN], document("Ann and Sue did."), document("Bob did."))]


def test_a_mentions_probability_is_its_share_of_the_questions(judged):
    judged(0.8, 1.0, 0.25)
    gold = [reading((0.5, "Ann"), start=0), reading((0.4, "Sue"), start=10)]

    assert [m.probability for m in verdict(gold, []).mentions] == [0.8, 0.2]


def test_a_drifted_questions_mentions_have_the_state_of_their_best_antecedents(judged):
    judged(0.9)

    assert [m.state for m in verdict(ANN, BOB).mentions] == ["drifted"]
    assert [m.state for m in verdict(ANN, []).mentions] == ["lost"]
    assert [m.state for m in verdict(ANN, ANN).mentions] == ["same"]


def test_the_own_history_is_not_read_where_the_question_means_the_same(judged):
    judged(0.1)
    unread, left_open = reading((0.9, "Ann")), reading(start=20)
    (one, other) = verdict([unread, left_open], [BOB]).mentions

    assert (one.state, one.predicted.antecedent, one.probability) == ("unread", None, 0.1)
    assert other.state == "open"
    assert verdict([unread, left_open], []) == verdict([unread, left_open], [BOB])


@pytest.mark.parametrize(("threshold", "valid"), [(0.0, False), (0.4, False), (0.41, True), (1.0, True)])
def test_the_threshold_decides(judged, threshold, valid):
    judged(0.4)

    assert verdict(ANN, BOB, threshold=threshold).valid is valid


@pytest.mark.parametrize(("probability", "valid"), [(THRESHOLD - 0.01, True), (THRESHOLD, False)])
def test_the_rules_own_threshold_holds_where_none_is_given(judged, probability, valid):
    judged(probability)

    assert verdict(ANN, BOB).valid is valid


def test_six_digits_are_kept(judged):
    judged(1 / 3, 1 / 3)
    drift = verdict(ANN, BOB)

    assert (drift.probability, drift.mentions[0].probability) == (0.333333, 0.111111)


def test_a_probability_of_0_is_valid_at_any_threshold(judged):
    judged(1e-9)
    drift = verdict(ANN, BOB, threshold=0.0)

    assert (drift.probability, drift.valid) == (0, True)


def test_equal_documents_and_a_question_that_leans_on_nothing_are_valid_and_nobody_is_asked(judged):
    """A law, and no matter of what was learned."""
    asked = judged(1.0)
    drift = verdict(ANN, BOB, "Ann.", "Ann.", threshold=0.0)

    assert (drift.probability, drift.valid, drift.mentions[0].probability) == (0, True, 0)
    assert verdict([], []).valid
    assert verdict([], BOB).valid
    assert compare_hard([], []).valid
    assert asked == []


@pytest.mark.parametrize(
    ("gold", "predicted"), [("Ann", "Ann Lee"), ("Ann", "Bob"), ("Ann", None), (None, "Bob"), (None, None)]
)
def test_without_distributions_it_is_the_hard_rule(gold, predicted):
    one, other = reading(antecedent=gold), reading(antecedent=predicted)
    strict_drift, hard_drift = verdict(one, other), compare_hard([one], [other])

    assert strict_drift.valid is hard_drift.valid
    assert strict_drift.probability == hard_drift.probability
    assert strict_drift.mentions == hard_drift.mentions
    assert strict_drift.mode == "strict"


def test_a_gold_distribution_is_enough_to_be_judged_by_what_was_learned(judged):
    judged(0.9)
    bare = reading(antecedent="Ann")

    assert compare_hard([ANN], [bare]).valid
    assert not verdict(ANN, bare).valid


def hard_reading(antecedent, start=4, text="she", distribution=()):
    mention = Mention(start=start, end=start + len(text), text=text, kind="she")
    return Reading(mention=mention, antecedent=antecedent, distribution=distribution)


@pytest.mark.parametrize(
    ("gold", "predicted", "state", "valid"),
    [
        ("Ann Lee", "Ann", "same", True),
        ("Ann Lee", "ann LEE's", "same", True),
        ("Ann Lee", "Sue Ray", "drifted", False),
        ("the dog", "the cat", "drifted", False),
        ("Ann Lee", None, "lost", False),
        ("Ann Lee", " ", "lost", False),
        (None, "Sue Ray", "open", True),
        (None, None, "open", True),
        ("The Who", "The Who", "same", True),
    ],
)
def test_state_of_a_mention(gold, predicted, state, valid):
    drift = compare_hard([hard_reading(gold)], [hard_reading(predicted)])

    assert [m.state for m in drift.mentions] == [state]
    assert drift.valid is valid
    assert drift.mode == "hard"
    assert drift.probability == drift.mentions[0].probability == float(not valid)


def test_distributions_are_not_looked_at():
    gold = hard_reading("Ann", distribution=((0.4, "Ann"), (0.3, "Bob")))

    assert compare_hard([gold], [hard_reading("Ann", distribution=((0.9, "Ann"),))]).valid


def test_mentions_are_aligned_by_place_and_the_longer_come_before_the_shorter():
    """So antecedents that changed places are two drifts, though the same names are on both sides."""
    gold = [hard_reading("Ann", 0), hard_reading("Bob", 10)]
    predicted = [hard_reading("Ann", 10), hard_reading("Bob", 0)]
    assert [m.state for m in compare_hard(gold, predicted).mentions] == ["drifted", "drifted"]

    gold = [hard_reading("Ann", 4, "her"), hard_reading("Blue", 4, "her album"), hard_reading("Bob", 0)]
    predicted = [hard_reading("Tom", 9, "it"), hard_reading("Ann", 4, "her")]
    assert [(m.gold.mention.text, m.state) for m in compare_hard(gold, predicted).mentions] == [
        ("she", "lost"),
        ("her album", "lost"),
        ("her", "same"),
        ("it", "open"),
    ]


def test_one_drifted_mention_is_enough_and_words_overlap_only_where_both_have_some():
    drift = compare_hard(
        [hard_reading("Ann", 0), hard_reading("Bob", 9)], [hard_reading("Ann", 0), hard_reading("Tom", 9)]
    )
    assert (drift.valid, drift.probability) == (False, 1.0)
    assert [(m.overlap, m.probability) for m in drift.mentions] == [(1.0, 0.0), (0.0, 1.0)]
    for gold, own, overlap in ((None, "Ann", 0), ("Ann", None, 0), ("the singer Ann Lee", "Ann", 0.5)):
        (mention,) = compare_hard([hard_reading(gold)], [hard_reading(own)]).mentions
        assert mention.overlap == pytest.approx(overlap)
