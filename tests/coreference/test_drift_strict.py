import pytest

from replay.core.drift_evidence import Mention, Reading
from replay.core.history import Exchange
from replay.coreference import drift_hard
from replay.coreference.drift_strict import INTRUDER_WEIGHT, compare
from replay.coreference.resolver import Document


def reading(*distribution, start=4, antecedent=None):
    """The most probable antecedent is the reading, unless another is given."""
    mention = Mention(start=start, end=start + 3, text="she", kind="she")
    best = antecedent or (distribution[0][1] if distribution else None)
    return Reading(mention=mention, antecedent=best, distribution=distribution)


def document(answer):
    return Document(question="Did she sing?", turns=(Exchange(question="Who came?", answer=answer),))


def verdict(gold, predicted, gold_answer="", predicted_answer="", **settings):
    return compare(
        [gold],
        [predicted],
        gold_document=document(gold_answer),
        predicted_document=document(predicted_answer),
        **settings,
    )


def test_what_the_own_history_lacks_is_lost():
    drift = verdict(
        reading((0.7, "Ann Lee"), (0.2, "Bob")), reading((0.6, "Bob")), "Ann Lee and Bob did.", "Bob did."
    )

    assert drift.probability == pytest.approx(0.7)
    assert not drift.valid
    assert drift.mode == "strict"


def test_a_runner_up_that_is_lost_counts_though_the_best_reading_stays():
    """The hard rule can't see it."""
    gold, predicted = reading((0.5, "Bob"), (0.4, "Ann")), reading((0.8, "Bob"))
    drift = verdict(gold, predicted, "Ann and Bob did.", "Bob did.")

    assert (drift.valid, drift.probability) == (False, pytest.approx(0.4))
    assert drift.mentions[0].state == "same"
    assert drift_hard.compare([gold], [predicted]).valid


def test_what_stands_in_both_histories_is_not_lost_though_it_is_less_probable():
    drift = verdict(
        reading((0.9, "Ann")), reading((0.5, "Bob"), (0.1, "Ann")), "Ann and Bob did.", "Bob and Ann did."
    )

    assert drift.probability == 0
    assert drift.valid


def test_an_intruder_counts_though_nothing_is_lost():
    drift = verdict(
        reading((0.9, "Ann")), reading((0.8, "Sue Ray"), (0.1, "Ann")), "Ann did.", "Sue Ray and Ann did."
    )

    assert drift.probability == pytest.approx(0.8 * INTRUDER_WEIGHT)
    assert not drift.valid


def test_one_word_that_is_missing_is_enough():
    drift = verdict(reading((0.9, "Ann Lee")), reading((0.9, "Ann Ray")), "Ann Lee did.", "Ann Ray did.")

    assert drift.probability == pytest.approx(0.9)


@pytest.mark.parametrize(("threshold", "valid"), [(0.0, False), (0.4, False), (0.41, True), (1.0, True)])
def test_the_threshold_decides(threshold, valid):
    drift = verdict(
        reading((0.4, "Ann")), reading((0.9, "Bob")), "Ann and Bob.", "Bob came.", threshold=threshold
    )

    assert drift.valid is valid


def test_nothing_different_is_valid_at_any_threshold():
    same = reading((0.9, "Ann"))

    assert verdict(same, same, "Ann.", "Ann.", threshold=0.0).valid


def test_equal_readings_are_equal_whatever_the_documents_hold():
    """A name at a sentence's end may not be cut into the words that it has elsewhere."""
    same = reading((0.9, "the U.S"))

    assert verdict(same, same, "In the U.S.", "In the U.S.").probability == 0


@pytest.mark.parametrize(
    ("gold", "predicted"), [("Ann", "Ann Lee"), ("Ann", "Bob"), ("Ann", None), (None, "Bob"), (None, None)]
)
def test_without_distributions_it_is_the_hard_rule(gold, predicted):
    one, other = reading(antecedent=gold), reading(antecedent=predicted)
    strict_drift, hard_drift = verdict(one, other), drift_hard.compare([one], [other])

    assert strict_drift.valid is hard_drift.valid
    assert strict_drift.probability == hard_drift.probability
    assert strict_drift.mentions == hard_drift.mentions


def test_a_mention_that_one_side_did_not_find_has_lost_everything():
    ann = [reading((0.9, "Ann"), start=0)]
    drift = compare(ann, [], gold_document=document("Ann."), predicted_document=document("No one."))

    assert drift.probability == pytest.approx(0.9)
    assert [m.state for m in drift.mentions] == ["lost"]


def test_the_largest_probability_of_the_mentions_counts():
    gold = [reading((0.9, "Ann"), start=0), reading((0.2, "Bob"), start=10)]
    drift = compare(gold, [], gold_document=document("Ann, Bob."), predicted_document=document("No one."))

    assert [m.probability for m in drift.mentions] == [0.9, 0.2]
    assert drift.probability == pytest.approx(0.9)


def test_no_mention_is_valid():
    assert compare([], [], gold_document=document(""), predicted_document=document("")).valid


@pytest.mark.parametrize(("probability", "valid"), [(0.29, True), (0.3, False)])
def test_the_rules_own_threshold_is_three_tenths(probability, valid):
    drift = verdict(reading((probability, "Ann")), reading((0.9, "Bob")), "Ann and Bob.", "Bob came.")

    assert drift.valid is valid


def test_what_is_new_counts_six_tenths_of_what_is_lost_and_six_digits_are_kept():
    drift = verdict(reading((1 / 3, "Bob")), reading((2 / 3, "Ann")), "Bob.", "Ann and Bob.")

    assert drift.probability == 0.4  # of 2/3, and not 0.39999...
    assert verdict(reading((1 / 3, "Ann")), reading(), "Ann.", "Bob.").probability == 0.333333
    more = verdict(reading((0.7, "Ann"), (0.6, "Sue")), reading(), "Ann, Sue.", "Bob.")
    assert more.probability == 1.0  # rounding may have given more than one in all


def test_a_best_antecedent_without_a_distribution_is_held_for_certain():
    """Where a resolver gives one side a distribution and the other none."""
    known, bare = reading((0.5, "Bob")), reading(antecedent="Ann Lee")

    assert verdict(bare, known, "Ann Lee.", "Bob.").probability == 1.0
    assert verdict(known, bare, "Bob.", "Ann Lee, Bob.").probability == 0.6
    assert verdict(reading(), known, "", "Bob.").probability == 0.3
    assert verdict(reading(antecedent=" "), known, "", "Bob.").probability == 0.3


def test_what_both_sides_may_mean_is_lost_on_neither():
    """Under whatever words: the other side's candidates are compared by content."""
    gold, predicted = reading((0.9, "the singer Ann")), reading((0.2, "Singer Ann"), (0.7, "Bob"))

    assert verdict(gold, predicted, "Ann.", "Bob.").probability == pytest.approx(0.42)
