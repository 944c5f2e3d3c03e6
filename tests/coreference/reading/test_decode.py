"""From what the network says of tokens to readings; the network is made up."""

from __future__ import annotations

import numpy as np
import pytest

from replay.coreference.mentions import ellipsis_of
from replay.coreference.reading import decisions
from replay.coreference.reading.decode import LEAST_PROBABILITY, MOST_MENTIONS, places, readings, texts_of
from replay.coreference.rewriting import rewrite
from tests.coreference.reading.made_up import MadeUp, document, undecided
from tests.data_tables import from_table


@pytest.fixture(autouse=True)
def decided(monkeypatch):
    """Every edit is as likely as not to make the question better, whatever weights are shipped."""
    monkeypatch.setattr(decisions, "current", undecided)


SINGER = document("Where was she born?", "Who is that?", "Ann Lee is a singer.")


def read(made):
    return readings(made.sequence, made.output)


def rewritten(made):
    question = made.sequence.question.text
    return rewrite(question, read(made), min_probability=0.0)


# Where a question leans --------------------------------------------------------------------------------


def test_words_that_give_way_are_a_mention():
    (reading,) = read(MadeUp(SINGER).leans("she", without="she").means("she", "Ann Lee"))
    mention = reading.mention

    assert (mention.start, mention.end, mention.text, mention.kind) == (10, 13, "she", "she")
    assert (reading.antecedent, reading.source, reading.put, reading.put_at) == (
        "Ann Lee",
        "answer",
        "Ann Lee",
        None,
    )
    assert reading.worth == 0.5


def test_several_words_may_give_way_and_only_those_that_follow_one_another():
    made = MadeUp(SINGER).leans("she", without="she born").leans("Where", without="Where").leans("born", -2.0)

    assert [(place.start, place.end) for place in places(made.sequence, made.output)] == [(0, 5), (10, 18)]


def test_a_word_gives_way_as_a_whole_if_one_of_its_pieces_does():
    made = MadeUp(SINGER, cut=("she",)).leans("she")
    made.output.tags[made.position("she") + 2, 1] = 1.0

    (place,) = places(made.sequence, made.output)
    assert (place.start, place.end) == (10, 13)


def test_nothing_is_put_into_a_word():
    made = MadeUp(SINGER, cut=("she",))
    made.output.tags[made.position("she") + 1, 0] = 9.0

    assert places(made.sequence, made.output) == []


@pytest.mark.parametrize(
    ("probability", "is_reported"), [(LEAST_PROBABILITY + 0.01, True), (LEAST_PROBABILITY - 0.01, False)]
)
def test_an_improbable_place_is_not_reported(probability, is_reported):
    made = MadeUp(SINGER).leans("she", float(np.log(probability / (1 - probability))), without="she")

    assert len(places(made.sequence, made.output)) == is_reported


def test_of_places_that_overlap_the_most_probable_is_taken():
    inner = MadeUp(SINGER).leans("was", 1.0, without="was").leans("she", 2.0, without="she")
    outer = MadeUp(SINGER).leans("she", 1.0).leans("Where", 2.0, without="Where was she")

    assert [(p.start, p.end) for p in places(inner.sequence, inner.output)] == [(10, 13)]
    assert [(p.start, p.end) for p in places(outer.sequence, outer.output)] == [(0, 13)]


def test_of_many_places_the_most_probable_are_taken_and_come_in_order():
    asked = document("one two three four five six", "Who?", "Ann.")
    made = MadeUp(asked)
    for word, logit in zip(asked.question.split(), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), strict=True):
        made.leans(word, logit)
    found = places(made.sequence, made.output)

    assert MOST_MENTIONS == 4
    assert [asked.question[p.start :].split()[0] for p in found] == ["three", "four", "five", "six"]


def test_where_nothing_was_said_nothing_leans():
    made = MadeUp(document("Where was she born?")).leans("she", without="she")

    assert read(made) == ()


def test_less_than_even_odds_give_no_antecedent_but_a_distribution():
    (reading,) = read(MadeUp(SINGER).leans("she", -1.0, without="she").means("she", "Ann Lee"))

    assert reading.antecedent is None
    assert reading.distribution[0][1] == "Ann Lee"
    assert reading.put == "Ann Lee"


# What is meant -----------------------------------------------------------------------------------------


def test_a_distribution_sums_to_the_probability_that_something_leans_at_most():
    (reading,) = read(MadeUp(SINGER).leans("she", 1.0, without="she").means("she", "Ann Lee", 3.0))
    leaning = 1 / (1 + np.exp(-1.0))

    assert 0.1 < sum(p for p, _ in reading.distribution) <= leaning
    assert reading.distribution == tuple(sorted(reading.distribution, key=lambda one: -one[0]))


def test_a_span_is_of_whole_words():
    """Though a piece of one scores higher."""
    made = MadeUp(document("Who sang it?", "What?", "It was Harvest Moon."), cut=("harvest", "moon"))
    said = made.sequence.history[0]
    made.leans("it", without="it").means("it", "Harvest Moon")
    position, axis = made.position("it"), made.position("it") % 128
    inside = said.first + next(n for n, t in enumerate(said.tokens) if t.start == said.text.index("oon"))
    made.output.to_start[inside, axis] = made.output.to_end[inside, axis] = 30.0
    assert made.output.start_from(position).argmax() == inside

    (reading,) = read(made)
    assert {text for _, text in reading.distribution} <= {
        " ".join(said.text[:-1].split()[i:j]) for i in range(4) for j in range(i + 1, 5)
    }
    assert "Moon" in (reading.antecedent or "")


def test_a_span_begins_and_ends_with_a_word_not_with_punctuation():
    made = MadeUp(document("Who sang it?", "What?", '"Moon", he said.')).leans("it", without="it")
    made.means("it", '"Moon",').means("it", "Moon", 14.0)

    assert read(made)[0].antecedent == "Moon"


def test_a_span_does_not_end_before_it_begins_nor_reach_over_two_texts():
    made = MadeUp(document("Who sang it?", "What moon?", "Ann Lee")).leans("it", without="it")
    made.means("it", "Ann Lee", 9.0).means("it", "moon", 9.0, segment=1)
    told = {text for _, text in read(made)[0].distribution}

    assert {"Ann Lee", "moon"} <= told
    assert all(text in "Ann Lee" or text in "What moon" for text in told)


def test_a_span_of_more_than_thirty_tokens_is_none():
    words = [f"w{n}" for n in range(40)]
    said = " ".join(words)
    made = MadeUp(document("Why?", "What?", said)).leans("Why").means("Why", said)

    lengths = [len(text.split()) for _, text in read(made)[0].distribution]
    assert max(lengths) <= 30


def test_equal_words_said_twice_are_one_antecedent():
    said = document("Who sang it?", "What is the Blue Moon?", "blue moon")
    made = MadeUp(said).leans("it", without="it")
    alone = read(made.means("it", "blue moon"))[0].distribution[0][0]
    twice = read(made.means("it", "Blue Moon", segment=1))[0]
    words = [tuple(text.lower().split()) for _, text in twice.distribution]

    assert twice.distribution[0][1].lower() == "blue moon"
    assert len(words) == len(set(words))
    assert twice.distribution[0][0] >= 0.9 * alone


def test_a_text_on_several_lines_is_told_on_one():
    made = (
        MadeUp(document("Who sang it?", "What?", "Blue\n  Moon"))
        .leans("it", without="it")
        .means("it", "Blue\n  Moon")
    )

    assert read(made)[0].antecedent == "Blue Moon"


@pytest.mark.parametrize(
    ("segment", "text", "source"),
    [(0, "Moon", "answer"), (1, "Harvest", "question"), (2, "Ann", "title"), (3, "Lee", "background")],
)
def test_a_reading_says_where_it_was_found(segment, text, source):
    asked = document("Who sang it?", "Was it Harvest?", "It was Moon.", title="Ann", background="Lee")
    made = MadeUp(asked).leans("it", without="it").means("it", text, segment=segment)

    assert (read(made)[0].antecedent, read(made)[0].source) == (text, source)


def test_the_most_probable_antecedents_come_from_the_mention_that_leans_most():
    made = MadeUp(document("Did she see him?", "Who?", "Ann met Bob."))
    made.leans("she", 1.0, without="she").means("she", "Ann").leans("him", 3.0, without="him").means(
        "him", "Bob"
    )

    assert list(texts_of(read(made))) == ["Bob", "Ann"]


# How it is put -----------------------------------------------------------------------------------------


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


# What is left out --------------------------------------------------------------------------------------


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
