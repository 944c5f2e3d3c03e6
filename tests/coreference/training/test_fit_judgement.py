"""How a judgement of several rows is learned, and where lines can be drawn."""

from __future__ import annotations

import numpy as np
import pytest

from replay.coreference.small_network import SmallNetwork, probability_of_any
from replay.coreference.training.fit_judgement import (
    Case,
    JudgementSettings,
    _gradients,
    fit_judgement,
    with_precisions,
)

SETTINGS = JudgementSettings(networks=2, width=8, epochs=30, batch=32, dropout=0.0, learning_rate=1e-2)


def cases(count=300, rows=2):
    """The right answer is yes if the first number of any row is above 1."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        evidence = rng.normal(size=(int(rng.integers(1, rows + 1)), 3)).astype(np.float32)
        yield Case(evidence, bool((evidence[:, 0] > 1).any()), 1.0)


def test_it_learns_what_can_be_told_apart():
    shown = list(cases())
    network = fit_judgement(shown, SETTINGS)
    found = [probability_of_any(network.probabilities(case.evidence.tolist())) for case in shown]
    right = sum((p >= 0.5) == case.yes for p, case in zip(found, shown, strict=True))

    assert right >= 0.95 * len(shown)
    assert 0.1 < sum(case.yes for case in shown) / len(shown) < 0.9


def test_which_of_the_rows_says_yes_is_learned_though_only_their_question_is_known():
    network = fit_judgement(list(cases()), SETTINGS)
    low, high = network.probabilities([[-1.0, 0, 0], [2.5, 0, 0]])

    assert low < 0.2 < 0.8 < high


def test_the_same_seed_gives_the_same_networks():
    shown = list(cases(40))
    one, again = fit_judgement(shown, SETTINGS), fit_judgement(shown, SETTINGS)
    other = fit_judgement(shown, JudgementSettings(networks=2, width=8, epochs=1, seed=5))

    assert np.array_equal(one.hidden, again.hidden)
    assert one.hidden.shape == (3, 16)
    assert not np.array_equal(one.hidden, other.hidden)


def test_what_weighs_more_is_learned_more():
    row = np.zeros((1, 2), np.float32)
    shown = [Case(row, True, 9.0), Case(row, False, 1.0)] * 50
    settings = JudgementSettings(
        networks=1, width=4, epochs=300, batch=100, dropout=0.0, weight_decay=0.0, learning_rate=0.1
    )
    (found,) = fit_judgement(shown, settings).probabilities([[0.0, 0.0]])

    assert found == pytest.approx(0.9, abs=0.02)


def test_numbers_that_never_vary_break_nothing():
    shown = [Case(np.asarray([[1.0, n % 2]], np.float32), n % 2 == 1, 1.0) for n in range(40)]

    assert np.isfinite(fit_judgement(shown, SETTINGS).probabilities([[1.0, 1.0], [2.0, 0.0]])).all()


def test_gradients_are_those_of_the_loss():
    rng = np.random.default_rng(1)
    sizes = [1, 3, 2]
    rows = rng.normal(size=(sum(sizes), 4)).astype(np.float32)
    owner, firsts = np.repeat(np.arange(3), sizes), np.asarray([0, 1, 4])
    yes, weights = np.asarray([True, True, False]), np.asarray([1.0, 2.0, 0.5], np.float32)
    parameters = {
        "hidden": rng.normal(size=(4, 5)), "hidden_bias": rng.normal(size=5), "out": rng.normal(size=5),
        "out_bias": rng.normal(size=1),
    }  # fmt: skip

    def loss(given):
        hidden = np.maximum(rows @ given["hidden"] + given["hidden_bias"], 0)
        one = 1 / (1 + np.exp(-(hidden @ given["out"] + given["out_bias"])))
        total = 0.0
        for case in range(3):
            p = probability_of_any(one[owner == case])
            total -= weights[case] * np.log(p if yes[case] else 1 - p)
        return total / weights.sum()

    gradients = _gradients(parameters, rows, owner, firsts, yes, weights, 0.0, rng)
    for name, values in parameters.items():
        for at in range(values.size):
            place = np.unravel_index(at, values.shape)
            slopes = []
            for step in (1e-5, -1e-5):
                changed = {**parameters, name: values.copy()}
                changed[name][place] += step
                slopes.append(loss(changed))
            assert gradients[name][place] == pytest.approx((slopes[0] - slopes[1]) / 2e-5, abs=1e-4), name


@pytest.mark.parametrize(
    ("rows", "probability"),
    [([0.3], 0.3), ([0.5, 0.5], 0.75), ([0.0, 0.2], 0.2), ([1.0, 0.1], 1.0), ([], 0.0)],
)
def test_any_row_is_enough(rows, probability):
    assert probability_of_any(rows) == pytest.approx(probability)


def network():
    one = np.ones(1)
    return SmallNetwork(
        mean=one, spread=one, hidden=one[:, None], hidden_bias=one, out=one, out_bias=one,
        thresholds=np.asarray([0.5]), precisions=one,
    )  # fmt: skip


def test_precisions_are_measured_from_each_threshold_on():
    found = (
        [(0.2, False, 1.0)] * 60
        + [(0.6, True, 1.0)] * 60
        + [(0.6, False, 3.0)] * 20
        + [(0.9, True, 1.0)] * 60
    )
    measured = with_precisions(network(), found)
    at = dict(zip(measured.thresholds.round(2).tolist(), measured.precisions.tolist(), strict=True))

    assert at[0.1] == pytest.approx(120 / 240)
    assert at[0.5] == pytest.approx(120 / 180)
    assert at[0.8] == 1.0
    assert max(at) == pytest.approx(0.9)
    assert measured.threshold_for(0.6) == pytest.approx(0.21)


def test_precisions_never_fall():
    measured = with_precisions(network(), [(0.3, True, 1.0)] * 100 + [(0.8, False, 1.0)] * 60)

    assert set(measured.precisions.tolist()) == {100 / 160}


@pytest.mark.parametrize(("flagged", "last"), [(50, 0.8), (49, 0.2)])
def test_a_line_is_drawn_only_where_fifty_cases_lie_above_it(flagged, last):
    found = [(0.2, False, 1.0)] * 60 + [(0.8, True, 1.0)] * flagged

    assert with_precisions(network(), found).thresholds[-1] == pytest.approx(last)


def test_too_few_cases_draw_no_new_line():
    measured = with_precisions(network(), [(0.2, False, 1.0)] * 49)

    assert measured.threshold_for(0.9) == 0.5
