"""How what is meant is put into a question, and what was left out of it."""

from __future__ import annotations

import pytest

from replay.coreference.reading.mentions import ellipsis_of
from tests.coreference.reading.made_up import MadeUp, document
from tests.coreference.reading.test_decode import read, rewritten
from tests.data_tables import from_table


def it(answer, meant, question="Did it sell?", before="it", without="it", **how):
    asked = document(question, "What?", answer)
    return MadeUp(asked).leans(before, without=without, **how).means(before, meant)


def test_the_article_is_what_both_places_say():
    made = it("He wrote a song.", "song").puts("it", article="the")
    bare = it("He wrote song after song.", "song")
    bare.output.article_here[bare.position("it")] = (1.0, 2.0)
    there = bare.position("song", bare.sequence.history[0])
    bare.output.article_there[there] = (3.0, 0.0)

    assert rewritten(made) == "Did the song sell?"
    assert rewritten(bare) == "Did song sell?"


def test_what_was_said_with_an_article_stands_with_one_where_it_replaces_a_pronoun():
    assert rewritten(it("He wrote a song.", "song").puts("it", article="")) == "Did the song sell?"


@pytest.mark.parametrize("article", ["a", "an", "the", "The"])
def test_an_article_that_was_said_becomes_the(article):
    assert rewritten(it(f"It was {article} old song.", f"{article} old song")) == "Did the old song sell?"


def test_a_preposition_comes_first():
    made = it("In Port Ellis.", "Port Ellis", "Was she born?", "?", "").puts("?", preposition="in")

    assert rewritten(made) == "Was she born in Port Ellis?"


def test_a_comma_stands_at_its_word():
    made = it("In Port Ellis.", "Port Ellis", "Was she born?", "?", "").puts("?", preposition=",")

    assert rewritten(made) == "Was she born, Port Ellis?"


def test_a_comma_that_was_said_apart_stands_at_its_word_too():
    assert rewritten(it("In Ellis , Ohio .", "Ellis , Ohio")) == "Did Ellis, Ohio sell?"


@from_table
def test_an_owner_gets_a_possessive(mention, antecedent, owner):
    made = it(
        f"It was {antecedent}.", antecedent, f"Was {mention} song old?", mention, mention, possessive=True
    )

    assert rewritten(made) == f"Was {owner} song old?"
    assert read(made)[0].mention.possessive


def test_a_name_keeps_its_capital_and_a_sentences_first_word_loses_it():
    name, word = it("Blue Moon.", "Blue Moon"), it("Blue cars.", "Blue cars").no_name("Blue")

    assert rewritten(name) == "Did Blue Moon sell?"
    assert rewritten(word) == "Did blue cars sell?"


def test_only_a_sentences_first_word_can_have_its_capital_from_there():
    inside, acronym = it("It was Blue.", "Blue").no_name("Blue"), it("NASA did.", "NASA").no_name("NASA")

    assert rewritten(inside) == "Did Blue sell?"
    assert rewritten(acronym) == "Did NASA sell?"


def test_the_word_behind_an_article_that_begins_a_sentence_keeps_its_capital():
    assert rewritten(it("The Who.", "The Who").no_name("The")) == "Did the Who sell?"


def test_the_questions_first_word_has_a_capital_if_it_had():
    assert rewritten(it("It was a song.", "a song", "It sold?", "It", "It")) == "The song sold?"
    assert rewritten(it("It was a song.", "a song", "it sold?", "it", "it")) == "the song sold?"


@pytest.mark.parametrize(
    ("said", "put"), [("your order", "my order"), ("Our shop", "your shop"), ("my advice", "your advice")]
)
def test_whose_it_is_turns_round_between_the_assistant_and_the_user(said, put):
    assert rewritten(it(f"See {said}.", said)) == f"Did {put} sell?"


def test_the_users_own_words_are_not_turned_round():
    asked = document("Did it sell?", "Where is my order?", "Here.")
    made = MadeUp(asked).leans("it", without="it").means("it", "my order", segment=1)

    assert rewritten(made) == "Did my order sell?"


@from_table
def test_an_insertion_brings_the_spaces_that_it_needs(question, before, expected):
    made = MadeUp(document(question, "What?", "It was Moon.")).leans(before).means(before, "Moon")

    assert rewritten(made) == expected


def test_what_is_left_out_is_one_ellipsis_at_the_canonical_place():
    """So that two histories' readings of it can be compared; it is put where it belongs."""
    question = "How much is old?"
    (reading,) = read(MadeUp(document(question, "What?", "It was Moon.")).leans("old").means("old", "Moon"))

    assert reading.mention == ellipsis_of(question)
    assert reading.put_at == (12, 12)


def test_of_several_insertions_the_most_probable_is_the_ellipsis():
    question = "How much is old?"
    made = MadeUp(document(question, "What?", "It was Moon.")).leans("is", 1.0).leans("old", 2.0)
    made.means("is", "Moon").means("old", "Moon")
    found = {reading.put_at or (reading.mention.start,) * 2: reading.mention for reading in read(made)}

    assert found[12, 12] == ellipsis_of(question)
    assert (found[9, 9].start, found[9, 9].kind) == (9, "ellipsis")


def test_what_more_is_said_of_a_noun_phrase_becomes_that_mention():
    question = "How much is the fee?"
    made = MadeUp(document(question, "Where?", "In Port Ellis.")).leans("?").means("?", "Port Ellis")
    (reading,) = read(made.puts("?", preposition="in"))

    assert (reading.mention.text, reading.mention.kind) == ("the fee", "the-noun")
    assert reading.put_at == (19, 19)
    assert rewritten(made) == "How much is the fee in Port Ellis?"


@from_table
def test_a_mention_is_the_phrase_whatever_gives_way(question, without, mention, kind):
    made = MadeUp(document(question, "Who?", "Harvest Moon.")).leans(without, without=without)
    (reading,) = read(made.means(without, "Harvest Moon"))
    start = question.index(without)
    gives_way = (start, start + len(without))

    assert (reading.mention.text, reading.mention.kind) == (mention, kind)
    assert reading.put_at == (None if mention == without else gives_way)
    assert rewritten(made) == question.replace(without, "Harvest Moon")


def test_what_is_put_inside_a_noun_phrase_is_about_that_mention():
    made = MadeUp(document("Who were the band members?", "Who?", "Moon."))
    (reading,) = read(made.leans("members").means("members", "Moon"))

    assert (reading.mention.text, reading.put_at) == ("the band", (18, 18))


def test_a_bracket_that_was_not_opened_is_not_put():
    made = MadeUp(document("Is it only that?", "Which?", "The keys (see the list of keys) match."))
    made.leans("that", without="that").means("that", "list of keys)")

    assert rewritten(made) == "Is it only the list of keys?"


def test_a_noun_is_not_said_twice():
    made = MadeUp(document("Is the entrance high?", "Where?", "Take the entrance on Moon Road."))
    made.leans("high").means("high", "entrance on Moon Road").puts("high", preposition="of")

    assert rewritten(made) == "Is the entrance on Moon Road high?"


@pytest.mark.parametrize(
    ("question", "without"), [("I hear that they are ill.", "they are"), ("When do they leave?", "do they")]
)
def test_the_verb_beside_a_pronoun_stays(question, without):
    made = MadeUp(document(question, "Who?", "The cats."))
    made.leans(without, without=without).means(without, "cats").puts(without, article="the")

    assert rewritten(made) == question.replace("they", "the cats")


def test_where_a_stop_gives_way_what_is_put_is_a_word_of_its_own():
    made = MadeUp(document("Dividends paid.", "When?", "It was 2019."))
    made.leans(".", without=".").means(".", "2019").puts(".", preposition="in")

    assert rewritten(made) == "Dividends paid in 2019"


def test_an_owner_that_began_a_sentence_has_no_capital_in_the_middle_of_one():
    made = MadeUp(document("Is she there?", "Who?", "Her sister is."))

    assert rewritten(made.leans("she", without="she").means("she", "Her sister")) == "Is her sister there?"


def test_an_article_that_stays_is_not_put_again():
    made = MadeUp(document("How old is the second one?", "Which?", "The oak desk or the pine desk."))
    made.leans("second", without="second one").means("second", "the pine desk")

    assert rewritten(made) == "How old is the pine desk?"


def test_a_verb_agrees_with_the_one_that_they_are():
    made = it("The hotel is small.", "hotel", "Do they have a pool?", "they", "they").puts(
        "they", article="the"
    )

    assert rewritten(made) == "Does the hotel have a pool?"


def test_what_the_assistant_calls_yours_is_mine_within_what_is_said_too():
    said = "the screen of your phone"
    assert rewritten(it(f"It was {said}.", said)) == "Did the screen of my phone sell?"


def test_a_sentence_is_put_for_no_pronoun():
    assert rewritten(it("The card has no fee.", "The card has no fee")) == "Did it sell?"


def test_a_short_question_is_finished_as_a_question():
    made = it("The pool is closed.", "pool is closed", "Since when?", "?", "").puts("?", preposition="")

    assert rewritten(made) == "Since when is the pool closed?"
