"""Where a system is saturated, without any objective."""

from __future__ import annotations

import heapq
import random
import statistics
from collections import deque
from dataclasses import replace

import pytest

from replay.statistics.load.load_cell import LoadCell
from replay.statistics.load.load_findings import saturation
from replay.statistics.load.load_level import LevelSummary, Rates
from tests.data_tables import from_table
from tests.statistics.load.test_load_words import NO_RATES, PLAYED, taking


def level(
    value: float | None,
    throughput: float | None,
    response_s: float = 0.1,
    *,
    turns: int = 400,
    errors: float = 0.0,
    late_s: float = 0.0,
    **played: object,
) -> LevelSummary:
    answered = round(turns * (1 - errors))
    rates: Rates = replace(NO_RATES, turns_answered=throughput)
    return LevelSummary(
        played=replace(PLAYED, name=f"concurrency {value:g}" if value else "trace", value=value, **played),
        warm_up_turns=0,
        rates=rates,
        tokens_from=None,
        total=LoadCell(
            turns=turns,
            outcomes={"answered": answered, "refused": turns - answered},
            latency=taking(response_s),
            response=taking(response_s) if answered else None,
        ),
        groups=(),
        goodput=None,
        errors=(),
        lateness=taking(late_s),
    )


CLOSED = [level(2, 34, 0.052), level(4, 70, 0.055), level(8, 145, 0.053), level(16, 151, 0.103)]
"""A server of eight at a time and 50 ms each."""


def found_at(levels):
    found = saturation(levels)
    return found.found, found.at.value


def test_a_server_of_eight_at_a_time_is_saturated_by_eight():
    found = saturation([*CLOSED, level(32, 151, 0.207)])

    assert (found.found, found.at.value, found.is_lowest) == ("saturated", 8, False)
    assert (found.beyond.value, found.beyond.throughput, found.beyond.response_p50_s) == (16, 151, 0.103)


@pytest.mark.parametrize(("throughput", "at"), [(121, 8), (120, 16)])
def test_within_a_fifth_of_the_most_is_as_good_as_the_most(throughput, at):
    levels = [*CLOSED[:2], level(8, throughput, 0.055), CLOSED[3], level(32, 151, 0.207)]
    assert found_at(levels) == ("saturated", at)


@pytest.mark.parametrize(("further", "finding"), [(12, "saturated"), (11.9, "untested")])
def test_half_as_much_load_again_has_to_be_offered(further, finding):
    assert saturation([level(4, 40), level(8, 80), level(further, 90, 0.13)]).found == finding


@pytest.mark.parametrize(("response_s", "finding"), [(0.121, "saturated"), (0.119, "not-the-system")])
def test_whoever_waits_for_the_system_waits_a_fifth_longer(response_s, finding):
    assert saturation([level(4, 40), level(8, 80), level(16, 82, response_s)]).found == finding


def test_the_order_in_which_levels_were_played_is_no_matter():
    assert saturation(CLOSED[::-1]) == saturation(CLOSED)


@pytest.mark.parametrize("rates", [(1, 2, 4, 8), (8, 4, 2, 1)])
def test_arrivals_beyond_what_is_borne_saturate_too(rates):
    """Ten turns a conversation, thirty turns a second borne; beyond, the queue grows while it is measured."""
    borne = {1: (10, 0.1), 2: (20, 0.12), 4: (29, 1.4), 8: (28, 4.0)}
    assert found_at([level(rate, *borne[rate]) for rate in rates]) == ("saturated", 4)


def test_a_system_that_gets_less_done_under_more_load_is_saturated_at_its_best():
    assert found_at([level(4, 40), level(8, 80), level(16, 30, 0.5)]) == ("saturated", 8)


def test_a_system_that_turns_load_away_is_saturated_though_its_answers_are_quick():
    assert found_at([level(4, 40), level(8, 80), level(16, 80, errors=0.5)]) == ("saturated", 8)
    assert saturation([level(4, 40), level(8, 80), level(16, 0, errors=1.0)]).found == "saturated"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("levels", "finding"),
    [
        ([level(2, 34), level(4, 70), level(8, 145)], "growing"),
        ([level(4, 40), level(8, 80), level(9, 81), level(10, 82)], "untested"),
        ([level(4, 40), level(8, 80, turns=60), level(16, 82, 0.2, turns=60)], "few-turns"),
        ([level(4, 40), level(8, 80), level(16, 82, 0.11)], "not-the-system"),
        ([level(4, 40), level(8, 80), level(16, 82, 0.5, late_s=0.4)], "not-the-system"),
    ],
    ids=["growing", "untested", "few", "no-slower", "late-generator"],
)
def test_where_the_levels_do_not_say_so_nothing_is_called_saturated(levels, finding):
    assert saturation(levels).found == finding


def test_a_lowest_level_that_is_saturated_already_is_said_to_be_the_lowest():
    found = saturation([level(8, 80, 0.1), level(16, 81, 0.2), level(32, 79, 0.4)])

    assert (found.found, found.at.value, found.is_lowest) == ("saturated", 8, True)


@pytest.mark.parametrize(
    "levels",
    [
        [],
        CLOSED[:2],
        [level(None, 34), level(None, 70), level(None, 145)],
        [level(8, 70), level(8, 75), level(16, 80)],
        [level(4, 40), level(8, 80), level(16, 81, 0.2, interrupted=True)],
        [level(4, 0, errors=1.0), level(8, 0, errors=1.0), level(16, 0, errors=1.0)],
    ],
    ids=["none", "two", "as-recorded", "alike", "interrupted", "nothing-answered"],
)
def test_of_too_few_levels_nothing_is_said(levels):
    assert saturation(levels) is None


def test_of_the_same_load_played_twice_the_better_counts():
    found = saturation([level(4, 40), level(8, 30, 0.9), level(8, 80), level(16, 82, 0.2)])

    assert (found.found, found.at.throughput) == ("saturated", 80)


def closed_system(users: int, servers: int, think_s: float, rng: random.Random) -> LevelSummary:
    """Twenty seconds of users who think, wait for one of so many servers, and are served in half a second."""
    events = [(rng.expovariate(1 / think_s) if think_s else 0.0, user, "asks") for user in range(users)]
    heapq.heapify(events)
    free, queue, since, responses = servers, deque[int](), {}, []
    while events[0][0] < 24:
        now, user, what = heapq.heappop(events)
        if what == "asks":
            since[user] = now
            queue.append(user)
        else:
            free += 1
            if now > 4:
                responses.append(now - since[user])
            heapq.heappush(events, (now + (rng.expovariate(1 / think_s) if think_s else 0.0), user, "asks"))
        if free and queue:
            free -= 1
            heapq.heappush(events, (now + rng.expovariate(2), queue.popleft(), "served"))
    return level(users, len(responses) / 20, statistics.median(responses), turns=len(responses))


@from_table
def test_in_simulated_systems_it_is_where_it_should_be(users, servers, think_s, found, at):
    """Without a limit, and with one: as many users as servers, or that keep them busy between thoughts."""
    rng = random.Random(7)
    said = [saturation([closed_system(n, servers, think_s, rng) for n in users]) for _ in range(30)]

    assert sum(one is not None and (one.found, one.at.value) == (found, at) for one in said) >= 27
    assert found == "saturated" or not any(one and one.found == "saturated" for one in said)
