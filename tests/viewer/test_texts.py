"""Untrusted text, word by word."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.core.safe_text import clip, visible
from replay.report.numbers import duration, number
from replay.viewer.word_diff import against, edit


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


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.5234, "share", "52.3"),
        (None, "share", "–"),
        (-0.00001, "share", "0.0"),
        (-0.021, "share", "−2.1"),
        (0.0004, "s", "0.4 ms"),
        (3.14159, "", "3.14"),
        (12345.6, "tokens", "12,346"),
    ],
)
def test_numbers_are_shown_in_their_unit(value, unit, shown):
    assert number(value, unit) == shown


def test_a_difference_has_its_sign():
    assert number(0.021, signed=True) == "+2.1"
    assert number(0.0, signed=True) == "0.0"


def test_durations_are_said_as_people_say_them():
    assert [duration(s) for s in (0.0123, 3.2, 250, 7320, None)] == [
        "12.3 ms",
        "3.2 s",
        "4 min 10 s",
        "2 h 2 min",
        "–",
    ]
