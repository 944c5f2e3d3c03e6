"""
Tables of examples that lie beside the tests: ``tables.toml`` in each room's folder.

A test's table is named for its file and for the test. It has the names of the test's arguments, and a row for
each example; what a row lacks at its end is None, and so is the text that ``none`` names. What TOML has as an
array is a list, but for those arguments that ``arrays`` names: a letter for each depth, "t" for a tuple and
"l" for a list.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

import pytest

T = TypeVar("T", bound=Callable[..., object])
TESTS = Path(__file__).parent


def from_table(test: T) -> T:
    """Run *test* once for each row of its table."""
    file = Path(test.__code__.co_filename)
    room = file.relative_to(TESTS).parts[0]
    table = _tables(room)[file.stem.removeprefix("test_")][test.__name__.removeprefix("test_")]
    names, arrays = table["arguments"], table.get("arrays", {})
    rows = [
        [_made(value, arrays.get(name, ""), table.get("none")) for name, value in zip_longest(names, row)]
        for row in table["rows"]
    ]
    return pytest.mark.parametrize(names, rows)(test)


@cache
def _tables(room: str) -> dict[str, Any]:
    return tomllib.loads((TESTS / room / "tables.toml").read_text("utf-8"))


def _made(value: Any, arrays: str, none: str | None) -> Any:
    if isinstance(value, dict):
        return {name: _made(one, "", none) for name, one in value.items()}
    if not isinstance(value, list):
        return None if value == none else value
    inner = [_made(one, arrays[1:], none) for one in value]
    return tuple(inner) if arrays.startswith("t") else inner
