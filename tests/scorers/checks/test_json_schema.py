"""``json_schema``: what fits, what is said of what doesn't, and what is no schema."""

from __future__ import annotations

import json

import pytest

from replay.core.expectation import Expectation
from replay.scorers.checks.kinds import BadExpectationError, check_of
from tests.data_tables import from_table
from tests.scorers.checks.looking import look

ORDER = '{"id": 17, "state": "sent"}'
SCHEMA = {
    "type": "object",
    "required": ["id", "state"],
    "properties": {
        "id": {"type": "integer"},
        "state": {"enum": ["sent", "open"]},
        "sku": {"pattern": "^a+$"},
    },
}


@pytest.mark.parametrize(
    ("schema", "answer", "passed", "evidence"),
    [
        (SCHEMA, ORDER, True, "the answer fits the schema"),
        (
            SCHEMA,
            '{"id": "17", "state": "sent"}',
            False,
            '$.id: "17" is not of type "integer"',
        ),
        (SCHEMA, f"```json\n{ORDER}\n```", False, "the answer is not JSON: "),
        (
            SCHEMA,
            '{"id": 1, "state": "sent", "sku": "b"}',
            False,
            '$.sku: "b" does not match "^a+$"',
        ),
        (True, "1", True, "the answer fits the schema"),
    ],
)
def test_an_answer_is_held_against_the_schema(schema, answer, passed, evidence):
    found = look("json_schema", schema, answer)

    assert found.passed is passed
    assert found.evidence.startswith(evidence)


@from_table
def test_what_is_no_schema_is_refused_before_anything_is_asked(schema, message):
    with pytest.raises(BadExpectationError) as caught:
        check_of(Expectation(kind="json_schema", value=schema))
    assert message in str(caught.value)


def test_a_schema_refers_to_itself():
    inside = {"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}

    assert look("json_schema", inside, "1").passed
    assert not look("json_schema", inside, '"1"').passed


def test_of_alternatives_that_fail_the_one_that_went_far_is_told_of():
    sku = {"required": ["sku"], "properties": {"n": {"minimum": 1}}, "type": "object"}
    lines = {"items": {"anyOf": [{"type": "string"}, sku]}}

    assert look("json_schema", lines, '["a", {"sku": "b", "n": 0}]').evidence == (
        "$[1].n: 0 is less than the minimum of 1"
    )
    assert look("json_schema", lines, '["a", {"n": 1}]').evidence.startswith('$[1]: {"n":1} is not valid')


def test_a_schema_that_refers_to_itself_without_end_asks_for_nothing_there():
    """And an answer that is JSON is never called none for it."""
    assert look("json_schema", {"$ref": "#"}, "1").evidence == "the answer fits the schema"


LONG_TEXT = "a" * 50_000 + "b"


@pytest.mark.parametrize(
    ("schema", "answer", "passed"),
    [
        ({"uniqueItems": True}, [{"n": n} for n in range(20_000)], True),
        ({"uniqueItems": True}, [{"n": n % 19_999} for n in range(20_000)], False),
        ({"pattern": "(a+)+$"}, LONG_TEXT, False),
        ({"patternProperties": {"(a+)+$": False}}, {LONG_TEXT: 1}, True),
        ({"patternProperties": {"(a+)+$": True}, "additionalProperties": False}, {LONG_TEXT: 1}, False),
        ({"patternProperties": {"(a+)+$": True}, "unevaluatedProperties": False}, {LONG_TEXT: 1}, False),
    ],
    ids=["all differ", "two are alike", "text", "names", "no other names", "no unevaluated names"],
)
def test_a_long_answer_is_looked_at_all_the_same(schema, answer, passed):
    assert look("json_schema", schema, json.dumps(answer)).passed is passed
