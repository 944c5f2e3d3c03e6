"""What any judge must keep, over all of them."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import pytest

from replay.core.conversation import UserGoal
from replay.core.expectation import Expectation
from replay.scorers.judges.claims import ClaimsJudge
from replay.scorers.judges.factual import FactualJudge
from replay.scorers.judges.geval import GEvalJudge
from replay.scorers.judges.items import ContextPrecisionJudge, ContextRecallJudge
from replay.scorers.judges.pairwise import PairwiseJudge
from replay.scorers.judges.yes_no import CorrectnessJudge, GoalReachedJudge, RubricJudge
from replay.testing import JudgeContract, always
from tests.scorers.judges.named import NAMED
from tests.scorers.judges.samples import TALK, case

CLAIMS = {"golden_claims": ["A", "B"], "candidate_claims": ["A", "C", "D"], "common_claims": ["A"]}
RUBRIC = tuple(
    msgspec.structs.replace(turn, expect=(Expectation(kind="rubric", value="Names a year."),))
    for turn in TALK.turns
)
GOAL = UserGoal(wants="You want to know when she was born.", reached_when="A year was named.")
JUDGES = {
    "correctness": (CorrectnessJudge(), "Yes", case(2)),
    "factual": (FactualJudge(), '{"criteria": {}, "reason": "r", "verdict": 1}', case(2)),
    "claims": (ClaimsJudge(), json.dumps(CLAIMS), case(2)),
    "geval of turns": (GEvalJudge(mode="single"), "4", case(2)),
    "geval of a dialogue": (
        GEvalJudge(mode="samples", samples=3, level="dialogue", criteria=("coherence",)),
        "4",
        case(2),
    ),
    "pairwise": (PairwiseJudge(), "Both say the same.\nTIE", case(2, "A.", "In another year.")),
    "goal_reached": (
        GoalReachedJudge(),
        "Yes, it does.",
        replace(case(3), conversation=msgspec.structs.replace(TALK, goal=GOAL)),
    ),
    "rubric": (
        RubricJudge(),
        "Yes, it does.",
        replace(case(2), conversation=msgspec.structs.replace(TALK, turns=RUBRIC)),
    ),
    **{named.judge.kind: (named.judge(), named.reply(), named.case) for named in NAMED},
}


class TestEveryJudgeKeepsTheContract(JudgeContract):
    @pytest.fixture(params=JUDGES.values(), ids=JUDGES)
    def one(self, request):
        return request.param

    @pytest.fixture
    def judge(self, one):
        return one[0]

    @pytest.fixture
    def good(self, one):
        return always(one[1])

    @pytest.fixture
    def judged(self, one):
        return one[2]

    async def test_the_answer_is_in_the_prompt(self, judge, good, judged):
        """Judges of what was retrieved see the passages instead."""
        if not isinstance(judge, ContextPrecisionJudge | ContextRecallJudge):
            await super().test_the_answer_is_in_the_prompt(judge, good, judged)
        else:
            prompt = judge.plan(judged)[0].prompt
            assert all(passage.text in prompt for passage in judged.record.passages)
