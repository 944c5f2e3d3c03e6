"""Each answer held against the recorded one: what decides, and what is kept of it."""

from __future__ import annotations

import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from replay.core.errors import RunError
from replay.results.judging import score
from replay.results.run import Run
from replay.results.same_answer import compare_answers
from replay.runs import launch
from replay.scenario.sections import RecordedSection
from tests.data_tables import from_table
from tests.scenario.keys import scenario

CASES = tomllib.loads((Path(__file__).parent / "recorded_cases.toml").read_text("utf-8"))["case"]


SECTION = {"same_from": 0.5}


def played(
    folder: Path, turns: list[dict[str, Any]], answers: list[str], *, recorded: Any = SECTION, **changes: Any
) -> Run:
    """The run of one conversation in which a system gives *answers* one after the other."""
    talks = [{"id": "talk", "turns": turns, **changes.pop("conversation", {})}]
    system = {"settings": {"answers": answers, "faults": changes.pop("faults", [])}}
    section = {} if recorded is None else {"recorded": recorded}
    more = {"policies": ["gold"], "scorers": ["f1"], "play": {"attempts": 1}, **section, **changes}
    return launch.run(scenario(folder, talks=talks, system=system, **more), runs=folder / "runs")


@pytest.fixture(scope="module")
def fifty(tmp_path_factory):
    """The verdicts on all cases, of one run in which each is a turn."""
    turns = [
        {
            "question": case["question"],
            "gold_answers": [case["recorded"], *case.get("others", [])],
            "expect": case.get("expect", []),
        }
        for case in CASES
    ]
    bad = [depth for depth, case in enumerate(CASES, 1) if case.get("bad")]
    run = played(
        tmp_path_factory.mktemp("fifty"),
        turns,
        [case["now"] for case in CASES],
        conversation={"metadata": {"bad_answers": bad}},
    )
    return run.recorded_turns()


@pytest.mark.parametrize("number", range(len(CASES)))
def test_cases_that_were_labelled_by_hand(fifty, number):
    case = CASES[number]
    assert fifty[number].verdict == case.get("still", case["verdict"]), fifty[number].evidence


QUESTION = {
    "question": "How much is it?",
    "gold_answers": ["It costs 12 euros.", "12 euros", "The price is 12"],
}


def verdicts(run: Run) -> list[tuple[str, str]]:
    return [(one.verdict, one.by) for one in run.recorded_turns()]


def test_only_a_scenario_that_asks_for_it_has_verdicts(tmp_path):
    run = played(tmp_path, [QUESTION], ["12 euros."], recorded=None)
    assert run.recorded_turns() == []
    assert not {"recorded.worse", "recorded.better"} & run.scorers().keys()
    assert run.report(resamples=0).recorded is None


def test_a_run_is_held_against_the_recorded_answers_afterwards(tmp_path):
    """And again by whatever scores it anew, with the settings it had."""
    run = played(tmp_path, [QUESTION], ["12 euros, and the delivery by bike included."], recorded=None)
    score(run.folder, recorded=RecordedSection(same_from=0.2))
    assert verdicts(run) == [("same", "equivalence")]
    score(run.folder)
    assert verdicts(run) == [("same", "equivalence")]
    score(run.folder, recorded=RecordedSection())
    assert verdicts(run) == [("differs", "nothing")]


def test_a_turn_without_an_answer_is_worse_and_one_without_a_recorded_answer_has_no_verdict(tmp_path):
    failing = [{"conversation": "talk", "depth": 2, "kind": "timeout"}]
    turns = [{"question": "Hello?"}, QUESTION]
    run = played(tmp_path, turns, ["Hi.", "12."], faults=failing)
    assert [(one.depth, one.verdict, one.by, one.now) for one in run.recorded_turns()] == [
        (2, "worse", "failure", None)
    ]
    records, scores = run.scored()
    assert [one.outcome for one in records] == ["answered", "timed-out"]
    assert [getattr(one, "reason", one) for one in scores["recorded.worse"].observed] == [
        "no recorded answer",
        1,
    ]


def test_checks_of_a_conversations_end_count_at_its_last_turn(tmp_path):
    turns = [QUESTION, {"question": "Thanks.", "gold_answers": ["Bye, and thank you."]}]
    ending = {"expect": [{"contains": "thank you"}]}
    run = played(tmp_path, turns, ["12 euros.", "Bye."], conversation=ending)
    assert verdicts(run)[1] == ("worse", "checks")
    run = played(tmp_path, turns, ["12 euros, thank you.", "So long."], conversation=ending)
    assert verdicts(run)[1] == ("differs", "nothing")


def test_calls_of_tools_are_looked_at_on_both_sides(tmp_path):
    call = {"id": "1", "name": "find", "arguments": "{}"}
    steps = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "text": "12", "tool_call_id": "1"},
    ]
    turn = {**QUESTION, "expect": [{"calls": "find"}], "steps": steps}
    run = played(tmp_path, [turn], ["It costs 12 euros."])
    assert verdicts(run) == [("worse", "checks")]


def test_a_recorded_answer_that_the_log_complains_of_is_no_reference(tmp_path):
    """Refusing what it said is not worse; failing to answer, or a check that is lost, still is."""
    metadata = {"metadata": {"bad_conversation": "thumbs in the log"}}
    run = played(tmp_path, [QUESTION], ["I can't help with that."], conversation=metadata)
    (turn,) = run.recorded_turns()
    assert (turn.verdict, turn.by) == ("differs", "nothing")
    assert turn.evidence.endswith("the recorded conversation went badly: thumbs in the log")

    expecting = [{**QUESTION, "expect": [{"contains": "12"}]}]
    run = played(tmp_path, expecting, ["I can't help with that."], conversation=metadata)
    assert verdicts(run) == [("worse", "checks")]


def test_a_question_that_has_drifted_has_no_recorded_answer_to_refuse(tmp_path):
    turns = [
        {"question": "Who painted it?", "gold_answers": ["Marta Lindqvist painted it."]},
        {"question": "Where was she born?", "gold_answers": ["Marta Lindqvist was born in Uppsala."]},
    ]
    answers = ["The harbour was painted by old Henrik Aas.", "I don't know."]
    (_, turn) = played(tmp_path, turns, answers, policies=["pred"]).recorded_turns()
    assert (turn.verdict, turn.by) == ("differs", "nothing")
    assert "means something else after the system's own answers" in turn.evidence


@from_table
def test_a_pairwise_judge_is_asked_in_both_orders(tmp_path, said, verdict, evidence):
    """Its answers are those to the recorded answer first, then to the new one first."""
    code = f"""
def answer(question):
    recorded_first = question.index("It costs 12 euros") < question.index("ask the shop")
    return {said!r}[0 if recorded_first else 1]
"""
    (tmp_path / "judge.py").write_text(code)
    target = f"{tmp_path / 'judge.py'}:answer"
    judge = {"adapter": "python", "settings": {"target": target}, "cache": False, "parameters": {}}
    run = played(tmp_path, [QUESTION], ["You have to ask the shop."], judges=[{"pairwise": judge}])
    (turn,) = run.recorded_turns()
    assert (turn.verdict, turn.by) == verdict
    assert evidence in turn.evidence
    (found,) = run.verdicts("pairwise")
    assert [len(vote["asks"]) for repeat in found.data["repeats"] for vote in repeat["votes"]] == [2]


def test_what_is_word_for_word_the_same_asks_no_judge(tmp_path):
    judge = {"adapter": "scripted", "settings": {"answers": ["A"]}, "cache": False}
    run = played(tmp_path, [QUESTION], ["it costs 12 euros"], judges=[{"pairwise": judge}])
    assert verdicts(run) == [("same", "equivalence")]
    assert run.judged()[0].tally.asks == 0


def test_verdicts_are_counted_by_depth_and_worse_turns_come_first(tmp_path):
    turns = [QUESTION, {**QUESTION, "question": "And the big one?"}, {**QUESTION, "question": "Both?"}]
    run = played(tmp_path, turns, ["It costs 12 euros.", "About 40.", "I can't say."])
    recorded = run.report(resamples=0).recorded
    assert [(row.depth, row.counts) for row in recorded.rows] == [
        (1, {"worse": 0, "differs": 0, "better": 0, "same": 1}),
        (2, {"worse": 0, "differs": 1, "better": 0, "same": 0}),
        (3, {"worse": 1, "differs": 0, "better": 0, "same": 0}),
        (None, {"worse": 1, "differs": 1, "better": 0, "same": 1}),
    ]
    assert [one.depth for one in recorded.turns] == [3, 2]
    assert recorded.totals[0].by == {"equivalence": 1, "nothing": 1, "refusal": 1}


def test_an_assertion_bounds_the_share_of_worse_turns(tmp_path):
    from replay.results.comparing import check_assertions

    bound = [{"metric": "recorded.worse", "max": 0.4}]
    turns = [QUESTION, {**QUESTION, "question": "Both?"}]
    run = played(tmp_path, turns, ["It costs 12 euros.", "I can't say."], **{"assert": bound})
    (result,) = check_assertions(run)
    assert not result.holds
    assert "0.5" in result.findings[0].summary


@from_table
def test_a_database_that_somebody_changed_is_an_error_of_ours(tmp_path, change):
    run = played(tmp_path, [QUESTION], ["It costs 12 euros."])
    with closing(sqlite3.connect(run.folder / "run.db")) as connection, connection:
        assert connection.execute(change).rowcount == 1
    with pytest.raises(RunError, match="says of its recorded answers can't be read"):
        run.report(resamples=0)


def test_a_turn_that_is_worse_under_several_policies_is_shown_once(tmp_path):
    from replay.report.document import Cases
    from replay.report.script_tables import recorded_sections

    run = played(tmp_path, [QUESTION], ["I can't say."], policies=["gold", "pred"])
    recorded = run.report(resamples=0).recorded
    *_, worse = recorded_sections(recorded)
    (cases,) = worse.blocks
    assert isinstance(cases, Cases)
    assert [one.title for one in cases.cases] == ["depth 1 of talk (s, gold; s, pred)"]


@pytest.mark.parametrize("text", ["so it goes, " * 300, "word " * 2_000])
def test_what_would_take_too_long_is_compared_word_for_word_alone(text):
    assert compare_answers("Well?", text, text.upper()).same
    found = compare_answers("Well?", text, f"{text} and on")
    assert (found.same, found.reason) == (False, "too long to be compared otherwise than word for word")
