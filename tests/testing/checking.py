"""A contract's test, with what it would get from its fixtures."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import pytest


def bad_ones(table: Mapping[str, Sequence[tuple[Any, str]]]) -> pytest.MarkDecorator:
    """Try each of *table*: by a contract's test, plug-ins that fail it, and what they are told."""
    rows = [(test, *one) for test, several in table.items() for one in several]
    return pytest.mark.parametrize(("test", "bad", "words"), rows)


async def said(contract: object, test: str, **given: Any) -> str:
    """What *contract* says of a plug-in that fails *test*, which takes some of what is *given*."""
    check = getattr(contract, f"test_{test}")
    try:
        running = check(**{name: given[name] for name in inspect.signature(check).parameters})
        if running is not None:
            await running
    except AssertionError as error:
        return str(error)
    pytest.fail("the contract has nothing against it")
