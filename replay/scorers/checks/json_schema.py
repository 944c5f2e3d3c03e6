"""
``json_schema``: the whole answer is JSON and fits a schema (https://json-schema.org).

Nothing is fetched: a schema refers to itself alone. Its patterns are Rust's, as those of ``regex``. One that
refers to itself without end asks for nothing there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from replay.scorers.checks.bounded import FailedCallError, bounded
from replay.scorers.checks.check import CheckInput, CheckOutcome
from replay.scorers.checks.structured import NotJsonError, json_value, some_answer
from replay.scorers.linear_pattern import compile_pattern

COMPARED = 100
"""So many errors, the one to be shown among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSchema:
    """The answer fits the schema, of any draft from 4 on that ``$schema`` names; 2020-12 without one."""

    schema: str
    """As JSON."""

    def look(self, seen: CheckInput) -> CheckOutcome:
        return some_answer(seen, fits, self.schema)


def json_schema(fits: dict[str, Any] | bool) -> JsonSchema:
    """``json_schema``: the answer fits the schema."""
    schema = json.dumps(fits)
    try:
        fault = bounded(schema_fault, schema)
    except FailedCallError as error:
        fault = f"can't be used, since it {error}"
    if fault:
        raise ValueError(fault)
    return JsonSchema(schema=schema)


def fits(answer: str, schema: str) -> tuple[bool, str]:
    """Return whether *answer* fits *schema*, and what was found."""
    try:
        value = json_value(answer)
    except NotJsonError as error:
        return False, str(error)
    errors = list(islice(_validator(schema).iter_errors(value), COMPARED))
    if not errors:
        return True, "the answer fits the schema"
    return False, _shown(_most_telling(errors))


def schema_fault(schema: str) -> str | None:
    """Return what is wrong with *schema*, None where nothing is."""
    from jsonschema_rs import ValidationError, ValidationErrorKind

    try:
        _validator(schema)
    except ValidationError as error:
        if isinstance(error.kind, ValidationErrorKind.Referencing):
            missing = error.message.partition(" and retrieving")[0]
            return f"refers to what it doesn't hold: {missing:.300}"
        if isinstance(error.kind, ValidationErrorKind.Format) and isinstance(error.instance, str):
            try:
                compile_pattern(error.instance)
            except ValueError as why:
                return f"is no JSON schema: {_path(error.instance_path)}: {why}"
        return f"is no JSON schema: {_shown(error)}"
    except ValueError as error:  # of its depth
        return f"is no JSON schema: {error}"
    return None


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    from jsonschema_rs import RegexOptions, validator_for

    return validator_for(
        json.loads(schema), validate_formats=False, pattern_options=RegexOptions(), retriever=_nothing
    )


def _nothing(uri: str) -> Any:
    raise LookupError("nothing is fetched")


def _most_telling(errors: Sequence[Any]) -> Any:
    """Return the error that says most: the outermost, and of alternatives the one that fails furthest in."""
    found = min(errors, key=lambda error: (len(error.instance_path), _branches(error) != []))
    while branches := _branches(found):
        inner = sorted(islice(chain(*branches), COMPARED), key=lambda error: -len(error.instance_path))
        if not inner or (len(inner) > 1 and len(inner[0].instance_path) == len(inner[1].instance_path)):
            break
        found = inner[0]
    return found


def _branches(error: Any) -> list[list[Any]]:
    """Return the errors of each alternative of ``anyOf`` and ``oneOf``."""
    return getattr(error.kind, "context", [])


def _shown(error: Any) -> str:
    return f"{_path(error.instance_path)}: {error.message:.300}"


def _path(keys: Sequence[str | int]) -> str:
    return "$" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
