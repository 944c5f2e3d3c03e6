from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from replay.statistics.interval import FEW, NO_RESAMPLES, Interval
from replay.statistics.preferences import OUTCOMES, TURNED, Preference, preferences_of

LETTERS = {"a": "first", "b": "second", "t": "tie", "0": "both-bad"}


def preferred(*rows: str, first: str = "a", second: str = "b") -> list[Preference]:
    """Each row a conversation, each letter a turn: ``a`` or ``b`` is better, ``t``ie, ``0`` for both bad."""
    return [
        Preference(
            conversation=f"c{number}", depth=depth, first=first, second=second, outcome=LETTERS[letter]
        )
        for number, row in enumerate(rows)
        for depth, letter in enumerate(row, 1)
    ]


def test_two_systems_by_hand():
    """Of eight comparisons a won four and b one; two ties and one both bad give a half each: 5.5 of 8."""
    (pair,) = preferences_of(preferred("aat", "at0", "ba"))

    assert (pair.first, pair.second) == ("a", "b")
    assert pair.total.counts == {"first": 4, "second": 1, "tie": 2, "both-bad": 1}
    assert [share.value for share in pair.total.shares.values()] == [0.5, 0.125, 0.25, 0.125]
    assert [rate.value for rate in pair.total.win_rates] == [5.5 / 8, 2.5 / 8]
    assert [row.win_rates[0].value for row in pair.depths] == pytest.approx([2 / 3, 2.5 / 3, 0.5])
    assert [row.win_rates[0].clusters for row in pair.depths] == [3, 3, 2]


def test_conversations_are_resampled_and_not_comparisons():
    """Four conversations of one kind each know less than sixteen comparisons of all kinds."""
    alike, mixed = (
        preferences_of(preferred(*rows))[0].total.win_rates[0].interval
        for rows in (("aaaa", "bbbb", "aaaa", "bbbb"), ("abab",) * 3 + ("aabb",))
    )
    assert isinstance(alike, Interval)
    assert alike.high - alike.low > 0.5
    assert not isinstance(mixed, Interval)  # every conversation gives one half


def test_the_test_swaps_whole_conversations():
    """Ten conversations, all won by a: of the 2^10 ways to swap them two are as far off."""
    (pair,) = preferences_of(preferred(*["aaa"] * 10))

    assert (pair.total.test.p, pair.total.test.exact) == (2 / 2**10, True)
    assert pair.total.test.conversations == 10
    assert preferences_of(preferred("ab", "t0"))[0].total.test.p == 1


def test_p_values_are_corrected_over_all_pairs():
    several = [
        *preferred(*["a"] * 5),
        *preferred(*["a"] * 5, second="c"),
        *preferred("ab", first="b", second="c"),
    ]
    found = preferences_of(several)

    assert [(pair.first, pair.second) for pair in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [pair.total.adjusted_p for pair in found] == pytest.approx([3 * 2 / 2**5, 3 * 2 / 2**5, 1])
    # Depth 1 of each pair, and depth 2 of the last: four tests.
    assert found[0].depths[0].adjusted_p == pytest.approx(4 * 2 / 2**5)


def test_what_is_not_there_has_a_reason():
    assert preferences_of([]) == []
    assert preferences_of(preferred("ab"))[0].total.win_rates[0].interval == FEW
    assert preferences_of(preferred("a", "b"), resamples=0)[0].total.win_rates[0].interval == NO_RESAMPLES
    with pytest.raises(ValueError, match='"c0" compares system "a" with itself'):
        preferences_of(preferred("a", second="a"))


def test_raters_are_counted_and_whole_conversations_have_no_depth():
    both = [
        Preference(conversation="c", first="a", second="b", outcome="tie", rater=rater)
        for rater in ("ann", "bob", "ann", None)
    ]
    (pair,) = preferences_of(both)

    assert pair.depths == ()
    assert pair.total.raters == 2


def test_json_is_plain_and_whole():
    (pair,) = json.loads(json.dumps([one.to_json() for one in preferences_of(preferred("aat", "at0", "ba"))]))

    assert [row["depth"] for row in pair["rows"]] == [1, 2, 3, None]
    assert pair["rows"][-1]["comparisons"] == 8
    assert pair["rows"][-1]["counts"]["both-bad"] == 1
    assert pair["rows"][-1]["first_win_rate"]["value"] == 5.5 / 8
    assert pair["rows"][-1]["shares"]["tie"]["value"] == 0.25


COMPARED = st.lists(
    st.builds(
        Preference,
        conversation=st.sampled_from("xyz"),
        first=st.just("a"),
        second=st.sampled_from("bc"),
        outcome=st.sampled_from(OUTCOMES),
        depth=st.sampled_from([1, 2]),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=8)  # each takes 0.3 s
@given(COMPARED, st.randoms())
def test_the_order_of_comparisons_and_of_the_systems_in_them_changes_nothing(compared, random):
    shuffled = [
        replace(one, first=one.second, second=one.first, outcome=TURNED[one.outcome])
        if random.random() < 0.5
        else one
        for one in random.sample(compared, len(compared))
    ]
    few = {"resamples": 30, "permutations": 50}
    assert preferences_of(compared, **few) == preferences_of(shuffled, **few)


@settings(max_examples=8)  # each takes 0.3 s
@given(COMPARED)
def test_both_win_rates_add_up_to_one_and_so_do_the_shares_and_mirrored_intervals(compared):
    for pair in preferences_of(compared, resamples=30, permutations=50):
        for row in (*pair.depths, pair.total):
            one, other = row.win_rates
            assert one.value + other.value == pytest.approx(1)
            assert math.fsum(share.value for share in row.shares.values()) == pytest.approx(1)
            if isinstance(one.interval, Interval):
                assert one.interval.low == pytest.approx(1 - other.interval.high, abs=1e-9)
