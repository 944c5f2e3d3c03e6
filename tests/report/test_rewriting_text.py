"""The sentences about what recorded answers hide and how our wording compares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replay.report.notes import conclusions, hidden_sentences, wording_sentences
from replay.statistics.group import Group
from replay.statistics.paired import DifferenceRow, PairedDifference
from replay.statistics.run_numbers import HiddenPoints, WordingAgreement
from tests.report.sample_report import report


def difference(
    first: str, second: str, value: float, *, certain: bool, system: str = "bot"
) -> PairedDifference:
    low, high = (value - 0.001, value + 0.001) if certain else (-0.9, 0.9)
    row = DifferenceRow(depth=None, turns=9, conversations=9, value=value, low=low, high=high)
    groups = {"first": Group(system, first), "second": Group(system, second)}
    return PairedDifference(score="em", unit="share", depths=(), total=row, unpaired=0, **groups)


def said(gap: float, *, certain: bool = True, **given: float) -> str:
    backs = {name: difference("pred", name, value, certain=certain) for name, value in given.items()}
    hidden = difference("gold", "pred", gap, certain=certain)
    (sentence,) = hidden_sentences([HiddenPoints(gap=hidden, given_back=backs)])
    return sentence


@pytest.mark.parametrize(
    ("gap", "given", "sentence"),
    [
        (-0.107, {}, "hides 10.7 points of em."),
        (
            -0.107,
            {"rewrite": 0.06, "replace": 0.08},
            "hides 10.7 points of em; rewriting gives back 6.0 and people's wording gives back 8.0.",
        ),
        (
            -0.107,
            {"rewrite": -0.03},
            "hides 10.7 points of em; rewriting gives back nothing here but costs 3.0 more.",
        ),
        (
            -0.107,
            {"replace": -0.0001},
            "hides 10.7 points of em; people's wording gives back nothing here.",
        ),
        (
            0.02,
            {"rewrite": 0.06},
            "hides nothing here: em is 2.0 points higher with the system's own.",
        ),
        (0, {}, "hides nothing here: em is the same with the system's own."),
    ],
)
def test_the_sentence_says_what_is_hidden_and_given_back(gap, given, sentence):
    left = " What is not given back is wrong answers in the history, or drift that the new words missed"
    left = f"{left} or spoiled." if given and gap < 0 else ""
    assert said(gap, **given) == f"Testing with recorded answers {sentence}{left}"


def test_whatever_could_be_chance_says_so():
    found = said(-0.107, certain=False, rewrite=0.06)

    assert found.count("(could be chance)") == 2


def test_one_conversation_rules_no_chance_out():
    row = DifferenceRow(depth=None, turns=9, conversations=1, value=-0.5, low=None, high=None)
    groups = {"first": Group("bot", "gold"), "second": Group("bot", "pred")}
    gap = PairedDifference(score="em", unit="share", depths=(), total=row, unpaired=0, **groups)

    assert "(could be chance)" in hidden_sentences([HiddenPoints(gap=gap, given_back={})])[0]


def test_several_systems_are_named():
    gaps = [difference("gold", "pred", -0.1, certain=True, system=name) for name in ("a", "b")]
    found = hidden_sentences([HiddenPoints(gap=gap, given_back={}) for gap in gaps])

    assert [sentence.partition(":")[0] for sentence in found] == ["a", "b"]


def test_a_run_without_recorded_answers_says_how_often_drift_was_detected():
    whole = report()
    own = [one for one in whole.table.groups if one.group.policy in ("pred", "rewrite")]
    (sentence,) = conclusions(replace(whole, hidden=(), table=replace(whole.table, groups=tuple(own))))
    drifted, judged = own[0].total.invalid, own[0].total.drift_checked

    assert sentence.startswith(f"Drift was detected in {drifted} of {judged} questions under pred (")
    assert " and in " in sentence
    assert conclusions(whole) == hidden_sentences(whole.hidden)


def test_where_no_drift_was_looked_for_nothing_is_concluded():
    whole = report()
    gold = [one for one in whole.table.groups if one.group.policy == "gold"]

    assert conclusions(replace(whole, hidden=(), table=replace(whole.table, groups=tuple(gold)))) == []


def test_agreement_of_wording_is_counted_in_words():
    one = WordingAgreement(
        group=Group("bot", "rewrite"), questions=15, equal=2, same_things=4, nothing_else=12
    )

    assert wording_sentences([one]) == [
        "bot, rewrite: 15 rewritten questions have a standalone form in the data. "
        "2 equal it word for word, 4 name the same things (have the same content words), "
        "12 name nothing that it doesn't."
    ]
