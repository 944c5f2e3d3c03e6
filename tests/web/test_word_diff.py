"""What is marked where two texts stand beside each other."""

from __future__ import annotations

import pytest

from replay.web.word_diff import MOST_WORDS, differing


@pytest.mark.parametrize(
    ("text", "other", "marked"),
    [
        ("Ann wrote it in 1921.", "Bea wrote it in 1921.", ["Ann"]),
        ("Ann wrote it.", "Ann wrote it.", []),
        ("Ann wrote it, and Bea read it.", "Ann wrote it, and Bea", [" read it."]),
        ("Nothing of that.", "In 1921 by hand", ["Nothing of that."]),
    ],
)
def test_words_that_the_other_text_lacks_are_marked(text, other, marked):
    pieces = differing(text, other)
    assert "".join(piece.text for piece in pieces) == text
    assert [piece.text for piece in pieces if piece.kind == "added"] == marked


def test_a_long_text_is_marked_as_a_whole():
    text = "word " * (MOST_WORDS + 1)
    assert [piece.kind for piece in differing(text, text + "more")] == ["added"]
