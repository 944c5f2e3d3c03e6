from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.statistics.rater_agreement import NO_RATING, TIE, RatedItem, disagreements, majority


@pytest.mark.parametrize(
    ("ratings", "verdict"),
    [
        (["yes", "no", "yes"], "yes"),
        (["answerable", "unanswerable", "invalid"], TIE),
        (["a", "b", "c", "b", "d"], "b"),
        ([1, 0], TIE),
        ([1, 0, 0, 1, 0, None], 0),
        ([None, 1], 1),
        ([None], NO_RATING),
        ([], NO_RATING),
    ],
)
def test_the_majority_is_what_is_given_more_often_than_anything_else(ratings, verdict):
    assert majority(ratings) == verdict


def test_a_tie_is_broken_by_who_was_asked_for_it_and_by_nobody_else():
    assert majority(["yes", "no"], tie_break="no") == "no"
    assert majority(["yes", "no"], tie_break=0.0) == 0.0
    assert majority(["yes", "no", "yes"], tie_break="no") == "yes"
    assert majority([], tie_break="no") == NO_RATING


@given(st.lists(st.sampled_from(["a", "b", "c", None])), st.randoms())
def test_the_order_of_ratings_does_not_matter(ratings, random):
    assert majority(ratings) == majority(random.sample(ratings, len(ratings)))


def item(conversation: str, depth: int | None, *ratings: str | None, name: str | None = None) -> RatedItem:
    return RatedItem(
        conversation=conversation,
        depth=depth,
        id=name,
        ratings={f"r{place}": rating for place, rating in enumerate(ratings)},
    )


def test_disagreements_come_most_of_all_first():
    items = [
        item("a", 1, "y", "y", "n"),
        item("a", 2, "y", "y", "y"),
        item("b", 1, "y", "n", None),
        item("a", 10, "y", "m", "n"),
        item("a", 9, "y", "n", name="2"),
        item("a", 9, "n", "y", name="1"),
        item("c", None, "y"),
        item("c", None, "y", "y", "n", "n"),
    ]
    found = disagreements(items)

    assert [(one.item.conversation, one.item.depth, one.item.id) for one in found] == [
        ("a", 9, "1"), ("a", 9, "2"), ("a", 10, None), ("b", 1, None), ("a", 1, None), ("c", None, None),
    ]  # fmt: skip
    assert [one.share for one in found] == pytest.approx([1, 1, 1, 1, 2 / 3, 2 / 3])
