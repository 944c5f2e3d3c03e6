import pytest

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.drift_hard import compare


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
    drift = compare([reading(gold)], [reading(predicted)])

    assert [m.state for m in drift.mentions] == [state]
    assert drift.valid is valid
    assert drift.mode == "hard"
    assert drift.probability == drift.mentions[0].probability == float(not valid)


def test_overlap_is_the_f1_of_content_words():
    drift = compare([reading("the singer Ann Lee")], [reading("Ann")])

    assert drift.mentions[0].overlap == pytest.approx(0.5)


def test_mentions_are_aligned_by_position():
    """Swapped antecedents are two drifts, though the same names are on both sides."""
    gold = [reading("Ann", 0), reading("Bob", 10)]
    predicted = [reading("Ann", 10), reading("Bob", 0)]

    assert [m.state for m in compare(gold, predicted).mentions] == ["drifted", "drifted"]


def test_a_mention_of_one_side_alone():
    drift = compare([reading("Ann", 0)], [reading("Bob", 10)])

    assert [(m.gold.mention.start, m.state) for m in drift.mentions] == [(0, "lost"), (10, "open")]


def test_no_mention_is_valid():
    assert compare([], []).valid


def test_distributions_are_not_looked_at():
    gold = reading("Ann", distribution=((0.4, "Ann"), (0.3, "Bob")))

    assert compare([gold], [reading("Ann", distribution=((0.9, "Ann"),))]).valid
