"""What the data expects, held against a run's answers: kept with evidence, and as columns of scores."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import replay
from replay.core.errors import RunError, ScenarioError
from replay.core.record import TurnRecord
from replay.results.comparing import check_assertions
from replay.results.judging import score
from replay.results.run import Run
from replay.scenario.reading import ScenarioFile
from replay.scorers.checks.check import CheckInput, CheckOutcome
from replay.scorers.checks.texts import Contains
from replay.scorers.scorer import Unscored
from replay.store.store import RunStore
from tests.scenario.keys import scenario as made

REFUND = {
    "id": "refund",
    "turns": [
        {"question": "Hello?", "expect": {"contains": "hello"}},
        {
            "question": "My refund?",
            "expect": [{"contains": "REFUND"}, {"contains": "three days", "as": "days"}],
        },
        {"question": "Thanks."},
    ],
    "expect": {"contains": ["Refund", "bye"]},
}
ANSWERS = ["Hello  there.", "Your refund is on its way.", "Bye!"]


def scenario(
    folder: Path, *talks: Any, answers: Any = ANSWERS, faults: Any = (), **changes: Any
) -> ScenarioFile:
    """The conversations *talks*, under the policy ``pred`` unless *changes* says otherwise."""
    system = {"settings": {"answers": answers, "faults": list(faults)}}
    more = {"policies": ["pred"], "scorers": ["latency"], "play": {"attempts": 1}, **changes}
    return made(folder, talks=talks, system=system, **more)


def played(folder: Path, *talks: Any, **changes: Any) -> Run:
    return replay.run(scenario(folder, *talks, **changes), runs=folder / "runs")


def test_each_check_of_a_run_is_kept_with_what_was_found(tmp_path):
    run = played(tmp_path, REFUND)

    found = [(c.depth, c.at_end, c.kind, c.called, c.passed, c.evidence) for c in run.checks()]
    assert found == [
        (1, False, "contains", None, True, '"hello" in the answer'),
        (2, False, "contains", None, True, '"REFUND" in the answer'),
        (2, False, "contains", "days", False, 'no "three days" in the answer'),
        (
            3,
            True,
            "contains",
            None,
            True,
            '"Refund" in the answer at depth 2; "bye" in the answer at depth 3',
        ),
    ]


def test_checks_are_columns_by_depth_that_reports_and_comparisons_know(tmp_path):
    run = played(tmp_path, REFUND)

    table = run.depth_table(resamples=100)
    rates = {name: table[name].tolist() for name in table if name.startswith("check") and "_" not in name}
    nan = pytest.approx(math.nan, nan_ok=True)
    assert rates == {
        "check": [1, 0, 1, pytest.approx(2 / 3)],
        "check.contains": [1, 0, 1, pytest.approx(2 / 3)],
        "check.days": [nan, 0, nan, 0],
        "check.end": [nan, nan, 1, 1],
    }


def test_the_signature_says_what_can_move_a_columns_number_beside_the_data(tmp_path):
    run = played(
        tmp_path, {"id": "a", "turns": [{"question": "Hm?", "expect": {"refuses": False, "regex": "H"}}]}
    )

    assert {name: one.signature for name, one in run.scorers().items() if name != "latency"} == {
        "check": "check:all-hold|refuses:english-1",
        "check.refuses": "check.refuses:all-hold|refuses:english-1",
        "check.regex": "check.regex:all-hold",
    }


def test_a_run_whose_data_expects_nothing_has_no_such_columns(tmp_path):
    run = played(tmp_path, {"id": "a", "turns": [{"question": "Hello?"}]})

    assert run.checks() == []
    assert list(run.scorers()) == ["latency"]


def test_what_could_not_be_looked_at_is_kept_with_its_reason_and_never_passed(tmp_path):
    """A failed ask, the turns that it kept from being asked, and the end that was not come to."""
    run = played(tmp_path, REFUND, answers=["Hello."], faults=[{"kind": "timeout", "depth": 2}])

    assert [(c.depth, c.at_end, c.passed, c.reason) for c in run.checks()] == [
        (1, False, True, None),
        (2, False, None, "not answered: timed-out"),
        (2, False, None, "not answered: timed-out"),
        (3, True, None, "not reached: timed-out before"),
    ]
    records, columns = run.scored()
    assert len(records) == 2
    assert columns["check"].observed == [1.0, Unscored(reason="not answered: timed-out")]
    assert columns["check.days"].observed[0] == Unscored(reason="no check here")


HUGE = '{"items": [{"price": 1e308}, {"price": 1e308}]}'
TOTAL = {"jmespath": {"expression": "floor(sum(items[].price))", "equals": 3}}


def test_a_check_that_fails_at_an_answer_ends_nothing_and_others_are_looked_at(tmp_path):
    """The answer would do the same to every `replay score` and `replay resume`."""
    talk = {
        "id": "a",
        "turns": [
            {"question": "The order?", "expect": {**TOTAL, "contains": "price"}},
            {"question": "Thanks.", "expect": {"contains": "bye", **TOTAL}},
        ],
        "expect": TOTAL,
    }
    run = played(tmp_path, talk, answers=[HUGE, "Bye!"])

    why = "jmespath: fails with OverflowError"
    said = "cannot convert float infinity to integer"
    found = [(c.depth, c.at_end, c.kind, c.passed, c.reason, c.evidence) for c in run.checks()]
    assert found == [
        (1, False, "jmespath", None, why, said),
        (1, False, "contains", True, None, '"price" in the answer'),
        (2, False, "contains", True, None, '"bye" in the answer'),
        (
            2,
            False,
            "jmespath",
            False,
            None,
            "the answer is not JSON: JSON is malformed: invalid character (byte 0)",
        ),
        (2, True, "jmespath", None, why, said),
    ]
    assert run.scored()[1]["check"].observed == [Unscored(reason=why), 0.0]
    before = run.checks()
    score(run.folder)
    assert run.checks() == before


def test_whatever_a_check_raises_is_why_it_was_not_looked_at(tmp_path, monkeypatch):
    def broken(self: Contains, seen: CheckInput) -> CheckOutcome:
        raise RuntimeError("out of order")

    monkeypatch.setattr(Contains, "look", broken)
    run = played(tmp_path, REFUND)

    assert {(c.passed, c.reason, c.evidence) for c in run.checks()} == {
        (None, "contains: fails with RuntimeError", "out of order")
    }


async def test_an_end_that_a_skipped_turn_might_have_held_could_not_be_looked_at(tmp_path):
    """The system was never asked for it; what it said, and should not have, it said all the same."""
    expect = [
        {"contains": "hello"},
        {"contains": "three days"},
        {"equals": "Yes."},
        {"refuses": True},
        {"calls": "refund"},
        {"json_schema": {}},
        {"not_contains": "sorry"},
        {"not_contains": "bye"},
    ]
    talk = {
        "id": "a",
        "turns": [
            {"question": "Who wrote Stone Garden?", "gold_answer": "Alice Okafor wrote it."},
            {"question": "Where was she born?", "gold_answer": "In Port Ellis."},
            {"question": "Thanks."},
        ],
        "expect": expect,
    }
    answers = ["Hello, Ruth Marlow wrote it.", "In Rome.", "Bye."]
    run = await replay.run_async(
        scenario(tmp_path, talk, answers=answers, policies=["filter", "pred"]), runs=tmp_path / "runs"
    )
    assert [r.outcome for r in run.records() if r.policy == "filter"] == ["answered", "skipped", "answered"]
    by_policy = {
        policy: [(c.passed, c.reason) for c in run.checks() if c.policy == policy]
        for policy in ("filter", "pred")
    }
    lacking = (None, "a turn that might have held it was skipped")
    assert by_policy["filter"] == [(True, None), *[lacking] * 5, (True, None), (False, None)]
    assert by_policy["pred"] == [(True, None), *[(False, None)] * 5, (True, None), (False, None)]


def test_an_assertion_gates_on_checks(tmp_path):
    asserted = [
        {"metric": "check", "min": 1},
        {"metric": "check.days", "depth": 2, "max": 0},
    ]
    results = check_assertions(played(tmp_path, REFUND, **{"assert": asserted}))

    assert [one.holds for one in results] == [False, True]


@pytest.mark.parametrize("metric", ["check.dyas", "pass^1(check.dyas)"])
def test_an_assertion_on_checks_that_the_data_lacks_is_refused_before_anything_is_asked(tmp_path, metric):
    asserted = [{"metric": metric, "min": 1}]
    with pytest.raises(ScenarioError, match=r'no checks for "check.dyas"; did you mean "check.days"\?'):
        played(tmp_path, REFUND, **{"assert": asserted})


def test_an_assertion_on_checks_is_about_a_share(tmp_path):
    with pytest.raises(ScenarioError, match="99 is no share"):
        played(tmp_path, REFUND, **{"assert": [{"metric": "check.days", "min": 99}]})


def test_checks_that_are_made_anew_take_the_place_of_all_earlier_ones_at_once(tmp_path, monkeypatch):
    """What stops a checking half-way leaves what was found before."""
    run = played(tmp_path, REFUND)
    before = run.checks(), run.scored()
    look = Contains.look

    def broken(self: Contains, seen: CheckInput) -> CheckOutcome:
        if seen.at_end:
            raise RunError("the database can't be read")
        return replace(look(self, seen), evidence="anew")

    monkeypatch.setattr(Contains, "look", broken)
    with pytest.raises(RunError, match="can't be read"):
        score(run.folder)
    assert (run.checks(), run.scored()) == before

    monkeypatch.setattr(Contains, "look", lambda self, seen: CheckOutcome(passed=False, evidence="anew"))
    score(run.folder)
    assert {(one.passed, one.evidence) for one in run.checks()} == {(False, "anew")}
    assert run.scored()[1]["check"].observed == [0.0, 0.0, 0.0]


def test_checks_of_what_the_run_no_longer_has_go_with_the_next_ones(tmp_path):
    run = played(tmp_path, REFUND)
    found = run.checks()
    store = RunStore(run.folder, write=True)
    store.add_checks([structs.replace(found[0], position=7)])
    store.close()
    assert len(run.checks()) == len(found) + 1

    score(run.folder)
    assert run.checks() == found


def test_a_scorer_cant_be_called_as_the_column_of_checks(tmp_path):
    with pytest.raises(ScenarioError, match='"check" is the column of checks; call the scorer otherwise'):
        played(tmp_path, REFUND, scorers=["em", {"check": "latency"}])


def test_a_turn_that_is_asked_again_loses_its_checks_and_those_after_it(tmp_path):
    run = played(tmp_path, REFUND)
    store = RunStore(run.folder, write=True)
    record = run.records()[1]
    asyncio.run(_replace(store, record))

    assert [(one.depth, one.at_end) for one in run.checks()] == [(1, False)]


async def _replace(store: RunStore, record: TurnRecord) -> None:
    await store.replace(record, "again", and_later=False)
    store.close()
