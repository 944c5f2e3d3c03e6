"""Texts in pieces: what is code or a table, and that nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.study.pages.server import paragraphs, pieces
from tests.data_tables import from_table

LINES = st.sampled_from(
    ["| a | b |", "+---+", "```", "  ```py", "a\tb", "words", "", " ", "\t", "|", "\r", "    x"]
)


@given(st.lists(LINES).map("\n".join) | st.text())
def test_pieces_put_together_are_the_text(text):
    found = pieces(text)
    assert "".join(piece.text for piece in found) == text
    assert all(piece.text for piece in found)


@from_table
def test_code_and_tables_keep_their_lines(text, fixed):
    assert [piece.text for piece in pieces(text) if piece.fixed] == fixed


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One line\nand its rest.\n\nAnother.\n", ["One line and its rest.", "Another."]),
        ("Bring:\n- a pen\n- paper\n  or a card", ["Bring:\n- a pen\n- paper or a card"]),
        ("1. Read.\r\n2. Judge.\r\n \r\nDone.", ["1. Read.\n2. Judge.", "Done."]),
    ],
)
def test_a_paragraph_is_one_line_but_for_the_items_of_a_list(text, found):
    assert paragraphs(text) == found
