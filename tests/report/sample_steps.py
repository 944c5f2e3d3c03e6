"""A run whose system calls tools, as its database has it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from replay.core.conversation import Conversation, Turn
from replay.core.message import Message, ToolCall
from tests.viewer.runs import add, create, finish, record

HOSTILE = "</script><img src=x onerror=alert(1)>\u202etxt\ud800"
CALLS = (
    ToolCall(id="1", name="find_order", arguments='{"id": 7, "note": "' + "\\u202e</pre><b>" + '"}'),
    ToolCall(id="2", name=HOSTILE, arguments="no { JSON </details>"),
)
STEPS = (
    Message(role="assistant", text="Let me look.", tool_calls=CALLS),
    Message(role="tool", text=HOSTILE, tool_call_id="1", name="find_order", left_out=("image_url",)),
    Message(role="tool", text="gone", tool_call_id="2"),
)
TIMES_S = ((0.0, 0.5), (0.5, 0.75), (0.75, 0.75), (1.0, 1.5))


def stepped_run(folder: Path, **more: Any) -> Path:
    """The run in *folder*: the first turn called tools, the second has none."""
    turns = tuple(
        Turn(id=f"a#{n}", question=f"Question {n}?", gold_answers=("Yes.",), steps=STEPS if n == 1 else ())
        for n in (1, 2)
    )
    first: dict[str, Any] = {"steps": STEPS, "step_times_s": TIMES_S, "asks": 2, "attempts": 2, **more}

    async def fill() -> None:
        store = create(folder, ["gold"])
        await add(store, [Conversation(id="a", turns=turns)], [record("a", 1, **first), record("a", 2)])
        finish(store, {})
        store.close()

    asyncio.run(fill())
    return folder
