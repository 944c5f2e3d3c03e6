"""Untrusted text, word by word."""

from __future__ import annotations

from hypothesis import given, strategies as st

from replay.core.terminal import clip, visible
from replay.web.pages import MOST_WORDS, against, differing, edit
from tests.data_tables import from_table


def test_what_misleads_a_reader_is_shown_by_sign_or_number():
    assert visible("a\x00b\u202ec\udc80") == "a␀b⟨U+202E⟩c⟨U+DC80⟩"
    assert visible("tab\tand\nnew line") == "tab\tand\nnew line"


@given(st.text(st.characters()))
def test_visible_text_fits_utf8_and_has_nothing_left_to_show(text):
    shown = visible(text)
    shown.encode("utf-8")
    assert visible(shown) == shown


@given(st.text(max_size=400), st.integers(1, 50), st.integers(51, 200))
def test_nothing_of_a_clipped_text_is_lost_unsaid(text, first, most):
    cut = clip(text, first=first, most=most)
    assert text.startswith(cut.text + cut.rest)
    assert len(cut.text) + len(cut.rest) + cut.left_out == len(text)


def test_an_edit_shows_what_was_taken_out_and_put_in():
    pieces = edit("Where was she born?", "Where was Alice Okafor born?")
    assert [(p.kind, p.text) for p in pieces] == [
        ("same", "Where was"),
        ("missing", " she"),
        ("added", " Alice Okafor"),
        ("same", " born?"),
    ]


words = st.lists(st.sampled_from(["a", "b", "c", "d", "the", "Yes.", "no"]), max_size=12).map(" ".join)


@given(words, words)
def test_an_edit_holds_both_texts_whole(before, after):
    pieces = edit(before, after)
    assert "".join(p.text for p in pieces if p.kind != "missing").split() == after.split()
    assert "".join(p.text for p in pieces if p.kind != "added").split() == before.split()


def test_an_answer_is_compared_without_case_and_punctuation():
    gold, answer = against("In Port Ellis.", "It was in Port Ellis, I think")
    assert [(p.kind, p.text) for p in gold] == [("same", "In Port Ellis.")]
    assert [p.text for p in answer if p.kind == "added"] == ["It was", " I think"]


def test_texts_too_long_to_compare_are_not_compared():
    assert against("word " * 2000, "word") is None


@from_table
def test_words_that_the_other_text_lacks_are_marked(text, other, marked):
    pieces = differing(text, other)
    assert "".join(piece.text for piece in pieces) == text
    assert [piece.text for piece in pieces if piece.kind == "added"] == marked


def test_a_long_text_is_marked_as_a_whole():
    text = "word " * (MOST_WORDS + 1)
    assert [piece.kind for piece in differing(text, text + "more")] == ["added"]
