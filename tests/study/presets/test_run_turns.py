from __future__ import annotations

import pytest

from replay.core.history import Exchange
from replay.study.preset import Text
from replay.study.presets.run_turns import both_histories


def talk(words: str) -> tuple[Exchange, ...]:
    return tuple(Exchange(question=f"{word}?", answer=word) for word in words)


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        ("", "", []),
        ("ab", "ab", ["both from 1: ab"]),
        ("abc", "axc", ["both from 1: a", "one from 2: bc", "other from 2: xc"]),
        ("xb", "ab", ["one from 1: xb", "other from 1: ab"]),
        ("ab", "a", ["both from 1: a", "one from 2: b", "other: (nothing)"]),
    ],
)
def test_two_histories_are_shown_once_as_far_as_they_are_the_same(first, second, shown):
    def words(block) -> str:
        if isinstance(block, Text):
            return f"{block.heading}: {block.text}"
        return f"{block.heading} from {block.first}: " + "".join(one.answer for one in block.exchanges)

    blocks = both_histories(talk(first), talk(second), shared="both", apart=("one", "other"))

    assert [words(one) for block in blocks for one in getattr(block, "blocks", (block,))] == shown
