"""``geval``: the contract, its three modes, criteria and steps (checklist D)."""

from __future__ import annotations

import math

import pytest

from replay.core.adapter import ChatReply, TokenLogprobs
from replay.core.errors import AdapterTimeoutError
from replay.scorers.judges.geval import NO_FACT, GEvalJudge
from replay.scorers.judges.judge import UnfitVoterError
from replay.scorers.scorer import Unscored
from replay.testing import JudgeContract, RecordingAsk, always
from tests.scorers.judges.samples import case


class TestGEvalSingle(JudgeContract):
    @pytest.fixture
    def judge(self):
        return GEvalJudge(mode="single")

    @pytest.fixture
    def good(self):
        return always("4")


class TestGEvalSamplesOfDialogue(JudgeContract):
    @pytest.fixture
    def judge(self):
        return GEvalJudge(mode="samples", samples=3, level="dialogue", criteria=("coherence",))

    @pytest.fixture
    def good(self):
        return always("4")

    def test_what_was_not_answered_is_not_asked_about(self, judge):
        assert judge.why_not(case(2, None, None)) == Unscored(
            reason="no turn of the conversation was answered"
        )
        assert judge.why_not(case(2, "Yes.", None)) is None


def test_the_modes_parameters_are_those_of_the_paper():
    """G-Eval samples with n = 20, temperature 2, top_p 1 and at most 5 tokens."""
    planned = GEvalJudge(mode="samples", criteria=("coherence",)).plan(case(2))

    assert len(planned) == 20
    assert [p.sample for p in planned] == list(range(20))
    assert dict(planned[0].parameters) == {"temperature": 2, "top_p": 1, "max_tokens": 5}
    single = GEvalJudge(mode="single", criteria=("coherence",)).plan(case(2))
    assert [p.parameters["temperature"] for p in single] == [0]


def test_the_mode_is_in_the_signature():
    signatures = {GEvalJudge(mode=mode).signature for mode in ("logprobs", "samples", "single")}

    assert len(signatures) == 3
    assert all("mode=" in signature for signature in signatures)


async def test_log_probabilities_weight_the_rating():
    top = (("5", math.log(0.5)), ("4", math.log(0.5)))
    reply = ChatReply(text="5", logprobs=(TokenLogprobs(token="5", logprob=math.log(0.5), top=top),))
    judge = GEvalJudge(mode="logprobs", criteria=("naturalness", "coherence"))
    opinion = await judge.opinion(case(2), RecordingAsk(lambda step, prompt: reply))

    assert opinion.values == pytest.approx({"naturalness": 4.5, "coherence": 4.5, "mean": 4.5})
    assert opinion.evidence["coherence"]["probabilities"] == pytest.approx({"4": 0.5, "5": 0.5})


async def test_a_reply_without_log_probabilities_names_the_other_modes():
    judge = GEvalJudge(mode="logprobs")
    with pytest.raises(UnfitVoterError, match='use mode "samples" or "single"'):
        await judge.opinion(case(2), RecordingAsk(always("5")))


async def test_samples_are_averaged_and_unreadable_ones_counted():
    replies = iter(["5", "4", "hm", "3"])
    judge = GEvalJudge(mode="samples", samples=4, criteria=("coherence",))
    opinion = await judge.opinion(case(2), RecordingAsk(lambda step, prompt: ChatReply(text=next(replies))))

    assert opinion.values == {"coherence": 4.0}
    assert opinion.evidence["coherence"]["ratings"] == [5, 4, None, 3]
    assert opinion.evidence["coherence"]["unreadable"] == 1


async def test_zero_is_not_a_rating():
    judge = GEvalJudge(mode="single", criteria=("coherence",))
    opinion = await judge.opinion(case(2), RecordingAsk(always("0")))

    assert opinion.values == {"coherence": Unscored(reason="the judge can't evaluate it")}


async def test_groundedness_needs_a_fact():
    judge = GEvalJudge(mode="single", criteria=("coherence", "groundedness"))
    ask = RecordingAsk(always("4"))
    opinion = await judge.opinion(case(3), ask)

    assert opinion.values == {"coherence": 4.0, "groundedness": NO_FACT, "mean": NO_FACT}
    assert len(ask.asked) == 1

    await judge.opinion(case(2), ask)
    assert "Okafor was born in 1950." in ask.asked[-1][0]  # the turn's fact
    await judge.opinion(case(1), ask)
    assert "Alice Okafor wrote it in 1987." in ask.asked[-1][0]  # or else its gold passages


async def test_one_criterion_may_fail_alone():
    def reply(step, prompt):
        if step == "geval.coherence":
            raise AdapterTimeoutError("slow")
        return ChatReply(text="4")

    judge = GEvalJudge(mode="single", criteria=("naturalness", "coherence"))
    opinion = await judge.opinion(case(2), RecordingAsk(reply))

    timed_out = Unscored(reason="judge timed-out")
    assert opinion.values == {"naturalness": 4.0, "coherence": timed_out, "mean": timed_out}


OWN = """
- name: brevity
  definition: Does it say no more than was asked for?
  scale: [1, 7]
"""


async def test_steps_are_asked_for_once_and_shown(tmp_path):
    (tmp_path / "own.yaml").write_text(OWN)

    def reply(step, prompt):
        return ChatReply(text="1. Read it.\n2) Count words.\n- Rate." if step.endswith(".steps") else "7")

    judge = GEvalJudge(mode="single", criteria_file=tmp_path / "own.yaml")
    ask = RecordingAsk(reply)
    opinion = await judge.opinion(case(2), ask)

    assert opinion.values == {"brevity": 7.0}
    assert opinion.evidence["brevity"]["steps"] == ["Read it.", "Count words.", "Rate."]
    assert opinion.evidence["brevity"]["steps_origin"] == "generated"
    assert "2. Count words." in ask.asked[1][0]
    assert "steps=generated" in judge.signature
    assert judge.plan(case(2))[0].once


async def test_a_whole_dialogue_is_shown_with_the_systems_own_answers():
    ask = RecordingAsk(always("4"))
    judge = GEvalJudge(mode="single", level="dialogue", criteria=("coherence",))
    await judge.opinion(case(3, history_shown="gold"), ask)

    assert "System: She was born in 1951.\nUser: Why?\nSystem: I don't know." in ask.asked[0][0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- name: a\n  definition: d\n  scale: [5, 1]\n", "doesn't go up"),
        ("- name: a\n  definition: d\n- nme: b\n", r"\[1\].nme \(line 3\)"),
        ("- name: mean\n  definition: d\n", "can't name a criterion"),
        ("- name: a\n  definition: d\n- name: a\n  definition: d\n", "names a criterion twice"),
        ("[]", "names no criterion"),
        ("- [", "not valid YAML"),
    ],
)
def test_faults_of_a_criteria_file_are_told_with_their_place(tmp_path, text, message):
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(ValueError, match=message):
        GEvalJudge(mode="single", criteria_file=tmp_path / "own.yaml")


def test_log_probabilities_need_ratings_of_one_digit(tmp_path):
    (tmp_path / "own.yaml").write_text("- {name: a, definition: d, scale: [1, 10]}")
    with pytest.raises(ValueError, match="single digits"):
        GEvalJudge(mode="logprobs", criteria_file=tmp_path / "own.yaml")
    GEvalJudge(mode="samples", criteria_file=tmp_path / "own.yaml")
