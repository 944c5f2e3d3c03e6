from __future__ import annotations

import pytest

from replay.core.history import Exchange
from replay.study.presets.run_turns import both_histories


def talk(words: str) -> tuple[Exchange, ...]:
    return tuple(Exchange(question=f"{word}?", answer=word) for word in words)


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        ("", "", []),
        ("ab", "ab", ["both: ab"]),
        ("abc", "axc", ["both: a", "one: bc", "other: xc"]),
        ("xb", "ab", ["one: xb", "other: ab"]),
        ("ab", "a", ["both: a", "one: b", "other: (nothing)"]),
    ],
)
def test_two_histories_are_shown_once_as_far_as_they_are_the_same(first, second, shown):
    blocks = both_histories(talk(first), talk(second), shared="both", apart=("one", "other"))

    flat = [inner for block in blocks for inner in getattr(block, "blocks", (block,))]
    assert shown == [
        f"{one.heading}: " + (getattr(one, "text", "") or "".join(e.answer for e in one.exchanges))
        for one in flat
    ]
