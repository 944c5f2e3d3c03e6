"""The judges of yes and no and of claims: the contract, and what each does with a reply."""

from __future__ import annotations

import json

import pytest

from replay.core.adapter import ChatReply
from replay.core.errors import AdapterTimeoutError
from replay.scorers.judges.claims import ClaimsJudge
from replay.scorers.judges.correctness import CorrectnessJudge
from replay.scorers.judges.factual import FactualJudge
from replay.scorers.judges.geval import GEvalJudge
from replay.scorers.scorer import Unscored
from replay.testing import JudgeContract, RecordingAsk, always
from tests.scorers.judges.samples import case

CLAIMS = {"golden_claims": ["A", "B"], "candidate_claims": ["A", "C", "D"], "common_claims": ["A"]}


class TestCorrectness(JudgeContract):
    @pytest.fixture
    def judge(self):
        return CorrectnessJudge()

    @pytest.fixture
    def good(self):
        return always("Yes")


class TestFactual(JudgeContract):
    @pytest.fixture
    def judge(self):
        return FactualJudge()

    @pytest.fixture
    def good(self):
        return always('{"criteria": {}, "reason": "r", "verdict": 1}')


class TestClaims(JudgeContract):
    @pytest.fixture
    def judge(self):
        return ClaimsJudge()

    @pytest.fixture
    def good(self):
        return always(json.dumps(CLAIMS))


# correctness ---------------------------------------------------------------------------------------------


async def test_correctness_is_1_for_yes_and_0_for_no():
    for text, value in (("Yes", 1.0), ("No, since ...", 0.0)):
        opinion = await CorrectnessJudge().opinion(case(), RecordingAsk(always(text)))
        assert opinion.values == {"": value}


async def test_a_users_prompt_is_in_the_place_of_ours_and_in_the_signature(tmp_path):
    own = tmp_path / "own.txt"
    own.write_text("{{ question }} | {{ gold }} | {{ predicted }} | {{ context }}")
    judge = CorrectnessJudge(prompt=own)
    ask = RecordingAsk(always("Yes"))
    await judge.opinion(case(2), ask)

    assert ask.asked[0][0] == (
        "When was she born? | In 1950. | She was born in 1951. | "
        "User: Who wrote it?\nSystem: It was Alice Okafor.\nUser: When was she born?"
    )
    assert judge.signature != CorrectnessJudge().signature


async def test_the_context_is_what_the_system_was_shown():
    ask = RecordingAsk(always("4"))
    judge = GEvalJudge(mode="single", criteria=("coherence",))
    await judge.opinion(case(2, history_shown="gold"), ask)

    assert "System: Alice Okafor\n" in ask.asked[0][0]
    assert "It was Alice Okafor." not in ask.asked[0][0]


def test_a_prompt_is_checked_before_anything_is_asked(tmp_path):
    own = tmp_path / "own.txt"
    own.write_text("{{ question }} {{ predikted }}")
    with pytest.raises(ValueError, match='no variable "predikted"; did you mean "predicted"'):
        CorrectnessJudge(prompt=own)
    own.write_text("Is {{ gold }} right?")
    with pytest.raises(ValueError, match="uses none of predicted, response"):
        CorrectnessJudge(prompt=own)
    own.write_text("{{ predicted ")
    with pytest.raises(ValueError, match=r"own\.txt"):
        CorrectnessJudge(prompt=own)


def test_a_default_can_be_taken_back():
    judge = CorrectnessJudge(parameters={"max_tokens": None, "max_completion_tokens": 5})

    assert judge.plan(case())[0].parameters == {"temperature": 0, "max_completion_tokens": 5}
    assert judge.needed_parameters == ("max_completion_tokens",)


# factual -------------------------------------------------------------------------------------------------


def verdicts(first: str, second: str = ""):
    return lambda step, prompt: ChatReply(text=second if step == "factual.verification" else first)


async def test_a_fuzzy_match_that_the_model_confirms_needs_no_verification():
    opinion = await FactualJudge().opinion(case(1), RecordingAsk(verdicts('{"verdict": 1}')))

    assert opinion.values == {"": 1.0}
    assert opinion.evidence["fuzzy"] == {"ratio": 1.0, "matching": True}
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


async def test_the_other_disagreement_is_verified_too():
    opinion = await FactualJudge().opinion(case(3), RecordingAsk(verdicts("verdict: 1", "verdict: 0")))

    assert opinion.values == {"": 0.0}
    assert opinion.evidence["fuzzy"]["matching"] is False


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


# claims --------------------------------------------------------------------------------------------------


async def test_lists_are_counted_by_us_whatever_the_judge_says():
    lie = {**CLAIMS, "recall": 1.0, "common_claim_count": 9}
    opinion = await ClaimsJudge().opinion(case(2), RecordingAsk(always(json.dumps(lie))))

    assert opinion.values == pytest.approx({"recall": 1 / 2, "precision": 1 / 3, "f1": 0.4})
    assert opinion.evidence["counts"] == {"golden": 2, "candidate": 3, "common": 1}
    assert opinion.evidence["reported"] == {"recall": 1.0, "common_claim_count": 9}


async def test_json_is_found_in_prose_and_fences():
    text = f"Let me see {{thinking}}.\n```json\n{json.dumps(CLAIMS, indent=1)}\n```\nHope that helps!"
    opinion = await ClaimsJudge().opinion(case(2), RecordingAsk(always(text)))

    assert opinion.values["recall"] == 0.5


async def test_a_broken_reply_is_shown_to_the_judge_with_the_error():
    replies = iter(['{"golden_claims": ["A"', '{"golden_claims": "A"}', json.dumps(CLAIMS)])
    ask = RecordingAsk(lambda step, prompt: ChatReply(text=next(replies)))
    opinion = await ClaimsJudge().opinion(case(2), ask)

    first, second, third = (prompt for prompt, *_ in ask.asked)
    assert first in second
    assert '{"golden_claims": ["A"' in second
    assert "at character" in second
    assert '"golden_claims" is not a list' in third
    assert opinion.values["recall"] == 0.5
    assert len(opinion.evidence["problems"]) == 2
    assert [sample for *_, sample in ask.asked] == [0, 1, 2]


async def test_after_the_last_try_the_turn_is_unscored():
    ask = RecordingAsk(always("no"))
    opinion = await ClaimsJudge(tries=2).opinion(case(2), ask)

    assert len(ask.asked) == 2
    assert set(opinion.values.values()) == {Unscored(reason="the judge's claims can't be read as JSON")}


async def test_without_golden_claims_there_is_no_score():
    empty = {"golden_claims": [], "candidate_claims": ["A"], "common_claims": []}
    opinion = await ClaimsJudge().opinion(case(2), RecordingAsk(always(json.dumps(empty))))

    assert set(opinion.values.values()) == {Unscored(reason="no claims in the gold answer")}
    assert ClaimsJudge().why_not(case(3)) == Unscored(reason="no claims in the gold answer")


def test_the_response_format_is_a_parameter_that_is_needed():
    judge = ClaimsJudge(response_format="json_schema")

    sent = judge.plan(case(2))[0].parameters["response_format"]
    assert sent["json_schema"]["schema"]["required"] == [
        "golden_claims",
        "candidate_claims",
        "common_claims",
    ]
    assert judge.needed_parameters == ("response_format",)
    assert "response_format" not in ClaimsJudge().plan(case(2))[0].parameters
