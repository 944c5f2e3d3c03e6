import pytest

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.reading.verdict import compare_hard


def reading(antecedent, start=4, text="she", distribution=()):
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
    drift = compare_hard([reading(gold)], [reading(predicted)])

    assert [m.state for m in drift.mentions] == [state]
    assert drift.valid is valid
    assert drift.mode == "hard"
    assert drift.probability == drift.mentions[0].probability == float(not valid)


def test_overlap_is_the_f1_of_content_words():
    drift = compare_hard([reading("the singer Ann Lee")], [reading("Ann")])

    assert drift.mentions[0].overlap == pytest.approx(0.5)


def test_mentions_are_aligned_by_position():
    """Swapped antecedents are two drifts, though the same names are on both sides."""
    gold = [reading("Ann", 0), reading("Bob", 10)]
    predicted = [reading("Ann", 10), reading("Bob", 0)]

    assert [m.state for m in compare_hard(gold, predicted).mentions] == ["drifted", "drifted"]


def test_a_mention_of_one_side_alone():
    drift = compare_hard([reading("Ann", 0)], [reading("Bob", 10)])

    assert [(m.gold.mention.start, m.state) for m in drift.mentions] == [(0, "lost"), (10, "open")]


def test_no_mention_is_valid():
    assert compare_hard([], []).valid


def test_distributions_are_not_looked_at():
    gold = reading("Ann", distribution=((0.4, "Ann"), (0.3, "Bob")))

    assert compare_hard([gold], [reading("Ann", distribution=((0.9, "Ann"),))]).valid


def test_mentions_come_by_place_and_the_longer_before_the_shorter():
    gold = [reading("Ann", 4, "her"), reading("Blue", 4, "her album"), reading("Bob", 0)]
    predicted = [reading("Tom", 9, "it"), reading("Ann", 4, "her")]

    assert [(m.gold.mention.text, m.state) for m in compare_hard(gold, predicted).mentions] == [
        ("she", "lost"),
        ("her album", "lost"),
        ("her", "same"),
        ("it", "open"),
    ]


def test_one_drifted_mention_is_enough_and_words_overlap_only_where_both_have_some():
    drift = compare_hard([reading("Ann", 0), reading("Bob", 9)], [reading("Ann", 0), reading("Tom", 9)])

    assert (drift.valid, drift.probability) == (False, 1.0)
    assert [(m.overlap, m.probability) for m in drift.mentions] == [(1.0, 0.0), (0.0, 1.0)]
    assert compare_hard([reading(None)], [reading("Ann")]).mentions[0].overlap == 0.0
    assert compare_hard([reading("Ann")], [reading(None)]).mentions[0].overlap == 0.0
