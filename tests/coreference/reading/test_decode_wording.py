"""How what is meant is put into a question, and what was left out of it."""

from __future__ import annotations

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


@from_table
def test_what_is_meant_stands_in_english(question, without, answer, meant, rewrite, put):
    """*without* gives way, or is what the words come before where it is the stop."""
    gives_way = "" if without == "?" else without
    made = MadeUp(document(question, "What?", answer)).leans(without, without=gives_way)
    made.means(without, meant)
    if put is not None:
        made.puts(without, **put)

    assert rewritten(made) == rewrite


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


def test_a_noun_is_not_said_twice():
    made = MadeUp(document("Is the entrance high?", "Where?", "Take the entrance on Moon Road."))
    made.leans("high").means("high", "entrance on Moon Road").puts("high", preposition="of")

    assert rewritten(made) == "Is the entrance on Moon Road high?"
