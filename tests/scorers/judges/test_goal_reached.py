"""The judge of goals: what it asks, and of which conversations."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from replay.core.conversation import UserGoal
from replay.scorers.judges.geval import NO_ANSWER
from replay.scorers.judges.yes_no import NO_GOAL, SAYS_BOTH, UNREADABLE, GoalReachedJudge
from replay.testing import JudgeContract, RecordingAsk, always
from tests.scorers.judges.samples import TALK, case

GOAL = UserGoal(wants="You want to know when she was born.", reached_when="A year was named.")
WITH_GOAL = replace(case(3), conversation=msgspec.structs.replace(TALK, goal=GOAL))


class TestGoalReached(JudgeContract):
    @pytest.fixture
    def judge(self):
        return GoalReachedJudge()

    @pytest.fixture
    def good(self):
        return always("Yes, it does.")

    @pytest.fixture
    def judged(self):
        return WITH_GOAL


def test_only_conversations_with_a_goal_and_an_answer_are_judged():
    judge = GoalReachedJudge()
    assert judge.why_not(case(3)) == NO_GOAL
    assert judge.why_not(WITH_GOAL) is None
    unanswered = replace(case(1, None), conversation=WITH_GOAL.conversation)
    assert judge.why_not(unanswered) == NO_ANSWER


async def test_the_whole_conversation_is_shown_with_the_goal():
    ask = RecordingAsk(always("Yes."))
    opinion = await GoalReachedJudge().opinion(WITH_GOAL, ask)
    ((prompt, _, _),) = ask.asked
    assert opinion.values == {"": 1.0}
    assert "<goal>\nYou want to know when she was born.\n</goal>" in prompt
    assert "<reached>\nA year was named.\n</reached>" in prompt
    assert "System: She was born in 1951." in prompt
    assert "System: I don't know.\n</conversation>" in prompt


@pytest.mark.parametrize(
    ("reply", "value", "flags"),
    [
        ("No: it never named one.", 0.0, ()),
        ("Hm.", UNREADABLE, ()),
        ("yes or no", UNREADABLE, (SAYS_BOTH,)),
    ],
)
async def test_what_is_read_of_a_reply(reply, value, flags):
    opinion = await GoalReachedJudge().opinion(WITH_GOAL, RecordingAsk(always(reply)))
    assert (opinion.values, opinion.flags) == ({"": value}, flags)
