"""A system in the tests' own process, which answers what it is told, when it is let."""

from __future__ import annotations

import threading

from tests.waiting import until_async

GO = threading.Event()
ANSWERS: list[str | Exception] = []


async def answer(question: str) -> str:
    await until_async(GO.is_set)
    said = ANSWERS.pop(0) if ANSWERS else f"To {question}"
    if isinstance(said, Exception):
        raise said
    return said
