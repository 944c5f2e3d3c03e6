"""What a question tells by itself."""

from __future__ import annotations

import numpy as np
import pytest

from replay.coreference.embedded.asked import KINDS, asked
from replay.coreference.vectors import SIZE, mean_of, rows_of

QUESTION = "Did she like it there by then, and the band, the other one, that album, this, him or them?"


@pytest.mark.parametrize("question", ["Did she like it?", "What else?", "", "?!", "李安"])
def test_the_ellipsis_comes_last_and_once(question):
    *others, last = asked(question).mentions

    assert (last.kind, last.text, last.start) == ("ellipsis", "", len(question.rstrip("?!")) or len(question))
    assert all(mention.kind != "ellipsis" and mention.end <= last.start for mention in others)


def test_a_mentions_first_columns_are_its_kind():
    seen = asked(QUESTION)
    found = [[KINDS[at] for at in np.flatnonzero(row[: len(KINDS)])] for row in seen.standing]

    assert found == [[mention.kind] for mention in seen.mentions]
    assert {kind for (kind,) in found} == set(KINDS)
    assert seen.kinds == set(KINDS) - {"ellipsis"}


@pytest.mark.parametrize("question", ["Who?", "", QUESTION])
def test_everything_has_one_row_or_column_for_each_mention(question):
    seen, other = asked(question), asked("Was that a success?")
    count = len(seen.mentions)

    assert (len(seen.seen), len(seen.standing), seen.around.shape) == (count, count, (SIZE, count))
    assert seen.standing.shape[1] == other.standing.shape[1]
    assert seen.row.shape == other.row.shape


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("How much is the second one?", 2),
        ("What about the first?", 1),
        ("What about the latter?", -1),
        ("And the last option?", -1),
        ("And the others?", 0),
        ("Which is the cheapest?", 0),
        ("Was that first album good?", 0),  # an album, and no list
    ],
)
def test_which_of_a_list_is_asked_for(question, order):
    assert asked(question).seen[0].order == order


@pytest.mark.parametrize(
    ("question", "sex"), [("Did he?", 1.0), ("Her?", -1.0), ("Did they?", 0.0), ("It?", 0.0)]
)
def test_which_sex_a_pronoun_wants(question, sex):
    assert asked(question).seen[0].wanted_sex == sex


@pytest.mark.parametrize(
    ("question", "noun", "words"),
    [
        ("Were those red albums good?", "album", {"red", "album"}),
        ("Who joined the band?", "band", {"band"}),
        ("And the second ones?", "", {"second"}),
        ("Did she sing?", "", set()),
    ],
)
def test_a_noun_is_compared_in_the_singular(question, noun, words):
    (seen, _) = asked(question).seen

    assert (seen.noun, seen.words) == (noun, words)


def test_what_is_said_around_a_pronoun_is_what_its_own_words_are_to_a_noun():
    """Function words have no say in either."""
    pronoun, _ = asked("Did they record?").around.T
    noun, _ = asked("Who bought that old record?").around.T
    nothing, _ = asked("Is it of them?").around.T[:2]

    assert np.array_equal(pronoun, mean_of(["record"]))
    assert np.array_equal(noun, mean_of(["old", "record"]))
    assert not nothing.any()


def test_what_a_question_means_comes_as_a_whole_and_word_by_word():
    meanings = asked("Did the band record quibbzz?").meanings

    assert np.array_equal(meanings, [mean_of(["band", "record"]), *rows_of(["band", "record"])])
    assert np.array_equal(asked("Was it?").meanings, np.zeros((2, SIZE)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Who left", "Who left?"),
        ("Where was it?", "When was it?"),
        ("What about it?", "What of it?"),
        ("Was it sold?", "Was it born?"),
        ("What was it?", "What else was it?"),
        ("Did it?", "Did it, 1990?"),
        ("Did it? Ann", "Did it? ann"),
        ("Did it?", "Did I?"),
    ],
)
def test_a_questions_row_tells_questions_apart(one, other):
    assert not np.array_equal(asked(one).row, asked(other).row)
    assert np.isfinite(asked(one).row).all()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Did it work?", "Did its work?"),
        ("It works?", "So it works?"),
        ("Was it?", "Was it there?"),
        ("Did he see him?", "Did he see himself?"),
        ("What was that?", "What was this?"),
        ("The band?", "The bands?"),
        ("The band?", "The album?"),
        ("The second one?", "The second ones?"),
    ],
)
def test_a_mentions_row_tells_how_it_stands(one, other):
    assert not np.array_equal(asked(one).standing[-2], asked(other).standing[-2])
