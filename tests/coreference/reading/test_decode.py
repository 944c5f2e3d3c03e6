"""From what the network says of tokens to readings; the network is made up."""

from __future__ import annotations

import numpy as np
import pytest

from replay.coreference.reading import decisions
from replay.coreference.reading.decode import LEAST_PROBABILITY, MOST_MENTIONS, places, readings
from replay.coreference.reading.rewriting import rewrite
from tests.coreference.reading.made_up import MadeUp, document, undecided


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

    assert list(decisions.texts_of(read(made))) == ["Bob", "Ann"]
