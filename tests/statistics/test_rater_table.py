from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from replay.statistics.interval import FEW, NO_RESAMPLES, Interval, UndefinedNumber, interval
from replay.statistics.rater_agreement import ALL_EQUAL, NOT_TWO, RatedItem
from replay.statistics.rater_table import NO_NAMES, NO_PAIR, NOT_USUAL, rater_agreement_of
from replay.statistics.resampling import cluster_weights
from tests.statistics.test_rater_agreement import krippendorff_alpha


def rated(*rows: str) -> list[RatedItem]:
    """Each row a conversation of turns such as ``yy yn``: what ann, bob, ... said; ``-`` for nothing."""
    return [
        RatedItem(
            conversation=f"c{number}",
            depth=depth,
            ratings={
                rater: None if rating == "-" else rating
                for rater, rating in zip(("ann", "bob", "eve"), turn, strict=False)
            },
        )
        for number, row in enumerate(rows)
        for depth, turn in enumerate(row.split(), 1)
    ]


# The grants of test_rater_agreement.py: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no; ten conversations of five.
GRANTS = rated(*["yy yy yn ny nn"] * 5, *["yy yy ny nn nn"] * 5)


def values(row) -> list[float | UndefinedNumber]:
    return [number.value for number in (row.agreement, row.cohen, row.fleiss, row.alpha)]


def test_two_raters_by_hand():
    total = rater_agreement_of(GRANTS).total

    assert (total.items, total.shared, total.complete, total.raters) == (50, 50, 50, 2)
    assert total.agreement.value == pytest.approx(0.7)
    assert total.cohen.value == pytest.approx(0.4)
    # 55 of the 100 ratings are yes.
    assert total.fleiss.value == pytest.approx(1 - 0.3 / (1 - 0.55**2 - 0.45**2))
    assert total.alpha.value == pytest.approx(1 - 0.3 / (2 * 55 * 45 / (100 * 99)))


@pytest.mark.parametrize("method", ["t", "percentile", "bca"])
@pytest.mark.parametrize("depth", [None, 2])
def test_each_interval_is_that_of_the_measure_over_resampled_conversations(method, depth):
    """The long way: every resample written out, item by item; half of the conversations have one turn."""
    rng = np.random.default_rng(5)
    lengths = (1, 1, 1, 1, *[5] * 4)
    items = rated(*(" ".join("".join(rng.choice(["y", "n"], 3)) for _ in range(turns)) for turns in lengths))
    found = rater_agreement_of(items, resamples=40, seed=3, method=method)
    row = next(row for row in (*found.depths, found.total) if row.depth == depth)
    weights = [*cluster_weights(8, resamples=40, seed=3), *(1 - np.eye(8))]

    def alpha(weight) -> float:
        drawn = [
            item.given_ratings
            for item in items
            if depth in (None, item.depth)
            for _ in range(int(weight[int(item.conversation[1:])]))
        ]
        known = krippendorff_alpha(drawn, "nominal")
        return np.nan if isinstance(known, UndefinedNumber) else known

    drawn = np.array([alpha(weight) for weight in weights])
    ends = interval(
        drawn[:40],
        method=method,
        confidence=0.95,
        conversations=8 if depth is None else 4,
        estimate=alpha(np.ones(8)),
        scale="signed share",
        jackknifed=drawn[40:],
    )
    assert isinstance(row.alpha.interval, Interval)
    assert isinstance(ends, Interval)
    assert (row.alpha.interval.low, row.alpha.interval.high) == pytest.approx((ends.low, ends.high))


def test_each_depth_has_its_own_numbers_and_items_without_one_are_in_the_total():
    items = [*rated("yy yn", "nn ny"), RatedItem(conversation="c0", ratings={"ann": "y", "bob": "y"})]
    found = rater_agreement_of(items)

    assert [(row.depth, row.agreement.value) for row in found.depths] == [(1, 1.0), (2, 0.0)]
    assert (found.total.depth, found.total.shared) == (None, 5)
    assert found.total.agreement.value == pytest.approx(3 / 5)
    assert [row.cohen.clusters for row in (*found.depths, found.total)] == [2, 2, 2]


def test_several_raters_have_a_kappa_for_each_pair_and_their_mean():
    """Ann and Bob always agree; Eve differs from both in two of four, as chance would: (1 + 0 + 0) / 3."""
    found = rater_agreement_of(rated("yyy yyn", "nnn nny"))

    assert [(pair.first, pair.second, pair.cohen.value) for pair in found.pairs] == [
        ("ann", "bob", 1.0),
        ("ann", "eve", 0.0),
        ("bob", "eve", 0.0),
    ]
    assert found.total.cohen.value == pytest.approx(1 / 3)
    assert [pair.agreement.value for pair in found.pairs] == [1.0, 0.5, 0.5]


def test_a_pair_without_a_kappa_leaves_the_mean_of_the_others():
    """Ann and Bob said yes to all; beside them Eve has no more than chance."""
    assert rater_agreement_of(rated("yyy yyn", "yyy yyn")).total.cohen.value == 0


def test_depths_are_in_order():
    items = [RatedItem(conversation="c", depth=depth, ratings={}) for depth in (33, 2)]

    assert [row.depth for row in rater_agreement_of(items).depths] == [2, 33]


def test_a_pair_counts_over_the_items_that_both_rated():
    found = rater_agreement_of(rated("yy- y-n", "nny -n-", "--- y--"))

    assert (found.total.items, found.total.shared, found.total.complete) == (5, 3, 2)
    assert [(p.first, p.second, p.cohen.items) for p in found.pairs] == [
        ("ann", "bob", 2), ("ann", "eve", 2), ("bob", "eve", 1),
    ]  # fmt: skip
    assert found.total.fleiss.items == 2


def test_fleiss_kappa_of_each_depth_is_of_items_that_the_total_is_of():
    """Three of two ratings at depth 1 and one at depth 2, where two have three: two ratings are usual."""
    found = rater_agreement_of(rated("yy- yyn", "yn- nnn", "nn- ny-"))

    assert [row.shared for row in (*found.depths, found.total)] == [3, 3, 6]
    assert [row.complete for row in (*found.depths, found.total)] == [3, 1, 4]
    # Depth 1: equal on 2 of 3; of 6 ratings half are yes: (2/3 - 1/2)/(1 - 1/2).
    assert found.depths[0].fleiss.value == pytest.approx(1 / 3)

    alone = rater_agreement_of(rated("yy- yyn", "yn- nnn"))
    assert alone.total.complete == alone.depths[1].complete == 2, "of as many of both the larger number"
    assert alone.depths[0].fleiss.value == NOT_USUAL


def test_a_crowd_has_no_cohens_kappa():
    found = rater_agreement_of(GRANTS, same_raters=False)

    assert found.total.cohen.value == NO_NAMES
    assert found.pairs == ()
    assert found.total.alpha == rater_agreement_of(GRANTS).total.alpha


def test_what_is_not_there_has_a_reason():
    nothing, alone, alike = ([], rated("y y"), rated("yy", "yy"))

    assert values(rater_agreement_of(nothing).total) == [NOT_TWO] * 4
    assert values(rater_agreement_of(alone).total) == [NOT_TWO] * 4
    assert values(rater_agreement_of(alike).total) == [1.0, ALL_EQUAL, ALL_EQUAL, ALL_EQUAL]
    assert rater_agreement_of(rated("yyy")).total.cohen.value == NO_PAIR
    assert rater_agreement_of(rated("yy yn")).total.alpha.interval == FEW
    assert rater_agreement_of(GRANTS, resamples=0).total.alpha.interval == NO_RESAMPLES
    with pytest.raises(ValueError, match="ordinal"):
        rater_agreement_of(GRANTS, level="ordinal")


def test_full_agreement_has_a_share_with_an_interval_that_goes_below_it():
    total = rater_agreement_of(rated(*["yy nn"] * 10)).total

    assert total.agreement.value == 1
    assert isinstance(total.agreement.interval, Interval)
    assert total.agreement.interval.low == pytest.approx(0.7225, abs=1e-4)  # Wilson's of 10 of 10


def test_numbers_take_the_scale_that_is_named():
    items = [
        RatedItem(conversation=str(place), ratings={"ann": a, "bob": b})
        for place, (a, b) in enumerate([(1, 2), (2, 2), (5, 4), (3, 5)])
    ]
    pairs = [item.given_ratings for item in items]
    for level in ("nominal", "ordinal", "interval", "ratio"):
        assert rater_agreement_of(items, level=level).total.alpha.value == krippendorff_alpha(pairs, level)


def test_json_is_plain_and_whole():
    found = json.loads(json.dumps(rater_agreement_of(GRANTS, resamples=10).to_json()))

    assert [row["depth"] for row in found["rows"]] == [1, 2, 3, 4, 5, None]
    assert found["rows"][0]["cohen_kappa"]["undefined"] == "all ratings are equal"
    assert found["rows"][-1]["cohen_kappa"]["value"] == pytest.approx(0.4)
    assert found["rows"][-1]["cohen_kappa"]["clusters"] == 10
    assert [(pair["first"], pair["second"]) for pair in found["pairs"]] == [("ann", "bob")]


ROWS = st.lists(st.tuples(*[st.sampled_from(["y", "n", "m", None])] * 3), min_size=1, max_size=8)


@given(ROWS, st.permutations(["ann", "bob", "eve"]), st.permutations(["y", "n", "m"]), st.randoms())
def test_names_of_raters_and_ratings_and_the_order_of_items_change_nothing(rows, names, labels, random):
    renamed = dict(zip(("y", "n", "m"), labels, strict=True)) | {None: None}
    sides = ((("ann", "bob", "eve"), lambda rating: rating), (names, renamed.__getitem__))
    one, other = (
        [
            RatedItem(
                conversation=f"c{place // 2}",
                ratings={rater: label(rating) for rater, rating in zip(raters, row, strict=True)},
            )
            for place, row in enumerate(rows)
        ]
        for raters, label in sides
    )
    random.shuffle(other)
    found, again = (rater_agreement_of(items, resamples=20) for items in (one, other))

    for before, after in zip(values(found.total), values(again.total), strict=True):
        assert before == (after if isinstance(after, UndefinedNumber) else pytest.approx(after, abs=1e-12))


def test_more_than_the_raters_say_is_not_known():
    """95 % intervals of kappa hold the true one in about 95 % of data sets: 200 of 20 conversations."""
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(200):
        truth = rng.random((20, 5)) < 0.5
        # Each says the other thing in a fifth of cases: 0.8^2 + 0.2^2 equal, half by chance, kappa 0.36.
        sides = [truth ^ (rng.random((20, 5)) < 0.2) for _ in range(2)]
        items = [
            RatedItem(
                conversation=str(c), ratings={"ann": float(sides[0][c, t]), "bob": float(sides[1][c, t])}
            )
            for c in range(20)
            for t in range(5)
        ]
        ends = rater_agreement_of(items, resamples=200).total.cohen.interval
        assert isinstance(ends, Interval)
        held += ends.low <= 0.36 <= ends.high
    assert 180 <= held <= 198
