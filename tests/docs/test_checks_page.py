"""What docs/checks.md says of each kind is what the kind does."""

from __future__ import annotations

import json
import re

import pytest

from replay.core.expectation import Expectation
from replay.core.message import Message, ToolCall
from replay.core.record import TurnRecord
from replay.datasets.loading import read_conversations
from replay.scorers.checks.check import CheckInput
from replay.scorers.checks.kinds import KINDS, check_of
from replay.testing.cases import turn
from tests.docs.shown_output import page

PAGE = page("checks")
ROWS = [
    cells
    for line in PAGE.splitlines()
    if len(cells := re.findall(r"\| ?(?:`([^`]*)`)? ?(?=\|)", line)) == 4 and cells[1].startswith("{")
]
CALLS = re.findall(r"^\| `([\"{\[].*[\"}\]])` \| (?:no tool|`refund`|with|one that|both)", PAGE, re.MULTILINE)
MODELS = {"rubric", "judge", "similar"}
REFUND = '{"order_id": "40172", "amount": 39.0}'


def holds(kind: str, value: object, record: TurnRecord) -> bool | None:
    check = check_of(Expectation(kind=kind, value=value))
    return check.look(CheckInput(records=(record,))).passed


def called(*calls: tuple[str, str]) -> TurnRecord:
    made = tuple(ToolCall(id=name, name=name, arguments=arguments) for name, arguments in calls)
    return turn("Done.", steps=(Message(role="assistant", tool_calls=made),) if made else ())


@pytest.mark.parametrize(("_", "written", "passes", "fails"), ROWS, ids=[row[1] for row in ROWS])
def test_each_kind_passes_and_fails_on_what_the_table_says(_, written, passes, fails):
    ((kind, value),) = json.loads(written).items()
    if passes:
        assert holds(kind, value, turn(passes))
        assert holds(kind, value, turn(fails)) is False
    else:
        check_of(Expectation(kind=kind, value=value))


def test_every_kind_is_on_the_page():
    assert not [kind for kind in KINDS if f'{{"{kind}":' not in PAGE]
    assert {row[0] for row in ROWS} - {""} <= KINDS.keys()


def test_checks_by_a_model_can_be_written_as_shown():
    shown = [json.loads(one) for one in re.findall(r"^\| `({.*})` \| ", PAGE, re.MULTILINE)]
    by_model = [(kind, value) for one in shown for kind, value in one.items() if kind in MODELS]
    for kind, value in by_model:
        check_of(Expectation(kind=kind, value=value))
    assert {kind for kind, _ in by_model} == MODELS


def test_calls_hold_as_the_table_says():
    none, name, some, exact, pattern, order = map(json.loads, CALLS)
    both = called(("find_order", "{}"), ("refund", REFUND))
    refunded = called(("refund", REFUND))
    bare = called(("refund", '{"order_id": "40172"}'))
    other = called(("refund", '{"order_id": "50172", "amount": 1}'))

    held = {
        "none": [holds("calls", none, one) for one in (called(), bare)],
        "name": [holds("calls", name, one) for one in (bare, other, called())],
        "some": [holds("calls", some, one) for one in (refunded, bare, other)],
        "exact": [holds("calls", exact, one) for one in (refunded, bare)],
        "pattern": [holds("calls", pattern, one) for one in (refunded, bare, other)],
        "order": [holds("calls", order, one) for one in (both, refunded)],
    }
    assert held == {
        "none": [True, False],
        "name": [True, True, False],
        "some": [True, True, False],
        "exact": [False, True],
        "pattern": [True, False, False],
        "order": [True, False],
    }


def test_the_example_is_native_data_with_checks(tmp_path):
    path = tmp_path / "kettle.jsonl"
    path.write_text(re.search(r"```jsonl\n(.*?)```", PAGE, re.DOTALL)[1])
    (talk,) = read_conversations([path], reader=None, on_bad=None, limit=None)

    assert [one.kind for one in talk.turns[0].expect] == ["contains", "not_contains", "calls"]
    assert talk.turns[0].expect[-1].called == "right-amount"
    assert [one.kind for one in talk.expect] == ["latency_below_s"]
