"""What people changed in a question; what the network is shown, and what it should say of it."""

from __future__ import annotations

from replay.coreference.reading.network import PREPOSITIONS
from replay.coreference.reading.sequence import Role, pair_of, sequence_of
from replay.coreference.training.examples import (
    edits_between,
    from_marks,
    from_pair,
    from_rewrite,
    lower_content_words,
    spans_of,
    token_span,
    without_background,
)
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


PIECES = pieces("he", "she", "was", "born", "where", "ann", "lee", "is", "a", "singer", "her", "song")
SINGER = document("Where was she born?", "Who is that?", "Ann Lee is a singer.")


def position(asked, text, segment=0):
    """The position of the token that *text* of a segment begins with; the question is segment 0."""
    found = sequence_of(PIECES, asked).segments[segment]
    return found.first + next(n for n, t in enumerate(found.tokens) if t.start >= found.text.index(text))


def test_a_rewrite_tells_where_it_leans_what_gives_way_and_what_is_meant():
    example = from_rewrite(PIECES, SINGER, "Where was Ann Lee born?", weight=0.5, source="s")
    she, ann = position(SINGER, "she"), position(SINGER, "Ann", 1)

    assert (example.inserts, example.deletes, example.possessives, example.untagged) == ([she], [she], [], [])
    assert example.pointers == [(she, [(ann, ann + 1)])]
    assert (example.prepositions, example.articles) == ({she: 0}, {she: 0})
    assert (example.weight, example.source, example.changed) == (0.5, "s", None)


def test_ids_and_roles_are_those_of_the_sequence():
    sequence = sequence_of(PIECES, SINGER)
    example = from_rewrite(PIECES, SINGER, SINGER.question)

    assert (example.ids, example.roles) == (sequence.ids, sequence.roles)
    assert example.asked == len(sequence.question.tokens) + 2


def test_an_insertion_has_its_preposition_and_leaves_nothing_out():
    asked = document("Was she born?", "Where?", "In the city.")
    example = from_rewrite(PIECES, asked, "Was she born in the city?")
    stop, city = position(asked, "?"), position(asked, "city", 1)

    assert (example.inserts, example.deletes) == ([stop], [])
    assert (example.prepositions, example.articles) == ({stop: PREPOSITIONS.index("in")}, {stop: 1})
    assert example.pointers == [(stop, [(city, city + 3)])]


def test_a_possessive_is_marked():
    asked = document("Was her song old?", "Who?", "Ann Lee.")

    assert from_rewrite(PIECES, asked, "Was Ann Lee's song old?").possessives == [position(asked, "her")]


def test_every_place_that_says_it_is_right():
    asked = document("Where was she born?", "Is Ann Lee a singer?", "Ann Lee is.")
    ((_, spans),) = from_rewrite(PIECES, asked, "Where was Ann Lee born?").pointers

    assert [first for first, _ in spans] == [position(asked, "Ann", 1), position(asked, "Ann", 2)]


def test_a_question_that_was_not_changed_leans_on_nothing():
    example = from_rewrite(PIECES, SINGER, SINGER.question)

    assert (example.inserts, example.deletes, example.untagged, example.pointers) == ([], [], [], [])


def test_a_rewrite_of_which_nothing_is_said_teaches_nothing():
    assert from_rewrite(PIECES, SINGER, "Where was Bob Ray born?") is None


def test_of_an_edit_that_was_not_said_the_tags_are_not_known():
    asked = document("Did he like her?", "Who?", "Ann Lee.")
    example = from_rewrite(PIECES, asked, "Did Bob like Ann Lee?")

    assert example.untagged == [position(asked, "he"), position(asked, "he")]
    assert example.inserts == example.deletes == [position(asked, "her")]


def test_what_people_marked_comes_before_what_alignment_finds():
    asked = document("Where was she born?", "Is Ann Lee?", "Ann Lee is a singer.")
    rewrite = "Where was the singer Ann Lee born?"
    ann = position(asked, "Ann", 1)
    ((_, marked),) = from_rewrite(PIECES, asked, rewrite, spans=["Ann Lee"]).pointers
    ((_, aligned),) = from_rewrite(PIECES, asked, rewrite).pointers

    assert (ann, ann + 1) in marked
    assert (ann, ann + 1) not in aligned


def test_under_another_history_the_same_words_lean_on_something_else():
    own = document(SINGER.question, "Who is that?", "Is her song a singer?")
    like = from_rewrite(PIECES, SINGER, "Where was Ann Lee born?")
    marked, lost = from_marks(PIECES, own, like, ["her song"]), from_marks(PIECES, own, like, [])
    her = position(own, "her", 1)

    assert marked.inserts == lost.inserts == like.inserts
    assert marked.deletes == lost.deletes == like.deletes
    assert (marked.pointers, lost.pointers) == ([(like.inserts[0], [(her, her + 1)])], [])
    assert marked.ids == sequence_of(PIECES, own).ids


def test_a_pair_is_taught_the_verdict_alone():
    own = document(SINGER.question, "Who is that?", "Nobody knows.")
    example = from_pair(PIECES, SINGER, own, ["Ann Lee"], changed=1.0, weight=2.0, source="pair s")
    sequence = pair_of(PIECES, SINGER, own, ["Ann Lee"])

    assert (example.ids, example.roles) == (sequence.ids, sequence.roles)
    assert Role.READING in example.roles
    assert (example.changed, example.weight, example.source) == (1.0, 2.0, "pair s")
    assert example.inserts == example.pointers == example.capitals == []


def test_capitals_are_learned_inside_sentences_of_answers():
    asked = document("Why?", "Is Ann a singer?", "Where is Ann? Is a Song born?", title="Ann Lee")
    example = from_rewrite(PIECES, asked, "Why?")
    said = {text: position(asked, text, 1) for text in ("is Ann", "Ann", "a Song", "Song", "born")}

    assert example.capitals == [
        (said["is Ann"], False),
        (said["Ann"], True),
        (said["a Song"], False),
        (said["Song"], True),
        (said["born"], False),
    ]


def test_an_answer_without_any_capital_teaches_none():
    assert from_rewrite(PIECES, document("Why?", "Who?", "ann lee is a singer"), "Why?").capitals == []


def test_without_background_the_turns_stay():
    whole = document("Why?", "Who?", "Ann.", title="t", section="s", background="b")

    assert without_background(whole) == document("Why?", "Who?", "Ann.")
