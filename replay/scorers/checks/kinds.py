"""
The kinds of checks by name, and an expectation of the data made into one.

A kind is a callable, as a plug-in is: its parameters are the keys that its value may have. What is written
without keys is the value of its main one: ``contains: refund`` is ``contains: {text: refund}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from replay.core.expectation import ALL_CHECKS, END, Expectation, check_columns
from replay.core.settings.faults import MISSING, PLAIN_TYPES, faults_of, nearest
from replay.scorers.checks import english, json_answers, known, texts
from replay.scorers.checks.check import Check

if TYPE_CHECKING:
    from pydantic import BaseModel


class Kind(NamedTuple):
    """How the checks of one kind are made."""

    make: Callable[..., Check]
    main: str
    """The parameter that a value without keys stands for."""
    takes: str
    """What such a value is, at the end of a sentence."""
    always: bool = False
    """Whether a value with keys does so too."""
    rules: str = ""
    """What can move its verdicts beside the value, for signatures."""


_TEXTS = "a text, or a list of texts"
_PATTERNS = "a pattern, or a list of patterns"
_TRUTH = "true or false"
KINDS: Mapping[str, Kind] = {
    "contains": Kind(texts.contains, "text", _TEXTS),
    "not_contains": Kind(texts.not_contains, "text", _TEXTS),
    "contains_any": Kind(texts.contains_any, "text", _TEXTS),
    "regex": Kind(texts.regex, "pattern", _PATTERNS),
    "not_regex": Kind(texts.not_regex, "pattern", _PATTERNS),
    "equals": Kind(texts.Equals, "text", _TEXTS),
    "json_schema": Kind(json_answers.json_schema, "fits", "a JSON schema", always=True),
    "jmespath": Kind(json_answers.jmes_path, "expression", "an expression"),
    "similar": Kind(texts.Similar, "at_least", "a number from -1 to 1", rules="all-MiniLM-L6-v2"),
    "refuses": Kind(english.refuses, "wanted", _TRUTH, rules="english-1"),
    "asks_back": Kind(english.asks_back, "wanted", _TRUTH, rules="english-1"),
    "drifts": Kind(known.Drifts, "wanted", _TRUTH),
    "rubric": Kind(known.Rubric, "text", "a text"),
    "judge": Kind(known.JudgedValue, "name", "an object with name, and at_least or at_most"),
    "calls": Kind(
        known.calls,
        "calls",
        f"a tool's name, an object with name, a list of those, or {known.NO_CALLS}",
        always=True,
    ),
    "latency_below_s": Kind(known.latency_below_s, "limit_s", "a number of seconds"),
    "ttft_below_s": Kind(known.ttft_below_s, "limit_s", "a number of seconds"),
}


def columns_of(expectation: Expectation, *, at_end: bool) -> list[str]:
    """Return the columns in which *expectation* counts."""
    return check_columns(expectation.kind, expectation.called, at_end=at_end)


def is_column(name: str) -> bool:
    """Return whether *name* is that of a column that checks may have."""
    return name == ALL_CHECKS or name.startswith(f"{ALL_CHECKS}.")


class BadExpectationError(Exception):
    """An expectation that can't be checked by anybody; *path* is where in its value, empty for all of it."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


def check_of(expectation: Expectation) -> Check:
    """
    Return the check that *expectation* wants.

    Raises:
        BadExpectationError: there is no such kind, or its value doesn't fit.
    """
    called = expectation.called
    if expectation.kind not in KINDS:
        raise BadExpectationError(unknown_kind(expectation.kind))
    if called is not None and (not re.fullmatch(r"[\w-]+", called) or called in (*KINDS, END)):
        raise BadExpectationError(
            f"\"{called}\" can't name a check: letters, digits, - and _, and no kind's own name", "as"
        )
    try:
        return _make_check(expectation.kind, msgspec.json.encode(expectation.value))
    except RecursionError as error:
        raise BadExpectationError("is nested too deeply") from error
    except (TypeError, UnicodeEncodeError) as error:
        raise BadExpectationError(f"is no JSON value: {error}") from error


def unknown_kind(name: str) -> str:
    """Return a message that *name* is no kind of check, with the kinds that there are."""
    return f'"{name}" is no kind of check{nearest(name, KINDS)} (known: {", ".join(KINDS)})'


@lru_cache(maxsize=10_000)
def _make_check(name: str, value: bytes) -> Check:
    """Make each check once: a schema or pattern takes its time, and many turns expect the same."""
    from pydantic import ValidationError

    kind, model, found = KINDS[name], _model(name), msgspec.json.decode(value)
    keyed = isinstance(found, dict) and not kind.always
    settings = found if keyed else {kind.main: found}
    try:
        checked = model.model_validate(settings)
        return kind.make(**{key: getattr(checked, key) for key in checked.model_fields_set})
    except ValidationError as error:
        faults = faults_of(error, model, settings, "")
        fault = min(faults, key=lambda one: one.message == MISSING)  # which may be what is misspelt
        path = fault.path if keyed else fault.path.removeprefix(kind.main).removeprefix(".")
        if not isinstance(found, dict) and PLAIN_TYPES.keys() & {one["type"] for one in error.errors()}:
            raise BadExpectationError(f"{value.decode():.60} is not {kind.takes}") from error
        raise BadExpectationError(fault.message, path) from error
    except ValueError as error:
        raise BadExpectationError(str(error)) from error


@cache
def _model(name: str) -> type[BaseModel]:
    from replay.core.settings.plugins import settings_model

    return settings_model(KINDS[name].make)
