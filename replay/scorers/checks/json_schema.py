"""
``json_schema``: the whole answer is JSON and fits a schema (https://json-schema.org).

Nothing is fetched: a schema refers to itself alone. Its patterns are Rust's, as those of ``regex``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from replay.scorers.checks.check import Found, Seen
from replay.scorers.checks.structured import some_answer
from replay.scorers.linear_pattern import compiled, found_in


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSchema:
    """The answer fits the schema, of any draft that ``$schema`` names; 2020-12 where it names none."""

    validator: Any

    def look(self, seen: Seen) -> Found:
        return some_answer(seen, self._fits)

    def _fits(self, value: Any) -> tuple[bool, str]:
        from jsonschema.exceptions import best_match
        from referencing.exceptions import Unresolvable

        try:
            error = best_match(self.validator.iter_errors(value))
        except Unresolvable as unresolved:
            return False, f"the schema refers to what it doesn't hold: {unresolved}"
        if error is None:
            return True, "the answer fits the schema"
        return False, f"{error.json_path}: {error.message:.300}"


def json_schema(fits: dict[str, Any] | bool) -> JsonSchema:
    """``json_schema``: the answer fits the schema."""
    return JsonSchema(validator=_validator(fits))


def _validator(schema: dict[str, Any] | bool) -> Any:
    """
    What validates with *schema*.

    Raises:
        ValueError: it is no schema.
    """
    from jsonschema.exceptions import SchemaError, ValidationError
    from jsonschema.validators import Draft202012Validator, extend, validator_for
    from referencing import Registry

    drafted: Any = validator_for(schema, default=Draft202012Validator)
    try:
        drafted.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"is no JSON schema: {error.json_path}: {error.message:.300}") from error

    def pattern(validator: Any, wanted: str, value: Any, schema: Any) -> Iterator[ValidationError]:
        if isinstance(value, str) and not found_in(wanted, value):
            yield ValidationError(f"{value!r} does not match {wanted!r}")

    for wanted in _patterns(schema):
        compiled(wanted)
    # Its own would be Python's, which take for ever over some answers; and nothing is fetched.
    extending: Any = extend
    return extending(drafted, {"pattern": pattern})(schema, registry=Registry())


def _patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        for value in schema.values():
            yield from _patterns(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _patterns(value)
