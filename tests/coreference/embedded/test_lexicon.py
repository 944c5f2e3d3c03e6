"""Nouns in the singular, and whose names are men's and women's."""

from __future__ import annotations

import pytest

from replay.coreference.embedded.lexicon import gender, singular


@pytest.mark.parametrize(
    ("word", "noun"),
    [
        ("albums", "album"),
        ("sons", "son"),
        ("cities", "city"),
        ("ties", "tie"),
        ("gas", "gas"),
        ("class", "class"),
        ("band", "band"),
    ],
)
def test_a_plural_loses_its_s(word, noun):
    assert singular(word) == noun


@pytest.mark.parametrize(
    ("key", "sex"),
    [
        ((), 0),
        (("mr", "lee"), 1),
        (("mrs", "lee"), -1),
        (("their", "uncle"), 1),
        (("first", "lady"), -1),
        (("stone", "garden"), 0),
    ],
)
def test_titles_and_relatives_tell_a_sex(key, sex):
    assert gender(key) == sex


def test_first_names_tell_how_surely():
    assert gender(("mary", "lee")) < -0.7
    assert gender(("john", "lee")) > 0.7
    assert gender(("lee", "mary")) != gender(("mary", "lee"))
