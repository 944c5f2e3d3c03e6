from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, strategies as st
from statsmodels.stats import inter_rater

from replay.statistics.interval import UndefinedNumber
from replay.statistics.rater_agreement import ALL_EQUAL, alpha, cohen, complete_items, fleiss


def cohen_kappa(first, second):
    """Of the items that both rated."""
    return cohen([pair for pair in zip(first, second, strict=True) if None not in pair]).value()


def fleiss_kappa(items):
    return fleiss(complete_items(items)).value()


def krippendorff_alpha(items, level="ordinal"):
    rated = [[rating for rating in item if rating is not None] for item in items]
    return alpha([item for item in rated if len(item) > 1], level).value()


# Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011, section C: four observers, twelve units.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = list(zip(*OBSERVERS, strict=True))

# Fleiss, 1971, as on Wikipedia's page of Fleiss' kappa: ten subjects, fourteen raters, five categories.
FLEISS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def test_cohens_kappa_of_fifty_grants():
    """Wikipedia's example: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no; (0.7 - 0.5) / (1 - 0.5) = 0.4."""
    first = ["y"] * 25 + ["n"] * 25
    second = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15

    assert cohen_kappa(first, second) == pytest.approx(0.4)


def test_fleiss_kappa_of_the_published_table():
    items = [[category for category, count in enumerate(row) for _ in range(count)] for row in FLEISS]

    assert fleiss_kappa(items) == pytest.approx(0.210, abs=5e-4)


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_of_the_published_table(level, alpha):
    assert krippendorff_alpha(UNITS, level) == pytest.approx(alpha, abs=5e-4)


def test_alpha_takes_texts_on_a_nominal_scale_only():
    items = [["a", "a"], ["b", "a"], ["b", "b"]]

    assert krippendorff_alpha(items, "nominal") == pytest.approx(1 - (2 / 6) / (18 / 30))
    with pytest.raises(ValueError, match="ordinal"):
        krippendorff_alpha(items, "ordinal")


def test_missing_ratings_are_left_out_and_the_usual_number_is_kept():
    items = [[1, 2, 3], [1, None, 2], [2, 2, 2], [None, None, 4]]

    assert complete_items(items) == [[1, 2, 3], [2, 2, 2]]
    assert complete_items([[1, 2], [1, 2, 3]]) == [[1, 2, 3]]


def test_where_nobody_could_disagree_nothing_is_known():
    assert cohen_kappa([1, 1], [1, 1]) == ALL_EQUAL
    assert fleiss_kappa([[1, 1], [1, 1]]) == ALL_EQUAL
    assert krippendorff_alpha([[1, 1], [1, 1]]) == ALL_EQUAL


RATINGS = st.lists(st.tuples(*[st.integers(1, 4)] * 3), min_size=1, max_size=10)


@given(RATINGS)
def test_kappas_are_those_of_statsmodels(items):
    first, second, _ = zip(*items, strict=True)
    known = sorted({*first, *second})
    table = np.zeros((len(known), len(known)))
    for a, b in zip(first, second, strict=True):
        table[known.index(a), known.index(b)] += 1
    found = cohen_kappa(first, second)
    if found != ALL_EQUAL:
        assert found == pytest.approx(inter_rater.cohens_kappa(table, return_results=False))
    if fleiss_kappa(items) != ALL_EQUAL:
        counts = [[item.count(rating) for rating in range(1, 5)] for item in items]
        assert fleiss_kappa(items) == pytest.approx(inter_rater.fleiss_kappa(np.array(counts)))


@given(st.lists(st.lists(st.none() | st.integers(1, 4), max_size=4), min_size=1, max_size=10))
def test_alpha_is_that_of_the_package_krippendorff(items):
    counts = np.array([[item.count(rating) for rating in range(1, 5)] for item in items])
    for level in ("nominal", "ordinal", "interval", "ratio"):
        found = krippendorff_alpha(items, level)
        if not isinstance(found, UndefinedNumber):
            alpha = krippendorff.alpha(
                value_counts=counts, value_domain=np.arange(1, 5.0), level_of_measurement=level
            )
            assert found == pytest.approx(alpha)


@given(st.lists(st.tuples(*[st.integers(1, 3)] * 3), min_size=2, max_size=10), st.randoms())
def test_the_order_of_items_and_of_raters_does_not_matter(items, random):
    shuffled = [random.sample(item, len(item)) for item in random.sample(items, len(items))]
    for measure in (fleiss_kappa, krippendorff_alpha):
        one, other = measure(items), measure(shuffled)
        assert one == (other if isinstance(other, UndefinedNumber) else pytest.approx(other))


def test_one_text_among_numbers_is_enough_to_have_no_scale():
    with pytest.raises(ValueError, match="ratings that are texts have no interval scale"):
        krippendorff_alpha([[1, "x"], [1, 2]], "interval")


def test_of_equally_common_numbers_of_ratings_the_larger_is_kept():
    assert complete_items([[1, 2], [1, 2, 3], [1, 2], [4, 5, 6]]) == [[1, 2, 3], [4, 5, 6]]
    assert complete_items([[1, 2], [3, 4], [4, 5, 6]]) == [[1, 2], [3, 4]]
    assert complete_items([[1], [None, 2]]) == []


def test_fleiss_of_two_categories_by_hand():
    """Three of four items agree; five of eight ratings are yes."""
    items = [["yes", "yes"], ["no", "no"], ["yes", "yes"], ["yes", "no"]]
    chance = (5 / 8) ** 2 + (3 / 8) ** 2
    assert fleiss_kappa(items) == pytest.approx((0.75 - chance) / (1 - chance))
