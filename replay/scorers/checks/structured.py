"""
``jmespath``: the whole answer is JSON and has what an expression (https://jmespath.org) finds.

A code fence around the JSON fails, as it would with the program that reads the answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from replay.scorers.checks.check import Found, Seen

UNSET: Any = object()
"""Where no value is given; null is one."""


def some_answer(seen: Seen, look: Callable[[Any], tuple[bool, str]]) -> Found:
    """
    What *look* finds in the first answer that passes, else in the last one.

    It takes an answer's JSON value and gives whether that is as wanted, and what was found.
    """
    evidence = ""
    for depth, answer in seen.answers:
        try:
            passed, evidence = look(msgspec.json.decode(answer))
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            passed, evidence = False, f"the answer is not JSON: {error}"
        if passed:
            return Found(passed=True, evidence=evidence + (f" (depth {depth})" if seen.at_end else ""))
    return Found(passed=False, evidence=evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class JmesPath:
    """What the expression finds in the answer equals a value, or is true by JMESPath's rules."""

    compiled: Any
    equals: Any

    @property
    def expression(self) -> str:
        return str(self.compiled.expression)

    def look(self, seen: Seen) -> Found:
        return some_answer(seen, self._finds)

    def _finds(self, value: Any) -> tuple[bool, str]:
        from jmespath.exceptions import JMESPathError

        try:
            found = self.compiled.search(value)
        except JMESPathError as error:
            return False, f"{self.expression}: {error}"
        shown = f"{self.expression} is {json.dumps(found, ensure_ascii=False):.300}"
        if self.equals is UNSET:
            return found is not None and found is not False and found not in ("", [], {}), shown
        same = isinstance(found, bool) == isinstance(self.equals, bool) and found == self.equals
        wanted = "" if same else f", expected {json.dumps(self.equals, ensure_ascii=False):.300}"
        return bool(same), f"{shown}{wanted}"


def jmes_path(expression: str, equals: Any = UNSET) -> JmesPath:
    """``jmespath``: what the expression finds, which is compared with *equals* where that is given."""
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        return JmesPath(compiled=jmespath.compile(expression), equals=equals)
    except JMESPathError as error:
        raise ValueError(f'"{expression}" is no JMESPath: {str(error).splitlines()[0]}') from error
