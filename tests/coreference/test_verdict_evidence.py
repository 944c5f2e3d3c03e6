"""What the learned verdict weighs."""

from __future__ import annotations

import math

import pytest

from replay.core.drift_evidence import MENTION_KINDS, Mention, Reading
from replay.core.history import Exchange
from replay.coreference.resolver import Document
from replay.coreference.verdict_evidence import (
    _SOURCES,
    WIDTH,
    Difference,
    differences,
    evidence,
    said_in,
)

MENTION = [
    *MENTION_KINDS,
    *("lost", "gained", "both", "lost_words", "lost_meaning", "gained_words", "gained_meaning", "apart"),
    *("top", "own_top", "alone", "own_alone", "same", "nothing", "own_nothing"),
    *(f"from {source}" for source in _SOURCES),
    *(f"own from {source}" for source in _SOURCES),
    "possessive",
    *("below_most", "asked", "own_asked"),
]
ANSWER = ["other", "kept", "kept_of_own", "gone", "share_gone", "new", "size", "asks"]
COLUMNS = [
    *MENTION,
    *ANSWER,
    *(f"{name}_before" for name in ANSWER),
    *("title", "turns"),
    *("words", "content", "bare", "one_word", "else", "else_or_other", "and", "names"),
    "mentions",
]


def reading(*distribution, start=4, kind="she", source="name", text="she", possessive=False):
    best = distribution[0][1] if distribution else None
    mention = Mention(start=start, end=start + len(text), text=text, kind=kind, possessive=possessive)
    return Reading(mention=mention, antecedent=best, source=source if best else "", distribution=distribution)


def document(*answers, question="Did she sing?", title="", asked="Who came?"):
    turns = tuple(Exchange(question=asked, answer=answer) for answer in answers)
    return Document(question=question, turns=turns, title=title)


def difference(gold, predicted, gold_document, own_document):
    (found,) = differences([gold], [predicted], gold_document, own_document)
    return found


def rows(gold, predicted, gold_document, own_document):
    found = differences(gold, predicted, gold_document, own_document)
    return [dict(zip(COLUMNS, row, strict=True)) for row in evidence(found, gold_document, own_document)]


ANN, BOB = reading((0.9, "Ann Lee")), reading((0.8, "Bob Ray"))


def test_every_mention_has_as_many_numbers_as_the_width_says():
    one, other = document("Ann Lee."), document("Bob Ray.")
    found = differences([ANN, reading(start=20)], [BOB], one, other)

    assert {len(row) for row in evidence(found, one, other)} == {WIDTH} == {len(COLUMNS)}
    assert evidence([], one, other) == []


def test_identical_readings_differ_in_nothing():
    """Even where the other history lacks their words."""
    found = difference(ANN, ANN, document("Ann Lee."), document("No one."))

    assert found == Difference(ANN, ANN)
    assert found.lost == found.lost_words == found.lost_meaning == found.apart == 0


def test_what_the_own_history_lacks_is_lost_and_what_the_gold_one_lacks_is_gained():
    gold, own = reading((0.6, "Ann Lee"), (0.3, "Tom")), reading((0.7, "Bob Ray"), (0.2, "Tom"))
    found = difference(gold, own, document("Ann Lee met Tom."), document("Bob Ray met Tom."))

    assert (found.lost, found.gained) == (0.6, 0.7)
    assert (found.lost_words, found.gained_words) == (0.6, 0.7)
    assert found.apart == pytest.approx((0.6 + 0.7 + 0.1 + 0.0) / 2)


def test_a_word_that_is_missing_counts_in_full_and_by_its_share():
    found = difference(ANN, reading((0.5, "Ann")), document("Ann Lee."), document("Ann."))

    assert found.lost == 0.9
    assert found.lost_words == pytest.approx(0.45)
    assert found.gained == 0


def test_what_the_other_side_may_mean_too_is_lost_on_neither():
    """Under whatever words: they are compared by content."""
    gold, own = reading((0.9, "the singer Ann")), reading((0.2, "Singer Ann"))
    found = difference(gold, own, document("Ann."), document("Bob."))

    assert (found.lost, found.gained) == (0, 0)
    assert found.apart == pytest.approx(0.7)


def test_what_stands_in_both_histories_is_not_lost_though_it_is_less_probable():
    found = difference(ANN, reading(), document("Ann Lee."), document("No, Lee and Ann didn't."))

    assert (found.lost, found.apart) == (0, 0.9)


def test_a_loss_weighs_less_where_the_own_answer_says_something_like_it():
    gold = reading((1.0, "singer"))
    near, far, silent = (
        difference(gold, reading(), document("A singer."), document(answer)).lost_meaning
        for answer in ("A musician.", "A tax.", "")
    )

    assert 0 < near < far <= silent == 1


def test_only_the_last_two_answers_say_something_like_it():
    gold = reading((1.0, "singer"))
    before = document("A musician.", "Yes.", "No.")
    recent = document("Yes.", "A musician.", "No.")

    assert difference(gold, reading(), document("A singer."), before).lost_meaning > 0.99
    assert difference(gold, reading(), document("A singer."), recent).lost_meaning < 0.9


def test_a_word_without_a_meaning_is_like_nothing():
    found = difference(reading((0.5, "Quibbzz")), reading(), document("Quibbzz."), document("A musician."))

    assert found.lost_meaning == 0.5


def test_an_antecedent_without_a_distribution_is_held_for_certain():
    bare = Reading(mention=ANN.mention, antecedent="Ann Lee")
    found = difference(bare, BOB, document("Ann Lee."), document("Bob Ray."))

    assert (found.lost, found.gained) == (1.0, 0.8)


def test_what_was_read_is_told_of_both_sides():
    gold = reading((0.6, "Ann Lee"), (0.3, "Tom"), kind="they", source="title", possessive=True)
    own = reading((0.5, "Ann Lee"), kind="they", source="date")
    (row,) = rows([gold], [own], document("Ann Lee met Tom."), document("Ann Lee."))

    told = {name for name in (*MENTION_KINDS, *MENTION) if row[name] == 1 and not name.startswith("alone")}
    assert {"they", "from title", "own from date", "possessive", "same"} <= told
    assert (row["top"], row["own_top"]) == (0.6, 0.5)
    assert (row["alone"], row["own_alone"]) == pytest.approx((0.1, 0.5))
    assert (row["nothing"], row["own_nothing"], row["she"]) == (0, 0, 0)


def test_nothing_read_is_told_too():
    (row,) = rows([ANN], [reading()], document("Ann Lee."), document("No one."))

    assert (row["nothing"], row["own_nothing"], row["own_top"], row["own_alone"]) == (0, 1, 0, 1)
    assert row["same"] == 0


def test_the_mention_that_lost_most_stands_out():
    gold = [reading((0.9, "Ann"), start=0), reading((0.4, "Ann"), start=10)]
    found = rows(gold, [reading(start=0), reading(start=10)], document("Ann."), document("No one."))

    assert [row["below_most"] for row in found] == pytest.approx([0, -0.5])
    assert [row["mentions"] for row in found] == [0.5, 0.5]


def test_how_much_of_the_readings_the_user_has_named():
    gold = reading((0.6, "Ann Lee"), (0.3, "Tom"))
    own = reading((0.5, "Tom"), (0.1, "Bob"))
    one, other = document("Ann Lee.", asked="Who is Tom?"), document("Bob.", asked="Who is Tom?")
    (row,) = rows([gold], [own], one, other)
    (named,) = rows([reading((0.9, "Ann"))], [own], document("x", question="Did Ann say she sang?"), other)

    assert (row["asked"], row["own_asked"]) == (0.3, 0.5)
    assert named["asked"] == 0.9


def test_how_the_answers_differ_is_told_of_the_last_one_and_of_the_one_before_it():
    gold = document("Ann sang.", "Tom Lee sang the song.", "Yes.", title="Ann")
    own = document("Ann sang.", "Tom was it?", "Yes.", title="Ann")
    (row,) = rows([ANN], [BOB], gold, own)

    assert [row[name] for name in ANSWER] == [0] * len(ANSWER)
    assert row["other_before"] == 1
    assert row["kept_before"] == pytest.approx(1 / 4)  # Tom, of Tom Lee sang song
    assert row["kept_of_own_before"] == 1
    assert row["share_gone_before"] == pytest.approx(2 / 4)  # "sang" is still said
    assert row["gone_before"] == pytest.approx(math.log1p(2) / 3)
    assert (row["new_before"], row["size_before"]) == pytest.approx((0, math.log1p(1) / 3))
    assert row["asks_before"] == 1
    assert (row["title"], row["turns"]) == (1, pytest.approx(math.log1p(3) / 2))


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Did she sing else?", {"else", "else_or_other", "one_word"}),
        ("More of them?", {"else", "bare"}),
        ("What about Ann", {"and", "one_word", "names"}),
        ("And it?", {"and", "bare"}),
        ("Was Ann a singer?", {"names"}),
    ],
)
def test_the_questions_form_is_told(question, told):
    flags = ("bare", "one_word", "else", "else_or_other", "and", "names")
    (row,) = rows([ANN], [BOB], document("a", question=question), document("b", question=question))

    assert {name for name in flags if row[name]} == told


def test_every_word_of_a_document_is_said_in_it():
    one = document("Ann sang.", question="Did she?", title="Blue (song)", asked="Who?")

    assert {"ann", "sang", "did", "she", "blue", "song", "who"} <= said_in(one)
    assert "tom" not in said_in(one)
