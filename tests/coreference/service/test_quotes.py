"""What counts as quoted from a history, and what doesn't."""

from __future__ import annotations

import pytest

from replay.coreference.service.quotes import QuotedText, find_quote, plain
from tests.data_tables import from_table

ANSWER = """## Our bikes

We have a few:

- **Red bike**: *fast*, with `light_weight` wheels
- [Blue bike](https://example.org/blue_bike) – the cheaper
1. Café rack
2. Rain cover

| Plan | Price | Space |
|:-----|------:|-------|
| Basic plan | $10 | 5 GB |
| Pro plan | $1,000 | 1 TB |

Ann Lee's father, Bob Ray, opens at 9:40."""
TEXTS = [QuotedText("answer", ANSWER), QuotedText("question", "Who is Cy?")]


@from_table
def test_what_stands_there_is_found_in_whatever_marks(quote, found):
    assert find_quote(plain(quote), TEXTS) == ("answer", found)


@pytest.mark.parametrize(
    "quote",
    ["green bike", "the red one and the green one", "Red bike, Blue car", "Re", "Ann Bob", "Ann and she"],
)
def test_what_does_not_stand_there_is_not_found(quote):
    assert find_quote(plain(quote), TEXTS) is None


def test_the_first_text_that_has_it_counts():
    assert find_quote("cy", [QuotedText("answer", "Bob"), *TEXTS[1:], QuotedText("answer", "Cy")]) == (
        "question",
        "Cy",
    )
