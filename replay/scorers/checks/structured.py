"""
Checks of answers that are JSON: ``jmespath``, what an expression (https://jmespath.org) finds there, and what
``json_schema`` shares with it.

The whole answer has to be JSON. A code fence around it fails, as it would with the program that reads the
answer. Answers and expressions are others' data, so they meet in a process that is bounded.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

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
