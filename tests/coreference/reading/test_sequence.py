"""What of a document the encoder reads, and in which order."""

from __future__ import annotations

from hypothesis import given, strategies as st

from replay.coreference.reading.sequence import MAX_QUESTION, MAX_TOKENS, Role, pair_of, sequence_of
from tests.coreference.reading.made_up import document, pieces

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
