"""
What a data file expects of turns and conversations: read, faulted where it stands, and written again.

``{"contains": "refund", "latency_below_s": 2}`` or a list of such mappings, which may have one kind several
times; ``as`` beside a single kind names a column of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from replay.core.expectation import Expectation
from replay.datasets.place import Place
from replay.scorers.checks.kinds import BadExpectationError, check_of

NAME = "as"
Written = dict[str, Any] | list[dict[str, Any]]


def read_expectations(written: Written, place: Place, field: str) -> tuple[Expectation, ...]:
    """
    The expectations that stand in *field*; whether each can be checked is not looked at.

    Raises:
        DatasetError: a name has no kind, or several, beside it.
    """
    found = []
    for entry in [written] if isinstance(written, Mapping) else written:
        kinds = {kind: value for kind, value in entry.items() if kind != NAME}
        called = entry.get(NAME)
        if called is not None and (len(kinds) != 1 or not isinstance(called, str)):
            raise place.error("is a text beside a single kind of check", f"{field}.{NAME}")
        if not kinds and not isinstance(written, Mapping):
            raise place.error("has an entry without a kind of check", field)
        found += [Expectation(kind=kind, value=value, called=called) for kind, value in kinds.items()]
    return tuple(found)


def write_expectations(expectations: Sequence[Expectation]) -> Written:
    """*expectations* as ``read_expectations`` reads them."""
    kinds = {one.kind: one.value for one in expectations}
    if len(kinds) == len(expectations) and not any(one.called for one in expectations):
        return kinds
    names = [{} if one.called is None else {NAME: one.called} for one in expectations]
    return [{one.kind: one.value, **name} for one, name in zip(expectations, names, strict=True)]


def check_expectations(expectations: Sequence[Expectation], place: Place, field: str) -> None:
    """
    Make sure that each of *expectations*, which stand in *field*, can be checked.

    Raises:
        DatasetError: there is no such kind, or its value doesn't fit.
    """
    kinds = [one.kind for one in expectations]
    for number, one in enumerate(expectations):
        try:
            check_of(one)
        except BadExpectationError as error:
            which = f"[{number}]" if kinds.count(one.kind) > 1 else ""
            path = "".join(f".{part}" for part in (one.kind, error.path) if part)
            raise place.error(str(error), f"{field}{which}{path}") from error
