from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import optimize

from replay.statistics import preferences as module
from replay.statistics.interval import FEW, Interval, UndefinedNumber
from replay.statistics.preferences import POINTS, SLOW, Preference, bradley_terry
from tests.data_tables import from_table

# Games won against each other in the American League, 1987: Agresti, Categorical Data Analysis, section
# 10.6 (2nd edition), whose estimates with Baltimore at 0 are these.
TEAMS = {
    "Milwaukee": 1.58, "Detroit": 1.44, "Toronto": 1.29, "New York": 1.25, "Boston": 1.11,
    "Cleveland": 0.68, "Baltimore": 0.0,
}  # fmt: skip
WON = [
    [0, 7, 9, 7, 7, 9, 11],
    [6, 0, 7, 5, 11, 9, 9],
    [4, 6, 0, 7, 7, 8, 12],
    [6, 8, 6, 0, 6, 7, 10],
    [6, 2, 6, 7, 0, 7, 12],
    [4, 4, 5, 6, 6, 0, 6],
    [2, 4, 1, 3, 1, 7, 0],
]


def games(*won: tuple[str, str, int], outcome: str = "first") -> list[Preference]:
    """(winner, loser, times), each game a conversation of its own."""
    return [
        Preference(conversation=f"{a} {b} {game}", first=a, second=b, outcome=outcome)
        for a, b, times in won
        for game in range(times)
    ]


def values(preferences) -> dict[str, float]:
    return {name: one.value for name, one in bradley_terry(preferences, resamples=0).systems.items()}


def test_a_published_league():
    played = [(a, b, WON[i][j]) for i, a in enumerate(TEAMS) for j, b in enumerate(TEAMS) if i != j]
    found = values(games(*played))

    assert list(found) == list(TEAMS)
    assert {team: one - found["Baltimore"] for team, one in found.items()} == pytest.approx(TEAMS, abs=0.005)
    assert math.fsum(found.values()) == pytest.approx(0, abs=1e-9)


def test_two_systems_have_the_odds_of_their_wins():
    found = bradley_terry(games(("a", "b", 30), ("b", "a", 10)), resamples=0)

    assert found.systems["a"].value - found.systems["b"].value == pytest.approx(math.log(3))


def test_without_a_winner_it_is_half_a_win_for_either():
    won = games(("a", "b", 2), ("b", "a", 1))
    for outcome in ("tie", "both-bad"):
        found = values([*won, *games(("a", "b", 2), outcome=outcome)])
        assert found["a"] - found["b"] == pytest.approx(math.log(3 / 2))


COMPARED = st.lists(
    st.tuples(st.sampled_from(list(combinations("abcd", 2))), st.sampled_from(list(POINTS))),
    min_size=8,
    max_size=40,
)


@given(COMPARED, st.randoms())
def test_strengths_maximize_the_likelihood_whatever_the_order_of_comparisons(compared, random):
    preferences = [
        Preference(conversation=str(place), first=pair[0], second=pair[1], outcome=outcome)
        for place, (pair, outcome) in enumerate(compared)
    ]
    found = values(preferences)
    assert found == values(random.sample(preferences, len(preferences)))
    if any(isinstance(one, UndefinedNumber) for one in found.values()):
        return
    names = sorted(found)

    def unlikely(strengths) -> float:
        at = dict(zip(names, [0, *strengths], strict=True))
        return sum(
            points * math.log1p(math.exp(at[b] - at[a])) + (1 - points) * math.log1p(math.exp(at[a] - at[b]))
            for one in preferences
            for a, b, points in [(one.first, one.second, POINTS[one.outcome])]
        )

    best = optimize.minimize(unlikely, np.zeros(len(names) - 1), tol=1e-10).x
    assert [found[name] - found[names[0]] for name in names[1:]] == pytest.approx(best, abs=1e-3)


@from_table
def test_no_strength_is_infinite(won, reason):
    found = bradley_terry(games(*won))

    assert {one.value.reason.partition(", so")[0] for one in found.systems.values()} == {reason}
    assert list(found.systems) == sorted(found.systems)
    assert found.systems["a"].items == found.systems["a"].clusters > 0


def test_intervals_resample_conversations():
    """Each of ten conversations of ten says the same ten times: a hundred conversations of one know more."""
    outcomes = ["first"] * 6 + ["second"] * 4
    together, apart = (
        bradley_terry(
            [
                Preference(conversation=str(c if whole else (c, t)), first="a", second="b", outcome=outcome)
                for c, outcome in enumerate(outcomes * 2)
                for t in range(10)
            ]
        ).systems["a"]
        for whole in (True, False)
    )
    assert together.value == apart.value == pytest.approx(math.log(1.5) / 2)
    widths = [one.interval.high - one.interval.low for one in (together, apart)]
    assert widths[0] == pytest.approx(widths[1] * math.sqrt(10), rel=0.2)
    assert (together.clusters, together.items) == (20, 200)


def test_where_resamples_have_no_strength_too_often_there_is_no_interval():
    """One loss among six: without its conversation, as in a third of resamples, nothing bounds a."""
    found = bradley_terry(games(("a", "b", 5), ("b", "a", 1))).systems["a"]

    assert found.value == pytest.approx(math.log(5) / 2)
    assert isinstance(found.interval, UndefinedNumber)
    assert "% of resamples systems can't be compared" in found.interval.reason
    assert isinstance(bradley_terry(games(("a", "b", 8), ("b", "a", 8))).systems["a"].interval, Interval)


def test_what_the_algorithm_does_not_reach_is_not_given(monkeypatch):
    monkeypatch.setattr(module, "STEPS", 3)

    assert set(values(games(("a", "b", 9), ("b", "a", 1), ("b", "c", 9), ("c", "b", 1))).values()) == {SLOW}


def test_few_conversations_and_none():
    one = [
        Preference(conversation="c", first="a", second="b", outcome=outcome) for outcome in ("first", "tie")
    ]
    assert bradley_terry(one).systems["a"].interval == FEW
    assert bradley_terry([]).systems == {}
    with pytest.raises(ValueError, match="with itself"):
        bradley_terry(games(("a", "a", 1)))


@pytest.mark.parametrize("method", ["t", "percentile", "bca"])
def test_every_method_gives_an_interval_around_the_strength(method):
    found = bradley_terry(
        games(("a", "b", 9), ("b", "a", 6), ("b", "c", 9), ("c", "a", 7), ("a", "c", 8)), method=method
    )
    assert found == bradley_terry(
        games(("c", "a", 7), ("a", "c", 8), ("b", "c", 9), ("b", "a", 6), ("a", "b", 9)), method=method
    )
    for one in found.systems.values():
        assert one.interval.low < one.value < one.interval.high


def test_json_is_plain_and_has_the_best_first():
    found = json.loads(json.dumps(bradley_terry(games(("b", "a", 9), ("a", "b", 8))).to_json()))

    assert list(found) == ["b", "a"]
    assert found["b"]["value"] == pytest.approx(math.log(9 / 8) / 2)
