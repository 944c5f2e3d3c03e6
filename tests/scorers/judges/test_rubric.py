"""The judge of rubrics: what it asks, and what the check makes of the replies."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from replay.core.errors import ScenarioError
from replay.core.expectation import Expectation
from replay.results.judging import judge_run, run_panels
from replay.runs.launch import run_async
from replay.scorers.judges.judge import Case
from replay.scorers.judges.yes_no import NO_RUBRIC, SAYS_BOTH, UNREADABLE, RubricJudge
from replay.scorers.scorer import Unscored
from replay.testing import RecordingAsk, always
from tests.data_tables import from_table
from tests.scorers.judges.samples import TALK, case
from tests.scorers.judges.servers import broken, judge_server


def rubric(text: str, judge: str | None = None) -> Expectation:
    return Expectation(kind="rubric", value=text if judge is None else {"text": text, "judge": judge})


EXPECTED = (rubric("Names a year."), Expectation(kind="contains", value="x"), rubric("Is polite.", "manners"))
ASKED_FOR = msgspec.structs.replace(
    TALK,
    turns=(TALK.turns[0], msgspec.structs.replace(TALK.turns[1], expect=EXPECTED), TALK.turns[2]),
    expect=(rubric("Never guesses."),),
)


def asked_for(depth: int, *answers: str | None) -> Case:
    return replace(case(depth, *answers), conversation=ASKED_FOR)


def test_a_turn_without_a_rubric_is_not_asked_about():
    judge = RubricJudge()
    assert judge.why_not(asked_for(1)) == NO_RUBRIC
    assert judge.why_not(asked_for(2)) is None
    assert judge.why_not(asked_for(2, "A.", None)) == Unscored(reason="not answered: timed-out")
    assert judge.why_not(asked_for(3)) is None
    assert judge.why_not(asked_for(3, "A.", "B.", None)) == Unscored(reason="not answered: timed-out")


async def test_each_rubric_is_asked_about_with_what_it_is_about():
    ask = RecordingAsk(always("Yes."))
    await RubricJudge(panel_name="manners").opinion(asked_for(2), ask)
    (first, _, _), (second, _, _) = ask.asked
    assert "<rule>\nNames a year.\n</rule>" in first
    assert "<rule>\nIs polite.\n</rule>" in second
    assert "<answer>\nShe was born in 1951.\n</answer>" in first
    assert "User: When was she born?" in first

    ask = RecordingAsk(always("Yes."))
    await RubricJudge().opinion(asked_for(3), ask)
    ((end, _, _),) = ask.asked
    assert "<rule>\nNever guesses.\n</rule>" in end
    assert "System: I don't know.\n</conversation>" in end
    assert "<answer>" not in end


@pytest.mark.parametrize(
    ("replies", "value", "flags"),
    [
        (("Yes.", "Yes."), 1.0, ()),
        (("Yes.", "No, it is rude."), 0.0, ()),
        (("Hm.", "No."), 0.0, ()),
        (("Yes.", "Hm."), UNREADABLE, ()),
        (("yes or no", "Yes."), UNREADABLE, (SAYS_BOTH,)),
    ],
)
async def test_the_judges_own_number_is_1_where_all_rubrics_are_met(replies, value, flags):
    said = {"Names a year.": replies[0], "Is polite.": replies[1]}
    ask = RecordingAsk(
        lambda step, prompt: always(next(r for t, r in said.items() if t in prompt))(step, prompt)
    )
    opinion = await RubricJudge(panel_name="manners").opinion(asked_for(2), ask)
    assert (opinion.values, opinion.flags) == ({"": value}, flags)


# In a run ------------------------------------------------------------------------------------------------

TURNS = [
    {"question": "Where is my order?", "expect": {"rubric": "Names a place."}},
    {
        "question": "And my refund?",
        "expect": [{"rubric": "Is polite."}, {"rubric": "Names a sum.", "as": "sum"}, {"contains": "refund"}],
    },
]
TALKS = {"id": "talk", "turns": TURNS, "expect": {"rubric": "Never blames the user."}}


def scenario(folder, *judges: Any, talk: Any = TALKS) -> dict[str, Any]:
    (folder / "talks.jsonl").write_text(json.dumps(talk) + "\n")
    return {
        "name": "rubrics",
        "data": {"path": str(folder / "talks.jsonl")},
        "systems": [
            {"name": "bot", "adapter": "scripted", "settings": {"answers": ["In Graz.", "The refund?"]}}
        ],
        "policies": ["pred"],
        "scorers": ["latency"],
        "drift": {"nlp_workers": 0},
        "judges": list(judges),
    }


def replying(prompt: str, number: int) -> str:
    if "Names a sum." in prompt:
        return "No, there is\nno sum."
    return "Yes, it does."


def became(run: Any) -> list[Any]:
    return [(c.depth, c.at_end, c.kind, c.passed, c.reason or c.evidence) for c in run.checks()]


async def test_rubrics_are_checks_with_the_judges_words_as_evidence(tmp_path):
    async with judge_server(replying) as server:
        run = await run_async(scenario(tmp_path, {"rubric": server.settings()}), runs=tmp_path / "runs")

    assert became(run) == [
        (1, False, "rubric", True, 'judged: "Yes, it does."'),
        (2, False, "rubric", True, 'judged: "Yes, it does."'),
        (2, False, "rubric", False, 'judged: "No, there is no sum."'),
        (2, False, "contains", True, '"refund" in the answer'),
        (2, True, "rubric", True, 'judged: "Yes, it does."'),
    ]
    assert len(server.bodies) == 4
    columns = run.scored()[1]
    assert {name: columns[name].observed for name in ("check", "check.sum", "check.end", "rubric")} == {
        "check": [1.0, 0.0],
        "check.sum": [Unscored(reason="no check here"), 0.0],
        "check.end": [Unscored(reason="no check here"), 1.0],
        "rubric": [1.0, 0.0],
    }


async def test_what_was_not_judged_is_never_passed_and_can_be_judged_later(tmp_path):
    async with judge_server(lambda prompt, number: broken(400)) as server:
        settings = {**server.settings(), "backoff_s": 0.0, "cache": False}
        run = await run_async(scenario(tmp_path, {"rubric": settings}), runs=tmp_path / "runs")
        assert {(c.passed, c.reason) for c in run.checks() if c.kind == "rubric"} == {(None, "judge refused")}

        server.reply = replying
        await judge_run(run.folder, run_panels(run, ["rubric"]))
    assert [c.passed for c in run.checks()] == [True, True, False, True, True]


async def test_a_judges_number_is_held_against_bounds(tmp_path):
    expect = {"judge": {"name": "correctness", "at_least": 1}}
    turns = [{"question": f"Q{n}?", "gold_answer": "A.", "expect": expect} for n in (1, 2)]
    talk = {
        "id": "t",
        "turns": turns,
        "expect": {"judge": {"name": "correctness", "at_least": 1, "at_most": 1}},
    }
    async with judge_server(lambda prompt, number: "No" if "Q2?" in prompt else "Yes") as server:
        run = await run_async(
            scenario(tmp_path, {"correctness": server.settings()}, talk=talk), runs=tmp_path / "r"
        )

    assert became(run) == [
        (1, False, "judge", True, "correctness 1"),
        (2, False, "judge", False, "correctness 0; expected at least 1"),
        (2, True, "judge", False, "correctness 0; expected at least 1 and at most 1"),
    ]


@from_table
async def test_a_check_that_no_judge_answers_is_refused_before_anything_is_asked(
    tmp_path, expect, judges, message
):
    talk = {"id": "t", "turns": [{"question": "Q?"}, {"question": "Q?", "expect": expect}], "expect": expect}
    named = [{"rubric": {"adapter": "scripted", "name": name}} for name in judges]
    with pytest.raises(ScenarioError) as caught:
        await run_async(scenario(tmp_path, *named, talk=talk), runs=tmp_path / "runs")
    assert message in str(caught.value)
    assert 'met at turn 2 of "t" and 1 more' in str(caught.value)


async def test_voters_decide_by_majority_and_repeats_that_are_split_decide_nothing(tmp_path):
    talk = {"id": "t", "turns": [{"question": "Hm?", "expect": {"rubric": "Is polite."}}]}
    async with judge_server(lambda prompt, number: "No." if number % 3 == 1 else "Yes.") as server:
        voters = [{**server.settings(), "name": name} for name in "abc"]
        judge = {"rubric": {"voters": voters, "cache": False, "concurrency": 1}}
        run = await run_async(scenario(tmp_path, judge, talk=talk), runs=tmp_path / "voters")
    assert became(run) == [(1, False, "rubric", True, 'judged (2 of 3 votes): "Yes."')]

    async with judge_server(lambda prompt, number: "No." if number % 2 else "Yes.") as server:
        judge = {"rubric": {**server.settings(), "repeats": 2, "cache": False}}
        run = await run_async(scenario(tmp_path, judge, talk=talk), runs=tmp_path / "split")
    assert became(run) == [(1, False, "rubric", None, "the repeats are evenly split")]


async def test_a_judge_is_asked_about_its_own_rubrics_alone(tmp_path):
    expect = [{"rubric": {"text": text, "judge": name}} for text, name in (("A.", "one"), ("B.", "two"))]
    talk = {"id": "t", "turns": [{"question": "Hm?", "expect": expect}]}
    async with judge_server(lambda prompt, number: "Yes." if "A." in prompt else "No.") as server:
        judges = [{"rubric": {**server.settings(), "name": n, "cache": False}} for n in ("one", "two")]
        run = await run_async(scenario(tmp_path, *judges, talk=talk), runs=tmp_path / "runs")

    assert [one.passed for one in run.checks()] == [True, False]
    assert len(server.bodies) == 2


async def test_a_judge_of_whole_conversations_is_held_against_bounds_at_the_end(tmp_path):
    bound = {"judge": {"name": "geval", "column": "coherence", "at_least": 4}}
    talk = {"id": "t", "turns": [{"question": "Q1?"}, {"question": "Q2?", "expect": bound}], "expect": bound}
    async with judge_server("Coherence: 3") as server:
        settings = {"level": "dialogue", "mode": "single", "criteria": ["coherence"]}
        judge = {"geval": {**server.settings(), **settings}}
        run = await run_async(scenario(tmp_path, judge, talk=talk), runs=tmp_path / "runs")

    said = "geval.coherence 3; expected at least 4"
    assert became(run) == [(2, False, "judge", False, said), (2, True, "judge", False, said)]


async def test_a_judge_cant_be_called_as_the_columns_of_checks(tmp_path):
    with pytest.raises(ScenarioError, match='"check" is what the column of checks is called as well'):
        await run_async(
            scenario(tmp_path, {"rubric": {"adapter": "scripted", "name": "check"}}), runs=tmp_path
        )
