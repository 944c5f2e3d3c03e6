"""The judge of two answers: both orders, and what is read out of replies."""

from __future__ import annotations

import pytest

from replay.scorers.judges.pairwise import (
    CONTRADICTS,
    UNREADABLE,
    WORD_FOR_WORD,
    PairwiseJudge,
    read_choice,
)
from replay.scorers.scorer import Unscored
from replay.testing import JudgeContract, RecordingAsk, always
from tests.scorers.judges.samples import case


class TestPairwise(JudgeContract):
    @pytest.fixture
    def judge(self):
        return PairwiseJudge()

    @pytest.fixture
    def good(self):
        return always("Both say the same.\nTIE")

    @pytest.fixture
    def judged(self):
        return case(2, "A.", "In another year.")


async def test_the_answers_change_places():
    judged = case(2, "A.", "In another year.")
    recorded = judged.record.gold_answers[0]
    ask = RecordingAsk(always("A"))
    opinion = await PairwiseJudge().opinion(judged, ask)
    places = [
        (f"<answer_a>{recorded}</answer_a>" in prompt, "<answer_b>In another year.</answer_b>" in prompt)
        for prompt, *_ in ask.asked
    ]
    assert places == [(True, True), (False, False)]
    assert opinion.values == {"": CONTRADICTS}
    assert opinion.flags == (CONTRADICTS.reason,)


async def test_an_unclear_reply_is_no_verdict():
    opinion = await PairwiseJudge().opinion(
        case(2, "A.", "B."), RecordingAsk(always("A better one is hard."))
    )
    assert opinion.values == {"": UNREADABLE}


def test_what_has_no_second_answer_or_the_same_one_is_not_asked_about():
    judge = PairwiseJudge()
    recorded = case(2).record.gold_answers[0]
    assert judge.why_not(case(2, "A.", recorded.upper())) == WORD_FOR_WORD
    assert judge.why_not(case(2, "A.", None)) == Unscored(reason="not answered: timed-out")
    assert judge.why_not(case(2, "A.", "Another one.")) is None


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ("A", "a"),
        ("**B**.", "b"),
        ("Answer A", "a"),
        ("The first has the year.\n\nTIE", "tie"),
        ("Verdict: [[B]]", "b"),
        ("My verdict is A, since B lacks the year.", "a"),
        ("[[Tie]]", "tie"),
        ("A is better than B in some ways.", None),
        ("Neither of them can be judged here.", None),
        ("", None),
    ],
)
def test_the_choice_is_the_last_line_or_behind_a_label(reply, choice):
    assert read_choice(reply) == choice
