"""What became of checks, as rows of a run's database beside those of their turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replay.core.check_result import CheckResult
from replay.core.drift_evidence import Drift
from replay.store import schema
from replay.store.writer import Statement

_OF_ITS_TURN = ("asked", "answer", "drift")
_COLUMNS = tuple(name for name in CheckResult.__struct_fields__ if name not in _OF_ITS_TURN)
_TEXTS = ("conversation", "called", "reason", "evidence")
"""The columns that may hold lone surrogates."""
SELECT_CHECKS = f"""\
SELECT {", ".join(f"k.{name}" for name in _COLUMNS)}, {", ".join(f"t.{name}" for name in _OF_ITS_TURN)}
FROM checked k LEFT JOIN turn t ON t.conversation = k.conversation AND t.system = k.system
    AND t.policy = k.policy AND t.depth = k.depth """
IN_ORDER = """\
 LEFT JOIN (SELECT DISTINCT conversation, source, repeat FROM turn) p ON p.conversation = k.conversation
LEFT JOIN conversation c ON c.id = coalesce(p.source, k.conversation)
ORDER BY c.position, p.repeat, k.conversation, k.system, k.policy, k.depth, k.at_end, k.position"""
"""Turns that were never reached have checks as well, so the table of turns alone can't say the order."""


def insert_check(check: CheckResult, table: str) -> Statement:
    """Return the statement that stores *check* in *table*, in place of an earlier one."""
    values = {name: getattr(check, name) for name in _COLUMNS}
    texts = {name: None if values[name] is None else schema.to_bytes(values[name]) for name in _TEXTS}
    places = ", ".join("CAST(? AS TEXT)" if name in _TEXTS else "?" for name in _COLUMNS)
    sql = f"INSERT OR REPLACE INTO {table} ({', '.join(_COLUMNS)}) VALUES ({places})"
    return Statement(sql, tuple({**values, **texts, "value": schema.to_json(check.value)}.values()))


def check_result(row: Sequence[Any]) -> CheckResult:
    """Return the check result in a row of ``SELECT_CHECKS``."""
    values = dict(zip((*_COLUMNS, *_OF_ITS_TURN), row, strict=True))
    values["value"] = schema.from_json(values["value"], object)
    values["at_end"] = bool(values["at_end"])
    if values["passed"] is not None:
        values["passed"] = bool(values["passed"])
    if values["drift"] is not None:
        values["drift"] = schema.from_json(values["drift"], Drift)
    return CheckResult(**values)
