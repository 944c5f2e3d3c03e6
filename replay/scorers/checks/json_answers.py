"""
Checks of answers that are JSON: ``jmespath``, what an expression (https://jmespath.org) finds there, and
``json_schema``: the answer fits a schema (https://json-schema.org).

The whole answer has to be JSON. A code fence around it fails, as it would with the program that reads the
answer. Answers, expressions and schemas are others' data, so they meet in a process that is bounded.
Nothing is fetched: a schema refers to itself alone. Its patterns are Rust's, as those of ``regex``. One
that refers to itself without end asks for nothing there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import msgspec

from replay.scorers.answer_text import compile_pattern
from replay.scorers.checks.bounded import FailedCallError, bounded
from replay.scorers.checks.check import CheckInput, CheckOutcome

UNSET: Any = object()
"""Where no value is given; null is one."""


class NotJsonError(Exception):
    """An answer that is not JSON; says so in its message."""


def json_value(answer: str) -> Any:
    """
    Return the value that *answer* is.

    Raises:
        NotJsonError: it is none.
    """
    try:
        return msgspec.json.decode(answer)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise NotJsonError(f"the answer is not JSON: {error}") from error


def some_answer(seen: CheckInput, holds: Callable[..., tuple[bool, str]], *arguments: Any) -> CheckOutcome:
    """
    Return what *holds* says of the first answer that passes, else of the last one.

    It is called in the bounded process with an answer and *arguments*, and gives whether the answer passes,
    and what was found.

    Raises:
        FailedCallError: no answer passes, and of one it can't be said.
    """
    evidence, failure = "", None
    for depth, answer in seen.answers:
        try:
            passed, evidence = bounded(holds, answer, *arguments)
        except FailedCallError as error:
            failure = failure or error
            continue
        if passed:
            return CheckOutcome(passed=True, evidence=evidence + (f" (depth {depth})" if seen.at_end else ""))
    if failure:
        raise failure
    return CheckOutcome(passed=False, evidence=evidence, lacking=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class JmesPath:
    """What the expression finds in the answer equals a value, or is true by JMESPath's rules."""

    expression: str
    equals: Any

    def look(self, seen: CheckInput) -> CheckOutcome:
        return some_answer(seen, finds, self.expression, *(() if self.equals is UNSET else (self.equals,)))


def finds(answer: str, expression: str, *equals: Any) -> tuple[bool, str]:
    """Return whether *expression* finds what *equals* holds, or something true, in *answer*; and what."""
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        found = jmespath.search(expression, json_value(answer))
    except NotJsonError as error:
        return False, str(error)
    except JMESPathError as error:
        return False, f"{expression}: {error}"
    shown = f"{expression} is {json.dumps(found, ensure_ascii=False):.300}"
    if not equals:
        return found is not None and found is not False and found not in ("", [], {}), shown
    (wanted,) = equals
    if isinstance(found, bool) == isinstance(wanted, bool) and found == wanted:
        return True, shown
    return False, f"{shown}, expected {json.dumps(wanted, ensure_ascii=False):.300}"


def jmes_path(expression: str, equals: Any = UNSET) -> JmesPath:
    """``jmespath``: what the expression finds, which is compared with *equals* where that is given."""
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        jmespath.compile(expression)
    except JMESPathError as error:
        raise ValueError(f'"{expression}" is no JMESPath: {str(error).splitlines()[0]}') from error
    return JmesPath(expression=expression, equals=equals)


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
    return False, _error_text(_most_telling(errors))


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
        return f"is no JSON schema: {_error_text(error)}"
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


def _error_text(error: Any) -> str:
    return f"{_path(error.instance_path)}: {error.message:.300}"


def _path(keys: Sequence[str | int]) -> str:
    return "$" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
