"""What people changed in a question, and where the history says it."""

from __future__ import annotations

from replay.coreference.reading.network import PREPOSITIONS
from replay.coreference.reading.sequence import sequence_of
from replay.coreference.training.examples import edits_between, lower_content_words, spans_of, token_span
from tests.coreference.reading.made_up import document, pieces
from tests.data_tables import from_table


def edits(question, rewrite):
    """What gives way, and what is put: preposition, whether an article, text, whether a possessive."""
    return [
        (question[e.start : e.end], PREPOSITIONS[e.preposition], e.has_article, e.text, e.is_possessive)
        for e in edits_between(question, rewrite)
    ]


@from_table
def test_an_edit_is_what_was_put_less_the_words_around_it(question, rewrite, edit):
    assert edits(question, rewrite) == [edit]


def test_an_insertion_comes_before_the_word_that_it_precedes():
    (edit,) = edits_between("Was she born?", "Was she born in Rome?")
    (last,) = edits_between("Was she born", "Was she born in Rome")

    assert (edit.start, edit.end) == (12, 12)
    assert (last.start, last.end) == (12, 12)


def test_several_edits_come_in_order():
    assert [e[0] for e in edits("Did he like her song?", "Did Bob like Ann's song?")] == ["he", "her"]


@from_table
def test_what_puts_no_content_word_is_no_edit(question, rewrite):
    assert edits(question, rewrite) == []


def test_content_words_are_lower_case_without_function_words_and_stops():
    assert lower_content_words("Did the U.S. band's Ann-Lee sing?") == ["u.s", "band", "ann-lee", "sing"]


ASKED = document("Why?", "Is Blue Moon old?", "The album Blue Moon by the band. It is old.")


def spans(text, asked=ASKED):
    """The texts that *text* is found at in the history."""
    sequence = sequence_of(pieces(), asked)
    found = []
    for first, last in spans_of(text, sequence.history):
        (segment,) = [s for s in sequence.history if s.first <= first < s.first + len(s.tokens)]
        inside = segment.tokens[first - segment.first], segment.tokens[last - segment.first]
        found.append(segment.text[inside[0].start : inside[1].end])
    return found


def test_a_text_is_found_wherever_it_is_said_whatever_its_case():
    assert spans("blue moon") == ["Blue Moon", "Blue Moon"]


def test_a_text_is_not_found_inside_a_word():
    assert spans("lbum") == []
    assert spans("old") == ["old", "old"]


@from_table
def test_a_text_that_is_not_said_to_the_letter_is_found_where_its_words_are(text, found):
    assert spans(text) == found


def test_what_was_not_read_is_not_found():
    long = document("Why?", "Who?", "word " * 400 + "Ann Lee")

    assert spans("Ann Lee", long) == []


def test_a_token_span_holds_the_characters():
    segment = sequence_of(pieces(), ASKED).history[0]
    first, last = token_span(segment, 5, 9)

    assert segment.tokens[first - segment.first].start <= 5
    assert segment.tokens[last - segment.first].end >= 9
    assert token_span(segment, 0, len(segment.text) + 1) is None
