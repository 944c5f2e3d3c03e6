"""What happened between questions and answers, a row for each message: for tables and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from replay.core.record import TurnRecord
from replay.statistics.turn_frame import CellType, flat

STEP_COLUMNS: Mapping[str, CellType] = {
    "system": "text",
    "policy": "text",
    "conversation": "text",
    "depth": "whole",
    "number": "whole",
    "role": "text",
    "name": "text",
    "text": "text",
    "tool_calls": "json",
    "tool_call_id": "text",
    "left_out": "json",
    "begin_s": "number",
    "end_s": "number",
}
"""
The columns of ``step_rows``, in order. ``number`` counts from 1 within a turn; ``name`` is the tool's whose
result it is; ``begin_s`` and ``end_s`` of what brought it are seconds since the turn's first ask was sent.
"""


def step_rows(records: Iterable[TurnRecord], *, nested: bool) -> Iterator[dict[str, Any]]:
    """
    A row for each step of *records*; None where nothing is known.

    ``json`` cells are as they are if *nested*, else JSON text.
    """
    for record in records:
        for position, step in enumerate(record.steps):
            is_timed = position < len(record.step_times_s)
            begin_s, end_s = record.step_times_s[position] if is_timed else (None, None)
            row = {
                "system": record.system,
                "policy": record.policy,
                "conversation": record.conversation,
                "depth": record.depth,
                "number": position + 1,
                "role": step.role,
                "name": step.name,
                "text": step.text,
                "tool_calls": msgspec.to_builtins(step.tool_calls),
                "tool_call_id": step.tool_call_id,
                "left_out": list(step.left_out),
                "begin_s": begin_s,
                "end_s": end_s,
            }
            yield row if nested else {name: flat(value, STEP_COLUMNS[name]) for name, value in row.items()}
