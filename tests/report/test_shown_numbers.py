"""Numbers as pages show them."""

from __future__ import annotations

import pytest

from replay.report.numbers import duration, number


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.5234, "share", "52.3"),
        (None, "share", "–"),
        (-0.00001, "share", "0.0"),
        (-0.021, "share", "−2.1"),
        (0.0004, "s", "0.4 ms"),
        (3.14159, "", "3.14"),
        (12345.6, "tokens", "12,346"),
    ],
)
def test_numbers_are_shown_in_their_unit(value, unit, shown):
    assert number(value, unit) == shown


def test_a_difference_has_its_sign():
    assert number(0.021, signed=True) == "+2.1"
    assert number(0.0, signed=True) == "0.0"


def test_durations_are_said_as_people_say_them():
    assert [duration(s) for s in (0.0123, 3.2, 250, 7320, None)] == [
        "12.3 ms",
        "3.2 s",
        "4 min 10 s",
        "2 h 2 min",
        "–",
    ]
