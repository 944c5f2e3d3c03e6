"""Lists in a text, by commas and conjunctions, bullets and numbers."""

from __future__ import annotations

import pytest

from replay.coreference.embedded.enumerations import enumerations
from replay.coreference.words import tokens


def listed(text):
    """The items of each list in *text*."""
    return [[text[start:end] for start, end in found.items] for found in enumerations(text, tokens(text))]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("We have the Aero 13, the Vento 15 and the Pico S.", ["the Aero 13", "the Vento 15", "the Pico S"]),
        ("red, green, and white wine", ["red", "green", "white wine"]),
        ("tea or coffee?", ["tea", "coffee"]),
        ("Jack & Jill", ["Jack", "Jill"]),
        ("Sure. Ann, and Bob", ["Ann", "Bob"]),
        ("my aunt's shop and her mill", ["my aunt's shop", "her mill"]),
    ],
)
def test_things_that_are_joined_are_a_list(text, items):
    assert listed(text) == [items]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("Two bikes:\n- Aero: a fast one\n- **Vento**, slow\n* Pico (small)", ["Aero", "Vento", "Pico"]),
        ("1. Aero – fast\n2) Vento\n(3) “Pico”!", ["Aero", "Vento", "Pico"]),
        ("1. Aero. 2. Vento. 3. Pico", ["Aero", "Vento", "Pico"]),
        ("- one two three four five six seven\n- nine", ["one two three four five six", "nine"]),
    ],
)
def test_bulleted_and_numbered_lines_are_a_list_of_what_they_open_with(text, items):
    assert listed(text) == [items]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- only one",
        "and Bob",
        "Bob and",
        "Ann and tea",  # a name and none
        "tea and the large old black coffee",  # of other lengths
        "in the morning, at noon",
        "a well-known 3-day tour",
    ],
)
def test_what_is_no_list(text):
    assert listed(text) == []


def test_several_lists_are_told_apart_and_bullets_come_first():
    assert listed("red, green and blue; tea or coffee") == [["red", "green", "blue"], ["tea", "coffee"]]
    assert listed("tea or coffee\n- Aero\n- Vento") == [["Aero", "Vento"], ["tea", "coffee"]]


def test_a_list_has_twelve_items_at_most():
    numbers = [f"x{number}" for number in range(20)]
    (by_lines,) = listed("\n".join(f"- {one}" for one in numbers))
    (by_commas,) = listed(f"{', '.join(numbers)} and z")

    assert by_lines == numbers[:12]
    assert len(by_commas) == 12


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("Red, green or blue?", "Red, green or blue"),
        ("- Aero: fast\n- Vento\n- Pico", "Aero, Vento and Pico"),
        (
            "alpha beta gamma delta, " * 4 + "and omega",
            "alpha beta gamma delta, " * 3 + "alpha beta gamma delta and omega",
        ),
    ],
)
def test_a_list_is_said_as_it_stands_unless_it_has_lines_or_many_words(text, joined):
    found = enumerations(text, tokens(text))

    assert [one.joined(text) for one in found] == [joined]
