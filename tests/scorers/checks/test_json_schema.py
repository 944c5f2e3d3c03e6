"""``json_schema``: what fits, what is said of what doesn't, and what is no schema."""

from __future__ import annotations

import pytest

from replay.core.expectation import Expectation
from replay.scorers.checks.kinds import BadExpectationError, check_of
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
            "$.id: '17' is not of type 'integer'",
        ),
        (SCHEMA, f"```json\n{ORDER}\n```", False, "the answer is not JSON: "),
        (
            SCHEMA,
            '{"id": 1, "state": "sent", "sku": "b"}',
            False,
            "$.sku: 'b' does not match '^a+$'",
        ),
        (True, "1", True, "the answer fits the schema"),
    ],
)
def test_an_answer_is_held_against_the_schema(schema, answer, passed, evidence):
    found = look("json_schema", schema, answer)

    assert found.passed is passed
    assert found.evidence.startswith(evidence)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "strin"}, "is no JSON schema: $.type: 'strin' is not valid under any"),
        ({"properties": {"a": {"pattern": "(?=a)"}}}, '"(?=a)" is not a regular expression'),
        ("x.json", '"x.json" is not '),
    ],
)
def test_what_is_no_schema_is_refused_before_anything_is_asked(schema, message):
    with pytest.raises(BadExpectationError) as caught:
        check_of(Expectation(kind="json_schema", value=schema))
    assert message in str(caught.value)


def test_a_schema_fetches_nothing_and_refers_to_itself():
    inside = {"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}
    assert look("json_schema", inside, "1").passed
    outside = look("json_schema", {"$ref": "http://127.0.0.1:9/s.json"}, "1")
    assert (outside.passed, outside.evidence[:40]) == (
        False,
        "the schema refers to what it doesn't hold: "[:40],
    )
