"""What counts as quoted from a history, and what doesn't."""

from __future__ import annotations

import pytest

from replay.coreference.service.quotes import QuotedText, find_quote, plain

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


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("red bike", "Red bike"),
        ("**Red bike**", "Red bike"),
        ("light_weight wheels", "light_weight wheels"),
        ("the blue bike - the cheaper", "Blue bike – the cheaper"),
        ("a Cafe rack", "Café rack"),
        # Several things, beside each other or not.
        ("the red bike and the blue bike", "Red bike, Blue bike"),
        ("the red one and the blue one", "Red, Blue"),
        ("Café rack, Rain cover & Red bike", "Café rack, Rain cover, Red bike"),
        ("Ann Lee und Cy", "Ann Lee, Cy"),
        # A row of a table.
        ("Basic plan | $10 | 5 GB", "Basic plan, $10, 5 GB"),
        ("Basic plan $10", "Basic plan, $10"),
        ("Pro plan (1 TB)", "Pro plan, 1 TB"),
        ("Pro plan: $1,000", "Pro plan, $1,000"),
        ("Ann Lee’s father Bob Ray", "Ann Lee's father, Bob Ray"),
        ("opens at 9:40", "opens at 9:40"),
    ],
)
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
