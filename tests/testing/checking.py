"""A contract's test, with what it would get from its fixtures."""

from __future__ import annotations

import inspect
from typing import Any

import pytest


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
