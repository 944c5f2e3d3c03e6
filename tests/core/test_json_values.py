"""JSON values compared as such."""

from __future__ import annotations

import pytest

from replay.core.decoding import holds_json, same_json


@pytest.mark.parametrize(
    ("whole", "part", "same", "holds"),
    [
        (1, 1.0, True, True),
        (True, 1, False, False),
        (False, 0, False, False),
        (None, None, True, True),
        (None, False, False, False),
        ("1", 1, False, False),
        ([1, [2]], [1, [2]], True, True),
        ([1, 2], [1], False, False),
        ([True], [1], False, False),
        ({"a": 1, "b": {"c": 2}}, {"b": {"c": 2}, "a": 1}, True, True),
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": 2}}, False, True),
        ({"a": None}, {}, False, True),
        ({}, {"a": None}, False, False),
        ({}, [], False, False),
    ],
)
def test_values_are_the_same_or_hold_another_as_json_has_them(whole, part, same, holds):
    assert (same_json(whole, part), holds_json(whole, part)) == (same, holds)
