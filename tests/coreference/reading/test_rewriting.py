"""
Which edits are made of a question's readings, and that nothing else changes; English around an antecedent
that comes without a wording: article, possessive, capitals.
"""

from __future__ import annotations

import pytest

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.reading.mentions import ellipsis_of, find_mentions
from replay.coreference.reading.rewriting import (
    MAX_INSERTED_WORDS,
    MIN_PROBABILITY,
    at_sentence_start,
    capitalize,
    certainty,
    in_place,
    is_plural_name,
    propose_edits,
    rewrite,
    tidy,
    with_possessive,
)
from tests.data_tables import from_table


def read_as(question, *antecedents, **more):
    """The readings of the question's mentions as *antecedents*, in order; None leaves one alone."""
    mentions = find_mentions(question)
    return [Reading(mention=m, antecedent=a, **more) for m, a in zip(mentions, antecedents, strict=True)]


def rewritten(question, *antecedents, **more):
    return rewrite(question, read_as(question, *antecedents, **more))


@pytest.mark.parametrize(
    ("question", "antecedents", "expected"),
    [
        ("Who saw her?", ["Ann Lee"], "Who saw Ann Lee?"),
        ("Did he see her?", ["Bob Ray", "Ann Lee"], "Did Bob Ray see Ann Lee?"),
        ("What did he do in that year?", [None, "1990"], "What did he do in 1990?"),
        ("Did it sell?", ["two\n lines"], "Did the two lines sell?"),
        # Of several mentions of one antecedent the first.
        ("When did he meet his wife?", ["Bob Ray", "Bob Ray"], "When did Bob Ray meet his wife?"),
        (
            "Did he leave when he met her?",
            ["Ray Charles", "Charles", "Ann Lee"],
            "Did Ray Charles leave when he met Ann Lee?",
        ),
    ],
)
def test_mentions_get_the_text_of_what_they_refer_to(question, antecedents, expected):
    assert rewritten(question, *antecedents) == expected


def test_what_replaces_a_mention_is_not_put_in_before_it_as_well():
    question = "Do they speak Spanish?"
    (replaced,) = read_as(question, "Our agents", distribution=((0.7, "Our agents"),), put="our agents")
    left_out = Reading(
        mention=ellipsis_of(question), antecedent=None, put="Our agents ", put_at=(0, 0),
        distribution=((0.1, "Our agents"),),
    )  # fmt: skip

    assert rewrite(question, [replaced, left_out]) == "Do our agents speak Spanish?"


@pytest.mark.parametrize("antecedent", [None, "", " ", "?!", "Sing", "CANNOTANSWER"])
def test_what_would_say_nothing_more_is_not_put_in(antecedent):
    (reading,) = read_as("Did she sing?", antecedent)

    assert propose_edits("Did she sing?", reading) is None
    assert rewrite("Did she sing?", [reading]) == "Did she sing?"


def test_what_the_question_names_already_is_not_put_in():
    assert rewritten("Did Ann Lee like her song?", "Ann Lee") == "Did Ann Lee like her song?"


@pytest.mark.parametrize(("words", "is_put"), [(MAX_INSERTED_WORDS, True), (MAX_INSERTED_WORDS + 1, False)])
def test_an_antecedent_of_too_many_words_is_left_out(words, is_put):
    answer = " ".join(f"Word{n}" for n in range(words))

    assert rewritten("Why was that?", answer) == (f"Why was {answer}?" if is_put else "Why was that?")


@pytest.mark.parametrize(("characters", "is_put"), [(160, True), (161, False)])
def test_a_text_without_spaces_is_put_in_up_to_160_characters(characters, is_put):
    text = "X" * characters

    assert rewritten("Did he?", text) == (f"Did {text}?" if is_put else "Did he?")


@pytest.mark.parametrize(
    ("worth", "least", "is_made"),
    [
        (MIN_PROBABILITY, None, True),
        (MIN_PROBABILITY - 0.01, None, False),
        (0.15, 0.15, True),
        (0.15, 0.2, False),
        (1.0, 1.0, True),
        (0.0, 0.0, True),
    ],
)
def test_an_edit_is_made_where_it_probably_makes_the_question_better(worth, least, is_made):
    readings = read_as("Where was she born?", "Ann Lee", worth=worth)
    limit = {} if least is None else {"min_probability": least}

    assert rewrite("Where was she born?", readings, **limit) == (
        "Where was Ann Lee born?" if is_made else "Where was she born?"
    )


def test_every_edit_is_made_where_nobody_estimates_its_worth():
    (reading,) = read_as("Did she sing?", "Ann")

    assert rewrite("Did she sing?", [reading], min_probability=1.0) == "Did Ann sing?"


def test_an_edit_that_is_not_made_leaves_the_name_to_the_next():
    question = "Did she like her song?"
    she, her = find_mentions(question)
    unsure, sure = (
        Reading(mention=m, antecedent="Ann", worth=worth) for m, worth in ((she, 0.1), (her, 0.9))
    )

    assert rewrite(question, [unsure, sure]) == "Did she like Ann's song?"


def test_the_resolvers_own_words_are_put_as_they_are():
    (reading,) = read_as("Did it sell?", "album", put="the SECOND album")

    assert rewrite("Did it sell?", [reading]) == "Did the SECOND album sell?"


def test_the_resolvers_own_words_may_come_elsewhere_than_the_mention():
    """What more is said of "the fee" comes behind it."""
    question = "How much is the fee?"
    mention = Mention(start=12, end=19, text="the fee", kind="the-noun")
    reading = Reading(
        mention=mention, antecedent="Port Ellis", put=" in Port Ellis", put_at=(19, 19),
        distribution=((0.9, "Port Ellis"),),
    )  # fmt: skip

    edit = propose_edits(question, reading)
    assert (edit.start, edit.end, edit.put, edit.names) == (19, 19, " in Port Ellis", {"port", "ellis"})
    assert rewrite(question, [reading]) == "How much is the fee in Port Ellis?"


def test_words_are_put_for_the_most_probable_antecedent_though_none_is_probable_enough_to_be_it():
    (reading,) = read_as("Did it sell?", None, put="Blue Moon", distribution=((0.4, "Blue Moon"),))

    assert rewrite("Did it sell?", [reading]) == "Did Blue Moon sell?"


def test_what_is_left_out_is_put_in_by_the_resolvers_own_words_alone():
    """Nobody else knows the preposition."""
    question = "Did they write other songs?"
    mention = ellipsis_of(question)
    with_words = Reading(
        mention=mention, antecedent="Blue", put=" besides Blue", distribution=((0.9, "Blue"),)
    )

    assert rewrite(question, [with_words]) == "Did they write other songs besides Blue?"
    assert rewrite(question, [Reading(mention=mention, antecedent="Blue")]) == question


def test_an_edit_that_overlaps_one_already_made_is_left_out():
    question = "Was her album good?"
    her = Mention(start=4, end=7, text="her", kind="she", possessive=True)
    album = Mention(start=4, end=13, text="her album", kind="other")
    readings = [
        Reading(mention=her, antecedent="Ann Lee"),
        Reading(mention=album, antecedent="her album Blue Salt"),
    ]

    assert rewrite(question, readings) == rewrite(question, readings[::-1]) == "Was her album Blue Salt good?"


def test_a_mention_that_does_not_stand_there_is_skipped():
    mention = Mention(start=0, end=3, text="she", kind="she")

    assert rewrite("Who sang?", [Reading(mention=mention, antecedent="Ann Lee")]) == "Who sang?"


def test_no_reading_changes_nothing_not_even_spaces():
    assert rewrite("Did  she sing? ", []) == "Did  she sing? "


def test_the_certainty_is_the_antecedents_probability():
    (bare,) = read_as("Did she sing?", "Ann")
    (weighed,) = read_as("Did she sing?", "Ann", distribution=((0.6, "Ann"), (0.3, "Sue")))
    (open_,) = read_as("Did she sing?", None, distribution=((0.2, "Ann"),))

    assert [certainty(reading) for reading in (bare, weighed, open_)] == [1.0, 0.6, 0]


def put(question, antecedent):
    """What stands in place of the question's last mention."""
    return in_place(question, find_mentions(question)[-1], antecedent)


@from_table
def test_what_is_no_name_gets_the_article_that_it_needs(question, antecedent, expected):
    assert put(question, antecedent) == expected


@from_table
def test_an_owner_gets_a_possessive(question, antecedent, expected):
    assert put(question, antecedent) == expected


@from_table
def test_a_sentence_keeps_its_capital(question, expected):
    assert put(question, "the singer") == expected


def test_nothing_stands_for_a_reflexive_or_for_what_was_left_out():
    question = "What else did he do?"

    assert put("Did Ann hurt herself?", "Ann Lee") is None
    assert in_place(question, ellipsis_of(question), "Ann Lee") is None


@pytest.mark.parametrize(
    ("antecedent", "expected"), [("Frank Zappa", "Frank Zappa"), ("the guitarist", None), ("Zappa", None)]
)
def test_a_name_gives_way_to_its_fuller_form_only(antecedent, expected):
    zappa = Mention(start=9, end=14, text="Zappa", kind="other")

    assert in_place("What did Zappa play?", zappa, antecedent) == expected


@from_table
def test_tidy_text_is_one_line_without_the_punctuation_around_it(text, tidied):
    assert tidy(text) == tidied


@from_table
def test_a_possessive_is_written_once(text, plural, owner):
    assert with_possessive(text, plural=plural) == owner


def test_a_name_is_plural_with_an_article_and_an_s():
    assert [is_plural_name(text) for text in ("the Beatles", "Charles", "the boss", "The Who")] == [
        True,
        False,
        False,
        False,
    ]


def test_a_sentence_starts_at_the_text_and_behind_a_stop():
    text = 'He left. "she did?" and Dr.No'

    assert [n for n in range(len(text)) if at_sentence_start(text, n)] == [0, 9, 10, 20]


def test_only_the_first_letter_becomes_a_capital():
    assert [capitalize(text) for text in ("the BBC", "", "élan")] == ["The BBC", "", "Élan"]
