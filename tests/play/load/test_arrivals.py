"""
Arrival processes: their laws, with seeded generators and without a clock.

Traces: our own format, published ones, and every fault with its line and field.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from itertools import islice, pairwise, takewhile

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import kstest, pearsonr, poisson

from replay.core.conversation import Conversation, Turn
from replay.core.errors import DatasetError, InputError
from replay.datasets import json_rows
from replay.play.load.arrivals import (
    Arrival,
    constant_arrivals,
    poisson_arrivals,
    ramp_up,
    read_trace,
    recorded_arrivals,
)
from tests.data_tables import from_table

UNLIKELY = 1e-3
"""A test of a law fails below this p-value. Seeds are fixed, so none fails by chance; none was chosen."""


def until(arrivals, end_s):
    return list(takewhile(lambda at: at < end_s, arrivals))


def test_constant_arrivals_are_evenly_spaced():
    assert list(islice(constant_arrivals(4), 5)) == [0, 0.25, 0.5, 0.75, 1]


def test_constant_arrivals_do_not_drift():
    """A sum of a million gaps of 0.1 s would be 1.6e-6 s off."""
    assert next(islice(constant_arrivals(10), 1_000_000, None)) == 100_000


def test_poisson_gaps_are_exponential():
    gaps = np.diff(list(islice(poisson_arrivals(5, random.Random(1)), 20_000)), prepend=0.0)

    assert kstest(gaps, "expon", args=(0, 1 / 5)).pvalue > UNLIKELY
    assert gaps.mean() == pytest.approx(0.2, rel=0.03)
    assert gaps.var() == pytest.approx(0.04, rel=0.05)
    assert pearsonr(gaps[:-1], gaps[1:]).pvalue > UNLIKELY


def test_poisson_counts_in_windows_have_the_mean_and_variance_of_the_law():
    counts = Counter(int(at / 2) for at in until(poisson_arrivals(3, random.Random(2)), 10_000))
    found = np.array([counts[window] for window in range(5_000)])

    assert found.mean() == pytest.approx(6, rel=0.02)
    assert found.var() == pytest.approx(6, rel=0.05)
    assert (found <= 4).mean() == pytest.approx(poisson.cdf(4, 6), abs=0.02)


def test_the_same_seed_gives_the_same_arrivals_and_another_seed_others():
    first, same, other = (list(islice(poisson_arrivals(1, random.Random(seed)), 100)) for seed in (1, 1, 2))
    assert first == same
    assert first != other


@pytest.mark.parametrize("ramp_s", [0.0, 3.0, 10.0])
def test_a_ramp_lets_as_many_through_as_its_rate_adds_up_to(ramp_s):
    """R t^2 / (2 ramp) by t in the ramp, R (t - ramp / 2) after it."""
    rate = 200.0
    at = until(ramp_up(constant_arrivals(rate), ramp_s), 20)
    for t in (0.5, 1, 2, 2.9, 3.1, 5, 9.9, 10.1, 19.9):
        due = rate * t**2 / (2 * ramp_s) if t < ramp_s else rate * (t - ramp_s / 2)
        assert sum(a < t for a in at) == pytest.approx(due, abs=1.001)


def test_a_ramped_poisson_process_is_poisson_with_the_rising_rate():
    """Given their number, arrivals within the ramp are independent with density 2 t / ramp^2."""
    at = np.array(until(ramp_up(poisson_arrivals(2000, random.Random(3)), 10), 15))
    within, after = at[at < 10], at[at >= 10]

    assert len(within) == pytest.approx(10_000, abs=3 * 100)
    assert len(after) == pytest.approx(10_000, abs=3 * 100)
    assert kstest(within, lambda t: np.clip(t, 0, 10) ** 2 / 100).pvalue > UNLIKELY
    assert kstest(after, "uniform", args=(10, 5)).pvalue > UNLIKELY


def test_without_a_ramp_arrivals_stay_as_they_are():
    assert list(ramp_up([0.0, 0.1, 7.3], 0)) == [0.0, 0.1, 7.3]


@given(
    st.floats(1e-3, 1e6),
    st.one_of(st.just(0.0), st.floats(1e-3, 1e6)),
    st.one_of(st.none(), st.integers(0, 2**32)),
)
def test_arrivals_never_go_back(rate, ramp_s, seed):
    arrivals = constant_arrivals(rate) if seed is None else poisson_arrivals(rate, random.Random(seed))
    at = list(islice(ramp_up(arrivals, ramp_s), 200))
    assert at[0] >= 0
    assert all(a <= b and math.isfinite(b) for a, b in pairwise(at))


def trace(tmp_path, text, name="trace.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def times(path):
    return [arrival.at_s for arrival in read_trace(path)]


def test_a_table_says_when_what_begins_and_how_long_users_think(tmp_path):
    path = trace(
        tmp_path,
        "conversation,at_s,gaps_s\r\nalbum,10,2;0.5; 10\r\n,12.5,\r\n\r\n"
        'shop, 12.5 ,"[1, 2.5]"\r\n17,13,3\r\n',
    )
    assert list(read_trace(path)) == [
        Arrival(line=2, at_s=0.0, conversation="album", gaps_s=(2.0, 0.5, 10.0)),
        Arrival(line=3, at_s=2.5),
        Arrival(line=5, at_s=2.5, conversation="shop", gaps_s=(1.0, 2.5)),
        Arrival(line=6, at_s=3.0, conversation="17", gaps_s=(3.0,)),
    ]


def test_json_lines_say_the_same(tmp_path):
    rows = [
        {"at_s": 10, "conversation": "album", "gaps_s": [2, 0.5, 10]},
        {"at_s": 12.5},
        {"at_s": 12.5, "conversation": 17, "gaps_s": []},
        {"at_s": 20, "conversation": None, "gaps_s": None},
    ]
    path = trace(tmp_path, "\n".join(map(json.dumps, rows)), "trace.jsonl")
    assert list(read_trace(path)) == [
        Arrival(line=1, at_s=0.0, conversation="album", gaps_s=(2.0, 0.5, 10.0)),
        Arrival(line=2, at_s=2.5),
        Arrival(line=3, at_s=2.5, conversation="17", gaps_s=()),
        Arrival(line=4, at_s=10.0),
    ]


def test_dates_are_made_relative_to_the_first(tmp_path):
    path = trace(tmp_path, "at_s\n2024-05-01T23:59:59.5Z\n2024-05-02T00:00:01Z\n2024-05-02T02:00:02+02:00\n")
    assert times(path) == [0, 1.5, 2.5]


@from_table
def test_of_published_traces_the_times_are_taken(tmp_path, name, text, expected):
    found = list(read_trace(trace(tmp_path, text, name)))
    assert [arrival.at_s for arrival in found] == pytest.approx(expected, abs=1e-6)
    assert all(arrival.conversation is None and arrival.gaps_s is None for arrival in found)


ISO = "seconds or ISO 8601, as in 2024-05-01T12:00:00Z"
FIELDS = "(allowed: at_s, conversation, gaps_s)"


@from_table
def test_a_fault_is_named_by_file_line_and_field(tmp_path, text, fault):
    path = trace(tmp_path, text)
    with pytest.raises(DatasetError) as caught:
        list(read_trace(path))
    assert str(caught.value) == f"{path}{fault}"


def test_a_line_that_is_not_utf_8_is_named(tmp_path):
    with pytest.raises(DatasetError, match=":2: is not UTF-8: found the byte 0xe9; save the file as UTF-8"):
        list(read_trace(trace(tmp_path, b"at_s,conversation\n1,caf\xe9\n")))


def test_a_line_without_an_end_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(json_rows, "LONGEST_LINE_BYTES", 20)
    with pytest.raises(DatasetError, match=r":2: .*longer than"):
        list(read_trace(trace(tmp_path, "at_s\n" + "1" * 21)))


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(DatasetError, match="no such file"):
        list(read_trace(tmp_path / "missing.csv"))


def test_a_long_trace_is_not_read_at_once(tmp_path):
    path = trace(tmp_path, "at_s\n0\n1\nbad\n")
    assert [arrival.at_s for arrival in islice(read_trace(path), 2)] == [0, 1]


@given(st.lists(st.floats(0, 1e9), min_size=1))
def test_what_is_read_begins_at_0_and_never_goes_back(tmp_path_factory, at):
    path = trace(tmp_path_factory.mktemp("trace"), "at_s\n" + "".join(f"{t!r}\n" for t in sorted(at)))
    found = times(path)
    assert found[0] == 0
    assert all(a <= b for a, b in pairwise(found))
    assert len(found) == len(at)


def talk(name: str, *timestamps: object) -> Conversation:
    turns = tuple(Turn(id=f"{name}#{n}", question="Where?") for n in range(1, max(1, len(timestamps)) + 1))
    metadata = {"timestamps": list(timestamps)} if timestamps else {}
    return Conversation(id=name, turns=turns, metadata=metadata)


def test_conversations_come_in_the_order_of_their_first_questions():
    """Seconds and dates alike, from the first on; of several at once in the data's order."""
    found = recorded_arrivals(
        [
            talk("late", "2026-01-02T00:01:30Z", "2026-01-02T00:05:00Z"),
            talk("early", "2026-01-02T00:00:00Z"),
            talk("with", "2026-01-02T01:01:30+01:00"),
        ]
    )

    assert [(one.conversation, one.at_s) for one in found] == [("early", 0), ("late", 90), ("with", 90)]
    assert [one.at_s for one in recorded_arrivals([talk("b", 7.5, None), talk("a", 7)])] == [0, 0.5]
    assert recorded_arrivals([]) == []


@pytest.mark.parametrize(
    ("conversation", "message"),
    [
        (talk("c7"), 'conversation "c7": there is no timestamp of turn 1.*give every first question'),
        (talk("c7", None, 3), 'conversation "c7": there is no timestamp of turn 1'),
        (talk("c7", "noon"), r'conversation "c7": metadata.timestamps\[0\]: "noon" is not a time'),
    ],
)
def test_a_conversation_without_a_time_is_named(conversation, message):
    with pytest.raises(InputError, match=message):
        recorded_arrivals([talk("c1", 1), conversation])
