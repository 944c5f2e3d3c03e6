"""A system in the tests' own process, which answers what it is told, when it is let."""

from __future__ import annotations

import asyncio
import threading

GO = threading.Event()
ANSWERS: list[str | Exception] = []


async def answer(question: str) -> str:
    while not GO.is_set():
        await asyncio.sleep(0.005)
    said = ANSWERS.pop(0) if ANSWERS else f"To {question}"
    if isinstance(said, Exception):
        raise said
    return said
