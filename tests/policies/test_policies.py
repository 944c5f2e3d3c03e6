"""
What each policy shows the system, and how it puts the question.

Every policy that comes with the program keeps what any policy must keep.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from replay.core.drift_evidence import Mention, Reading
from replay.core.history import Exchange
from replay.policies.augment import AugmentPolicy
from replay.policies.recorded import FilterPolicy, GoldPolicy, PredPolicy, ReplacePolicy
from replay.policies.rewrite import RewritePolicy, RewriteRequest, SubstitutionRewriter
from replay.policies.simulated_user import ReactPolicy
from replay.testing import PolicyContract
from tests.samples import ALICE, SINGER, Fake, conversation, detector, play

ASTRAY = ("It is a song.", "I don't know.", "No idea.", "Nothing.")
"""Answers that name nobody, so that "she" and "her" have nothing left to refer to."""
RIGHT = tuple(turn.gold_answers[0] for turn in SINGER.turns)


def shown(system: Fake) -> list[tuple[Exchange, ...]]:
    return [request.history for request in system.requests]


async def played(policy, *, answers=ASTRAY, talk=SINGER, **settings):
    """The system that was asked under *policy* with drift read by ``ALICE``, and the records."""
    system = Fake(*answers)
    async with detector(resolver=ALICE) as drift:
        return system, await play(system, policy(detector=drift, **settings), talk)


def second(records):
    """What became of the question that has drifted where the first answer names nobody."""
    return records[1].edit, records[1].asked


async def test_gold_shows_gold_answers_and_nothing_else():
    system = Fake(*ASTRAY)
    records = await play(system, GoldPolicy(), SINGER)
    assert shown(system)[-1] == tuple(
        Exchange(question=t.question, answer=t.gold_answers[0]) for t in SINGER.turns[:-1]
    )
    assert all(r.edit == "kept" and r.drift is None for r in records)


async def test_gold_leaves_out_a_turn_whose_gold_answer_is_unknown():
    talk = conversation(("One?", "1"), ("Two?", None), ("Three?", "3"))
    system = Fake("a", "b", "c")
    await play(system, GoldPolicy(), talk)
    assert shown(system)[-1] == (Exchange(question="One?", answer="1"),)


async def test_pred_shows_own_answers_and_keeps_every_question():
    system, records = await played(PredPolicy)
    assert shown(system)[-1] == tuple(
        Exchange(question=t.question, answer=a) for t, a in zip(SINGER.turns[:-1], ASTRAY, strict=False)
    )
    assert all(r.edit == "kept" for r in records)
    assert [r.drift is not None and r.drift.valid for r in records][:2] == [True, False]


async def test_pred_can_leave_drift_alone():
    async with detector(resolver=ALICE) as drift:
        records = await play(Fake(*ASTRAY), PredPolicy(detector=drift, detect=False), SINGER)
        assert drift.service.resolved == 0
    assert all(r.drift is None for r in records)


async def test_rewrite_mends_an_invalid_question_and_keeps_the_rewritten_one_in_the_history():
    system, records = await played(RewritePolicy)
    assert records[0].edit == "kept"
    assert records[1].recorded == "Where was she born?"
    assert second(records) == ("rewritten", "Where was Alice Okafor born?")
    assert system.requests[2].history[1].question == "Where was Alice Okafor born?"
    evidence, *_ = records[1].drift.mentions
    assert evidence.gold.antecedent == "Alice Okafor"
    assert evidence.predicted.antecedent != "Alice Okafor"
    assert evidence.state in ("lost", "drifted")


async def test_rewrite_leaves_valid_questions_alone():
    _, records = await played(RewritePolicy, answers=RIGHT)
    assert all(r.edit == "kept" and r.drift.valid for r in records)


async def test_replace_asks_the_standalone_question_of_the_data_or_says_that_there_is_none():
    _, records = await played(ReplacePolicy)
    assert (records[0].edit, records[0].asked) == ("kept", SINGER.turns[0].question)
    assert second(records) == ("replaced", "Where was the singer Alice Okafor born?")
    bare = conversation(*((t.question, t.gold_answers[0]) for t in SINGER.turns), title=SINGER.title)
    _, records = await played(ReplacePolicy, talk=bare)
    assert second(records) == ("not-found", "Where was she born?")


async def test_replace_always_needs_no_drift():
    _, records = await played(ReplacePolicy, answers=RIGHT, always=True)
    assert [r.asked for r in records] == [t.standalone for t in SINGER.turns]


async def test_rewrite_always_asks_after_the_own_history_what_augment_asks_after_the_gold_one():
    _, rewritten = await played(RewritePolicy, answers=RIGHT, always=True)
    _, astray = await played(RewritePolicy, always=True)
    _, augmented = await played(AugmentPolicy, answers=RIGHT)
    assert [r.asked for r in rewritten] == [r.asked for r in astray] == [r.asked for r in augmented]
    assert [r.edit for r in rewritten][:2] == ["kept", "rewritten"]
    assert all(r.drift.valid for r in rewritten)


async def test_a_question_that_may_be_understood_as_it_is_needs_a_surer_edit():
    she = Mention(start=10, end=13, text="she", kind="pronoun")
    likely = Reading(mention=she, antecedent="Alice Okafor", worth=0.7)

    async def asked(*, invalid: bool, **settings: float) -> str:
        request = RewriteRequest(conversation=SINGER, depth=2, readings=(likely,), invalid=invalid)
        return await SubstitutionRewriter(**settings).rewrite(request)

    assert await asked(invalid=True) == "Where was Alice Okafor born?"
    assert await asked(invalid=False) == "Where was she born?"
    assert await asked(invalid=False, min_probability_valid=0.7) == "Where was Alice Okafor born?"
    assert await asked(invalid=True, min_probability=0.8) == "Where was she born?"


async def test_gold_can_ask_the_standalone_question_after_the_recorded_history():
    system = Fake(*ASTRAY)
    records = await play(system, GoldPolicy(question="standalone"), SINGER)
    assert [r.asked for r in records] == [t.standalone for t in SINGER.turns]
    assert [r.edit for r in records][:2] == ["kept", "replaced"]
    recorded = Fake(*ASTRAY)
    await play(recorded, GoldPolicy(), SINGER)
    assert shown(system) == shown(recorded)


async def test_gold_says_where_the_data_has_no_standalone_question():
    bare = conversation(*((t.question, t.gold_answers[0]) for t in SINGER.turns))
    records = await play(Fake(*ASTRAY), GoldPolicy(question="standalone"), bare)
    assert (records[1].edit, records[1].asked) == ("not-found", "Where was she born?")


async def test_filter_does_not_ask_an_invalid_question():
    system, records = await played(FilterPolicy)
    skipped = [r for r in records if r.edit == "filtered"]
    assert skipped
    assert all(r.outcome == "skipped" and r.answer is None and r.attempts == 0 for r in skipped)
    asked = [request.question for request in system.requests]
    assert not {r.recorded for r in skipped} & set(asked)
    assert all(e.question in asked for e in system.requests[-1].history)


async def test_augment_puts_the_gold_reading_into_every_question():
    system, records = await played(AugmentPolicy)
    assert second(records) == ("augmented", "Where was Alice Okafor born?")
    assert system.requests[1].history[0].answer == SINGER.turns[0].gold_answers[0]


@pytest.mark.parametrize("policy", [PredPolicy, RewritePolicy, ReplacePolicy, FilterPolicy])
async def test_each_policy_says_whose_answers_it_shows(policy):
    async with detector(window=3) as drift:
        made = policy(detector=drift)
        assert made.history == "own"
        assert "window:3" in made.signature
        assert "coref:embedded" in made.signature
    assert GoldPolicy().history == "gold"


GERMAN = conversation(("Wer sang das?", "Alice Okafor sang es."), ("Wo wurde sie geboren?", "In Port Ellis."))


@pytest.mark.parametrize("policy", [PredPolicy, FilterPolicy, RewritePolicy, ReplacePolicy, AugmentPolicy])
async def test_a_question_that_cannot_be_judged_is_asked_as_recorded(policy):
    system = Fake(*ASTRAY)
    async with detector(resolver=ALICE) as drift:
        records = await play(system, policy(detector=drift), GERMAN)
        assert drift.service.resolved == 0
    assert [r.asked for r in records] == [turn.question for turn in GERMAN.turns]
    assert {r.edit for r in records} == {"kept"}
    assert [r.drift.valid for r in records] == [None, None]
    assert {r.drift.not_judged for r in records} == {"the question is not English (German)"}


class Loud:
    """A rewriter that changes whatever it is given."""

    signature = "loud"

    async def rewrite(self, request):
        return request.question.upper()


async def test_rewrite_always_leaves_a_question_that_the_resolver_cannot_read():
    _, unread = await played(RewritePolicy, talk=GERMAN, rewriter=Loud(), always=True)
    _, read = await played(RewritePolicy, rewriter=Loud(), always=True)
    assert [(r.asked, r.edit) for r in unread] == [(turn.question, "kept") for turn in GERMAN.turns]
    assert {r.edit for r in read} == {"rewritten"}


@pytest.mark.parametrize("policy", [RewritePolicy, AugmentPolicy])
async def test_a_question_that_cannot_be_judged_is_not_given_to_a_rewriter(policy):
    _, records = await played(policy, talk=GERMAN, rewriter=Loud())
    assert {r.edit for r in records} == {"kept"}


async def test_replace_always_replaces_what_cannot_be_judged():
    turns = tuple(replace(turn, standalone="Wo wurde Alice Okafor geboren?") for turn in GERMAN.turns)
    _, records = await played(ReplacePolicy, talk=replace(GERMAN, turns=turns), always=True)
    assert {(r.edit, r.drift.valid) for r in records} == {("replaced", None)}


async def test_a_prefix_is_put_before_any_language_and_both_before_none():
    asked = {
        mode: (await played(AugmentPolicy, talk=GERMAN, mode=mode))[1][1].asked for mode in ("prefix", "both")
    }
    assert asked == {
        "prefix": "Alice Okafor sang es. Wo wurde sie geboren?",
        "both": "Wo wurde sie geboren?",
    }


class TestGold(PolicyContract):
    @pytest.fixture(params=["recorded", "standalone"])
    def policy(self, request):
        return GoldPolicy(question=request.param)


class TestPred(PolicyContract):
    @pytest.fixture(params=[True, False], ids=["with drift", "without drift"])
    def policy(self, request, detector):
        return PredPolicy(detector=detector, detect=request.param)


class TestRewrite(PolicyContract):
    @pytest.fixture(params=[True, False], ids=["always", "when invalid"])
    def policy(self, request, detector):
        return RewritePolicy(detector=detector, always=request.param)


class TestReplace(PolicyContract):
    @pytest.fixture(params=[True, False], ids=["always", "when invalid"])
    def policy(self, request, detector):
        return ReplacePolicy(detector=detector, always=request.param)


class TestAugment(PolicyContract):
    @pytest.fixture(params=["resolve", "prefix", "both"])
    def policy(self, request, detector):
        return AugmentPolicy(detector=detector, mode=request.param)


class TestFilter(PolicyContract):
    @pytest.fixture
    def policy(self, detector):
        return FilterPolicy(detector=detector)


class TestReact(PolicyContract):
    @pytest.fixture
    def policy(self, detector):
        return ReactPolicy(detector=detector)
