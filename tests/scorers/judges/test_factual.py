"""The factual judge: the contract, the fuzzy match before it, and its verification."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import pytest

from replay.core.adapter import ChatReply
from replay.core.errors import AdapterTimeoutError
from replay.scorers.fuzzy import fuzzy_match
from replay.scorers.judges.factual import ALL_MET, ONE_UNMET, FactualJudge
from replay.scorers.judges.judge import Case
from replay.scorers.scorer import Unscored
from replay.testing import RecordingAsk, always
from tests.scorers.judges.samples import case


def verdicts(first: str, second: str = ""):
    return lambda step, prompt: ChatReply(text=second if step == "factual.verification" else first)


async def test_a_fuzzy_match_that_the_model_confirms_needs_no_verification():
    reply = '{"criteria": {"figures": 1}, "reason": "Fine.", "verdict": 1, "other": 2}'
    opinion = await FactualJudge().opinion(case(1), RecordingAsk(verdicts(reply)))

    assert opinion.values == {"": 1.0}
    assert opinion.evidence["fuzzy"] == {"ratio": 1.0, "matching": True, "differs": None, "shortened": False}
    assert opinion.evidence["first"] == {"matching": True, "criteria": {"figures": 1}, "reason": "Fine."}
    assert opinion.evidence["disagreement"] is False
    assert opinion.evidence["verification"] is None


async def test_a_disagreement_is_decided_by_the_verification_and_recorded():
    ask = RecordingAsk(verdicts('{"reason": "The year differs.", "verdict": 0}', '{"verdict": 1}'))
    opinion = await FactualJudge().opinion(case(1), ask)

    assert opinion.values == {"": 1.0}
    assert opinion.evidence["disagreement"] is True
    assert opinion.evidence["first"] == {"matching": False, "reason": "The year differs."}
    assert opinion.evidence["verification"] == {"matching": True}
    second = ask.asked[1][0]
    assert "The year differs." in second  # it sees the model's verdict ...
    assert "1.00 of 1" in second  # ... and that of the fuzzy match


async def test_the_other_disagreement_is_verified_too_and_held_against_its_criteria():
    both = '{"criteria": {"figures": false}, "verdict": 1}'
    opinion = await FactualJudge().opinion(case(2), RecordingAsk(verdicts(both, "verdict: 0")))
    assert (opinion.values, opinion.flags) == ({"": 0.0}, (ONE_UNMET,))
    assert opinion.evidence["fuzzy"]["matching"] is False

    opinion = await FactualJudge().opinion(case(2), RecordingAsk(verdicts(both, both)))
    assert opinion.flags == (ONE_UNMET, ONE_UNMET)


async def test_a_fuzzy_match_may_settle_it_alone():
    ask = RecordingAsk(always("verdict: 0"))
    judge = FactualJudge(ask="unmatched")

    assert (await judge.opinion(case(1), ask)).values == {"": 1.0}
    assert ask.asked == []
    assert list(judge.plan(case(1))) == []


async def test_a_verification_that_fails_leaves_no_number():
    def reply(step, prompt):
        if step == "factual":
            return ChatReply(text="verdict: 0")
        raise AdapterTimeoutError("slow")

    opinion = await FactualJudge().opinion(case(1), RecordingAsk(reply))

    assert opinion.values == {"": Unscored(reason="judge timed-out")}
    assert opinion.evidence["disagreement"] is True


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("Hm.", "", "the judge's verdict can't be read"),
        ("verdict: 0", "Hm.", "the judge's verification can't be read"),
    ],
)
async def test_which_of_the_two_replies_cant_be_read_is_told(first, second, reason):
    opinion = await FactualJudge().opinion(case(1), RecordingAsk(verdicts(first, second)))

    assert opinion.values == {"": Unscored(reason=reason)}


def answered(answer: str, *gold_answers: str) -> Case:
    """The first turn of ``TALK`` with other texts."""
    judged = case(1, answer)
    return replace(judged, records=(msgspec.structs.replace(judged.record, gold_answers=gold_answers),))


async def test_the_best_gold_answer_counts_and_reaching_the_threshold_is_enough():
    judged = answered("a garden of stone", "a gardener", "gardens of stones")
    ratios = [fuzzy_match("a garden of stone", gold).ratio for gold in ("a gardener", "gardens of stones")]
    assert min(ratios) < max(ratios) < 1

    for threshold, matching in ((max(ratios), True), (max(ratios) + 1e-9, False)):
        judge = FactualJudge(threshold=threshold)
        opinion = await judge.opinion(judged, RecordingAsk(verdicts("verdict: 1", "verdict: 1")))
        assert opinion.evidence["fuzzy"] == {
            "ratio": max(ratios),
            "matching": matching,
            "differs": None,
            "shortened": False,
        }
        assert opinion.evidence["disagreement"] is not matching
        assert len(FactualJudge(threshold=threshold, ask="unmatched").plan(judged)) == (0 if matching else 2)


@pytest.mark.parametrize(
    ("answer", "gold", "differs"),
    [("In 1951.", "In 1950.", "figures"), ("no", "CANNOTANSWER", None), ("CANNOTANSWER", "No", None)],
)
async def test_a_match_that_states_something_else_settles_nothing(answer, gold, differs):
    judge, ask = FactualJudge(ask="unmatched"), RecordingAsk(verdicts("verdict: 0"))
    opinion = await judge.opinion(answered(answer, gold), ask)

    assert opinion.values == {"": 0.0}
    assert len(ask.asked) == 1
    assert opinion.evidence["fuzzy"]["differs"] == differs
    assert opinion.evidence["fuzzy"]["matching"] is False


async def test_the_verification_is_told_what_seemed_to_differ():
    ask = RecordingAsk(verdicts("verdict: 1", "verdict: 1"))
    await FactualJudge().opinion(answered("In 1951.", "In 1950."), ask)

    assert "of 1; figures seemed to differ)" in ask.asked[1][0]


async def test_declining_rightly_is_a_match_by_ones_own_patterns_too():
    judged = answered("Keine Ahnung", "CANNOTANSWER")
    ask = RecordingAsk(verdicts("verdict: 0", "verdict: 0"))

    own = FactualJudge(ask="unmatched", declining=("keine ahnung",))
    assert (await own.opinion(judged, ask)).values == {"": 1.0}
    assert ask.asked == []
    assert "|declining:default|" not in own.signature
    assert (await FactualJudge(ask="unmatched").opinion(judged, ask)).values == {"": 0.0}
    with pytest.raises(ValueError, match="declining"):
        FactualJudge(declining=("(",))


def test_the_verification_is_planned_as_what_may_follow_a_disagreement():
    first, second = FactualJudge().plan(case(1))

    assert [(p.certain, p.completion_tokens) for p in (first, second)] == [(True, 120), (False, 120)]
    assert "a reader's verdict: contradicting" in second.prompt  # since the fuzzy match says otherwise
    assert "a reader's verdict: factually matching" in FactualJudge().plan(case(2))[1].prompt


@pytest.mark.parametrize("threshold", [-0.01, 1.01, float("nan")])
def test_a_threshold_that_is_no_share_is_refused(threshold):
    with pytest.raises(ValueError, match=f"threshold: {threshold:g} is not between 0 and 1"):
        FactualJudge(threshold=threshold)
    assert FactualJudge(threshold=0).threshold < FactualJudge(threshold=1).threshold


@pytest.mark.parametrize(
    ("criteria", "verdict", "flags"),
    [
        ({"topics": True, "figures": False}, 1, (ONE_UNMET,)),
        ({"topics": "true", "figures": 0}, 1, (ONE_UNMET,)),
        ({"topics": True, "figures": True}, 1, ()),
        ({"topics": True, "figures": False}, 0, ()),
        ({"topics": True, "figures": 1}, 0, (ALL_MET,)),
        ({"topics": True, "figures": "unclear"}, 0, ()),
        ({"topics": True, "figures": "unclear"}, 1, ()),
        ({}, 0, ()),
        ("none", 1, ()),
    ],
)
async def test_a_verdict_against_its_own_criteria_is_flagged_and_stands(criteria, verdict, flags):
    reply = json.dumps({"criteria": criteria, "verdict": verdict})
    judged = case(1 if verdict else 2)  # where the fuzzy match says the same, nothing is verified
    opinion = await FactualJudge().opinion(judged, RecordingAsk(verdicts(reply)))

    assert (opinion.values, opinion.flags) == ({"": float(verdict)}, flags)
