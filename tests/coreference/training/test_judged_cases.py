"""Which cases the two judgements learn from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replay.core.drift_evidence import Reading
from replay.core.history import Exchange
from replay.coreference.edit_evidence import edit_evidence
from replay.coreference.mentions import find_mentions
from replay.coreference.resolver import Document
from replay.coreference.training.annotated_questions import Example, fold_of
from replay.coreference.training.corrupted import WRONG, corrupted
from replay.coreference.training.dialogues import JudgedTurn
from replay.coreference.training.judged_cases import (
    dialogue_cases,
    dialogue_edit_cases,
    drift_cases,
    edit_cases,
    made_up_cases,
)
from replay.coreference.training.made_up import MadeUp
from replay.coreference.verdict_evidence import WIDTH


def document(question="Did she sing?", *answers):
    return Document(
        question=question,
        turns=tuple(Exchange(question=f"Who {n}?", answer=a) for n, a in enumerate(answers)),
    )


def reading_as(antecedent, probability=0.8):
    """A reader to whom every mention is *antecedent*; nothing where that is None."""

    def read(shown):
        distribution = ((probability, antecedent),) if antecedent else ()
        return tuple(
            Reading(mention=m, antecedent=antecedent, source="name", distribution=distribution)
            for m in find_mentions(shown.question)
        )

    return read


def last_name(shown):
    """A reader to whom every mention is the last word that was said."""
    said = shown.turns[-1].answer.rstrip(".").split()[-1] if shown.turns else "nobody"
    return reading_as(said)(shown)


def example(dialog="d", *answers, rewrite="Did Ann sing?"):
    return Example(
        dialog=dialog, group="g", document=document("Did she sing?", *answers), rewrite=rewrite, source="s"
    )


EXAMPLES = [
    example("one", "It was Bob.", "In Rome it was Tom.", "It was Ann.", rewrite="Did Ann sing?"),
    example("two", "Max stayed with Eva.", "They left with Ida.", rewrite="Did Ida sing?"),
]


def test_cases_of_the_verdict_are_the_corrupted_histories():
    found = list(drift_cases(EXAMPLES, last_name, seed=3))
    wrong = [one for one in corrupted(EXAMPLES, seed=3, harmless=True) if one.way in WRONG]

    assert [one.case.yes for one in found if one.benchmark] == [bool(one.lost) for one in wrong]
    assert any(one.case.yes for one in found)
    assert not all(one.case.yes for one in found)
    assert {(one.source, one.fold, one.case.weight) for one in found} == {("s", fold_of("g"), 1.0)}
    assert {one.case.evidence.shape[1] for one in found} == {WIDTH}


def test_some_harmless_histories_are_cases_too_but_not_all():
    shown = EXAMPLES * 20
    others = sum(not one.benchmark for one in drift_cases(shown, last_name, seed=0))
    every = sum(one.way not in WRONG for one in corrupted(shown, seed=0, harmless=True))

    assert 0.4 * every < others < 0.8 * every


def test_some_cases_are_shown_with_the_last_two_turns_alone():
    read = []
    list(
        drift_cases(
            EXAMPLES[:1] * 30, lambda shown: read.append(len(shown.turns)) or last_name(shown), seed=0
        )
    )

    assert set(read) == {2, 3}
    assert 0.2 < read.count(2) / len(read) < 0.6


def test_a_made_up_turn_and_a_dialogue_are_cases_of_what_is_known_of_them():
    gold, own = document("Did she sing?", "Ann."), document("Did she sing?", "Eva.")
    turn = MadeUp(example=replace(EXAMPLES[0], document=gold), own=own, same=False)
    talk = JudgedTurn(
        dialog="t", held_out=False, gold=gold, own=own, same=True, names=("Ann",), refers_by="pronoun"
    )
    (made,) = made_up_cases([turn], last_name)
    (judged,) = dialogue_cases([talk], last_name)

    assert (made.case.yes, made.source, made.fold) == (True, "made up", fold_of("g"))
    assert (judged.case.yes, judged.source, judged.fold) == (False, "dialogues", fold_of("t"))
    assert made.case.evidence.tolist() == judged.case.evidence.tolist()
    assert not made.benchmark | judged.benchmark


def test_equal_histories_and_questions_without_a_mention_are_no_cases():
    gold = document("Did she sing?", "Ann.")
    same = MadeUp(example=replace(EXAMPLES[0], document=gold), own=gold, same=True)
    bare = [replace(one, document=replace(one.document, question="Why?")) for one in EXAMPLES]

    assert list(made_up_cases([same], last_name)) == []
    assert list(drift_cases(bare, last_name, seed=0)) == []


@pytest.mark.parametrize(("antecedent", "better"), [("Ann", True), ("Bob", False), ("the singer Ann", True)])
def test_an_edit_is_good_where_the_words_come_closer_to_the_human_ones(antecedent, better):
    (found,) = edit_cases([EXAMPLES[0]], reading_as(antecedent), seed=0)
    (reading,) = reading_as(antecedent)(EXAMPLES[0].document)

    assert (found.case.yes, found.source, found.benchmark) == (better, "s", True)
    assert found.case.evidence.tolist() == [
        pytest.approx(edit_evidence("Did she sing?", reading, antecedent), abs=1e-6)
    ]


def test_only_what_would_be_edited_is_a_case():
    assert list(edit_cases(EXAMPLES, reading_as(None), seed=0)) == []
    assert list(edit_cases(EXAMPLES, reading_as("she"), seed=0)) == []
    certain = [Reading(mention=find_mentions("Did she sing?")[0], antecedent="Ann")]  # nothing to weigh
    assert list(edit_cases(EXAMPLES, lambda shown: tuple(certain), seed=0)) == []


@pytest.mark.parametrize(
    ("names", "refers_by", "better"),
    [
        (("Ann Lee", "Ann"), "pronoun", [True]),
        (("Bob",), "pronoun", [False]),
        ((), "nothing", [False]),
        ((), "pronoun", []),  # nothing is known
    ],
)
def test_an_edit_of_a_dialogue_is_good_where_it_names_what_it_should(names, refers_by, better):
    gold = document("Did she sing?", "Ann.")
    talk = JudgedTurn(
        dialog="t", held_out=False, gold=gold, own=gold, same=True, names=names, refers_by=refers_by
    )

    assert [one.case.yes for one in dialogue_edit_cases([talk], reading_as("Ann"))] == better
