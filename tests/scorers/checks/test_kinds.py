"""
What each kind of check takes for passed, and what it says it found.

What a judge's number is held against, with numbers given by the test.

``similar``, with a made-up model: loading a real one takes longer than all other tests of checks.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from replay.core.errors import PluginError
from replay.core.expectation import Expectation
from replay.core.record import Timing
from replay.scorers.checks import texts
from replay.scorers.checks.check import CheckOutcome
from replay.scorers.checks.kinds import BadExpectationError, check_of
from replay.scorers.scorer import CheckedScorer
from replay.testing.cases import turn
from tests.data_tables import from_table
from tests.scorers.checks.looking import calling, look, look_at
from tests.scorers.turns import INVALID, NOT_JUDGED, VALID

ORDER = '{"id": 17, "state": "sent", "lines": [{"sku": "a"}], "note": null}'


@pytest.mark.parametrize(
    ("kind", "value", "answer", "passed", "evidence"),
    [
        ("contains", "refund", "Your REFUND is due.", True, '"refund" in the answer'),
        ("contains", "don't  know", "I don’t\nknow.", True, '"don\'t  know" in the answer'),
        ("contains", {"text": "refund", "exact": True}, "Refund", False, 'no "refund" in the answer'),
        ("contains", ["a", "b", "c"], "a", False, 'no "b" and no "c" in the answer'),
        ("contains", "3.5", "35 euros", False, 'no "3.5" in the answer'),
        ("not_contains", ["a", "b"], "xyz", True, 'no "a" and no "b" in the answer'),
        ("not_contains", ["a", "b"], "b", False, '"b" in the answer'),
        ("contains_any", ["a", "b"], "b", True, '"b" in the answer'),
        ("contains_any", ["a", "b"], "c", False, 'no "a" and no "b" in the answer'),
        ("regex", r"order #\d+", "Your order #17.", True, r"/order #\d+/ in the answer"),
        ("regex", r"order", "Order", False, "no /order/ in the answer"),
        (
            "regex",
            ["(?i)order", "^Your"],
            "Your Order",
            True,
            "/(?i)order/ in the answer; /^Your/ in the answer",
        ),
        ("not_regex", r"\d{16}", "1234", True, r"no /\d{16}/ in the answer"),
        ("not_regex", r"\d{4}", "1234", False, r"/\d{4}/ in the answer"),
        ("equals", "yes", " YES ", True, 'the answer is "yes"'),
        ("equals", ["yes", "no"], "yes.", False, 'the answer is not "yes" or "no"'),
        ("equals", {"text": "Yes", "exact": True}, "yes", False, 'the answer is not "Yes"'),
        ("jmespath", "lines[0].sku", ORDER, True, 'lines[0].sku is "a"'),
        ("jmespath", "note", ORDER, False, "note is null"),
        ("jmespath", {"expression": "note", "equals": None}, ORDER, True, "note is null"),
        ("jmespath", {"expression": "id", "equals": 17}, ORDER, True, "id is 17"),
        ("jmespath", {"expression": "id", "equals": True}, '{"id": 1}', False, "id is 1, expected true"),
        ("jmespath", {"expression": "id", "equals": "17"}, ORDER, False, 'id is 17, expected "17"'),
        ("jmespath", "length(id)", ORDER, False, "length(id): In function length(), invalid type"),
        ("jmespath", "id", "Sent.", False, "the answer is not JSON: "),
        (
            "refuses",
            True,
            "I'm sorry. I can't share that.",
            True,
            'the answer refuses: "i can\'t share that."',
        ),
        (
            "refuses",
            False,
            "I'm sorry. I can't share that.",
            False,
            'the answer refuses: "i can\'t share that."',
        ),
        ("refuses", True, "Sure: it is 17.", False, "nothing in the answer refuses"),
        ("asks_back", True, "Which one?", True, 'the answer asks back: "which one?"'),
        ("asks_back", False, "It is sent. Anything else?", True, "nothing in the answer asks back"),
    ],
)
def test_an_answer_is_held_against_the_check(kind, value, answer, passed, evidence):
    found = look(kind, value, answer)

    assert found.passed is passed, found
    assert found.evidence.startswith(evidence), found.evidence
    assert found.reason is None


@from_table
def test_at_its_end_a_conversation_is_looked_at_as_a_whole(kind, value, passed, evidence):
    answers = ["1", "2", "3"] if kind == "jmespath" else ["One.", "two", "Three!"]
    found = look(kind, value, *answers)

    assert found.passed is passed, found
    assert evidence in found.evidence or kind == "jmespath"


LOOKED_UP = calling(
    ("lookup_order", '{"order_id": 17, "lines": [1, 2], "who": {"name": "Ann", "vip": true}}')
)


@from_table
def test_a_call_is_found_by_name_and_arguments(value, passed):
    assert look_at("calls", value, LOOKED_UP).passed is passed


@from_table
def test_several_calls_come_in_their_order_and_others_may_stand_between(value, passed):
    assert look_at("calls", value, calling(("a", ""), ("b", '{"n": 1}'), ("c", "{}"))).passed is passed


def test_what_was_called_is_said():
    wanted = {"name": "refund", "arguments": {"id": 17}}
    one, other = calling(("refund", '{"id": 18}')), calling(("thank", "{}"), depth=2)

    assert (
        look_at("calls", wanted, one).evidence
        == 'called refund with {"id": 18}; expected refund with {"id": 17}'
    )
    assert look_at("calls", ["thank", "refund"], one, other).evidence == (
        'called refund with {"id": 18}, thank; expected refund after the one before it'
    )
    assert look_at("calls", "none", calling()).evidence == "called no tool"
    assert look_at("calls", "refund", calling(("refund", "{broken"))).evidence == "called refund with {broken"


def timed(latency_s: float, ttft_s: float | None = None, **more: Any) -> Any:
    first = None if ttft_s is None else 1 + ttft_s
    return turn(
        "Yes.", timing=Timing(scheduled_s=0, sent_s=1, first_token_s=first, done_s=1 + latency_s), **more
    )


def test_times_are_those_of_the_answer_and_every_one_at_the_end():
    assert look_at("latency_below_s", 2, timed(1.5)).passed
    assert look_at("latency_below_s", 1.5, timed(1.5)).passed is False
    assert look_at("ttft_below_s", 0.5, timed(1.5, 0.25)).passed
    whole = look_at("latency_below_s", 2, timed(1), timed(2.5, depth=2), timed(1, depth=3))
    assert (whole.passed, whole.evidence) == (False, "latency 2.500 s at depth 2, the slowest")


def test_an_answer_without_times_is_not_below_any():
    untold = look_at("ttft_below_s", 1, timed(1))
    assert (untold.passed, untold.reason) == (None, "no time of a first token reported")
    cached = look_at("latency_below_s", 1, timed(0, cached=True))
    assert (cached.passed, cached.reason) == (None, "answered from a cache, which has no times")


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("jmespath", "a..b", '"a..b" is no JMESPath: '),
        ("jmespath", {"expresion": "a"}, '"expresion" is not a setting here; did you mean "expression"?'),
        ("refuses", "perhaps", '"perhaps" is not true or false'),
        ("calls", 5, "5 is not a tool's name, an object with name, a list of those, or none"),
        ("contains", [1], "[1] is not a text, or a list of texts"),
        ("calls", [], "names no call; write none where no tool may be called"),
        ("calls", {"name": "a", "args": {}}, '"args" is not a setting here'),
        ("calls", {"name": "a", "exact": True}, "exact is about arguments; say which"),
        ("calls", {"name": "a", "arguments": {"b": [{"regex": "("}]}}, '"(" is not a regular expression'),
        ("latency_below_s", 0, "0 is not greater than 0"),
        ("latency_below_s", "soon", '"soon" is not a number of seconds'),
        ("ttft_below_s", 1e9, "1000000000 is more than 604,800"),
        ("contains", object(), "is no JSON value"),
    ],
)
def test_a_value_that_cant_be_checked_is_refused_before_anything_is_asked(kind, value, message):
    with pytest.raises(BadExpectationError) as caught:
        check_of(Expectation(kind=kind, value=value))
    assert message in str(caught.value)


@from_table
def test_a_refusal_is_known_by_its_wording(answer):
    assert look("refuses", True, answer).passed


@from_table
def test_what_only_sounds_like_a_refusal_is_none(answer):
    assert look("refuses", False, answer).passed


@from_table
def test_asking_back_is_a_question_or_a_request_at_the_end_and_no_offer(answer, asks):
    assert look("asks_back", asks, answer).passed


@pytest.mark.parametrize(
    ("wanted", "verdicts", "passed"),
    [
        (True, [INVALID], True),
        (True, [VALID], False),
        (False, [VALID], True),
        (False, [INVALID], False),
        (True, [VALID, INVALID], True),
        (False, [VALID, INVALID], False),
        (True, [INVALID, NOT_JUDGED], None),
        (True, [None], None),
    ],
)
def test_the_verdict_on_a_question_is_held_against_what_is_known(wanted, verdicts, passed):
    records = [turn("It is.", depth=depth, drift=drift) for depth, drift in enumerate(verdicts, 1)]
    assert look_at("drifts", wanted, *records).passed is passed


AT_LEAST = {"name": "coherence", "at_least": 3}


@dataclass(frozen=True)
class Numbers:
    """A judge's numbers: one for each turn, or one for the conversation."""

    values: tuple[float, ...]

    def scores(self, column, records):
        return list(self.values)

    def rubric(self, judge, seen):
        raise AssertionError("no rubric is asked for")


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ((3.0, 4.0), CheckOutcome(passed=True, evidence="coherence 3, 4")),
        ((2.0, 4.0), CheckOutcome(passed=False, evidence="coherence 2; expected at least 3")),
        ((3.5,), CheckOutcome(passed=True, evidence="coherence 3.5")),
    ],
)
def test_each_number_is_within_bounds(values, found):
    assert look("judge", AT_LEAST, "Hello.", "Bye.", verdicts=Numbers(values)) == found


def test_a_low_number_of_a_whole_conversation_may_lack_what_was_skipped():
    """Of a turn it lacks nothing: that turn was answered."""
    assert look("judge", AT_LEAST, "Hello.", "Bye.", verdicts=Numbers((2.0,))).lacking
    assert not look("judge", AT_LEAST, "Hello.", "Bye.", verdicts=Numbers((2.0, 2.0))).lacking
    assert not look("judge", AT_LEAST, "Hello.", verdicts=Numbers((2.0,))).lacking


class SharedLetters:
    def cosines(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [len(set(one) & set(other)) / len(set(one) | set(other)) for one, other in pairs]


@pytest.fixture
def model(monkeypatch):
    monkeypatch.setattr(texts, "sentence_model", lambda place, device: SharedLetters())
    monkeypatch.setattr(texts.Similar, "check_installed", lambda self: None)


@pytest.mark.usefixtures("model")
@from_table
def test_the_best_text_counts_and_the_gold_answer_where_none_is_named(value, passed, evidence):
    found = look_at("similar", value, turn("abc", "xyz", "ab", "abcdef"))
    assert (found.passed, found.evidence) == (passed, evidence)


@pytest.mark.usefixtures("model")
def test_without_any_text_to_compare_with_nothing_is_passed():
    found = look("similar", 0.5, "abc")
    assert (found.passed, found.reason) == (None, "no gold answer")


def test_without_the_extra_it_says_so_before_a_run_and_passes_nothing_after_one(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    check = check_of(Expectation(kind="similar", value={"to": "a", "at_least": 0.5}))

    assert isinstance(check, CheckedScorer)
    with pytest.raises(PluginError, match="torch"):
        check.check_installed()
    found = look("similar", {"to": "a", "at_least": 0.5}, "a")
    assert (found.passed, found.reason) == (None, "no sentence model")
    assert 'pip install "convreplay[neural]"' in str(found.evidence)


def test_no_cosine_is_above_1():
    with pytest.raises(BadExpectationError, match="5 is not less than or equal to 1"):
        check_of(Expectation(kind="similar", value=5))
