"""``recorded``: each answer held against the recorded one, each key played where it matters."""

from __future__ import annotations

from typing import Any

import pytest

from replay.core.errors import ScenarioError
from replay.scenario.assembly import assemble
from tests.scenario.keys import key, played, scenario, talk

TALK = talk("a")
TALK["turns"][0] |= {
    "question": "How much?",
    "gold_answers": ["It costs 12 euros a month.", "12 a month", "12 monthly"],
}


async def verdicts(folder, answer: str, recorded: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    system = {"settings": {"answers": [answer]}}
    run = await played(folder, talks=[TALK], system=system, recorded=recorded, **more)
    return [(one.verdict, one.by) for one in run.recorded_turns()]


@key("recorded.same_from")
async def test_two_answers_are_the_same_from_this_likeness_on(tmp_path):
    answer = "12 euros, payable by card or invoice."
    assert await verdicts(tmp_path, answer, {"same_from": 0.9}) == [("differs", "nothing")]
    assert await verdicts(tmp_path, answer, {"same_from": 0.1}) == [("same", "equivalence")]


@key("recorded.judge")
async def test_the_judge_that_is_named_decides(tmp_path):
    """It always says A, and B in the other order, as its answers go: the recorded one, or the new one."""
    judges = [
        {"pairwise": {"adapter": "scripted", "settings": {"answers": [said]}, "cache": False, "name": name}}
        for name, said in (("ties", "TIE"), ("places", "A"))
    ]
    for name, expected in (("ties", ("same", "judge")), ("places", ("differs", "nothing"))):
        assert await verdicts(tmp_path, "Nobody knows.", {"judge": name}, judges=judges) == [expected]
    with pytest.raises(ScenarioError, match=r"say which of the pairwise judges counts \(ties, places\)"):
        assemble(scenario(tmp_path, recorded={"same_from": 0.5}, judges=judges))
    with pytest.raises(ScenarioError, match='"tie" is no judge; did you mean "ties"'):
        assemble(scenario(tmp_path, recorded={"judge": "tie"}, judges=judges))


@key("recorded.score", "recorded.margin")
async def test_both_answers_are_scored_against_the_other_gold_answers(tmp_path):
    answer = "Twelve hundred yen."
    assert await verdicts(tmp_path, answer, {"same_from": 0.9}) == [("differs", "nothing")]
    assert await verdicts(tmp_path, answer, {"score": "f1"}) == [("worse", "scores")]
    assert await verdicts(tmp_path, answer, {"score": "f1", "margin": 0.9}) == [("differs", "nothing")]
    assert await verdicts(tmp_path, "12 monthly", {"score": "f1", "same_from": 1}) == [("better", "scores")]


def test_shares_of_worse_turns_can_be_asserted_where_they_are_asked_for(tmp_path):
    bound = [{"metric": "recorded.worse", "max": 0.1}]
    with pytest.raises(ScenarioError, match=r'"recorded.worse" is no metric'):
        assemble(scenario(tmp_path, **{"assert": bound}))
    assemble(scenario(tmp_path, recorded={"same_from": 0.5}, **{"assert": bound}))
