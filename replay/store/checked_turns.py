"""Checks with the turns that they were made of, as a run's database has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replay.core.check_result import CheckResult
from replay.core.drift_evidence import Drift
from replay.store import schema
from replay.store.stored import StoredCheck, stored_check

SELECT_CHECKED_TURNS = f"""\
SELECT {", ".join(f"k.{name}" for name in StoredCheck._fields)}, t.asked, t.answer, t.drift FROM checked k
LEFT JOIN turn t ON t.conversation = k.conversation AND t.system = k.system AND t.policy = k.policy
    AND t.depth = k.depth """
IN_ORDER = """\
 LEFT JOIN (SELECT DISTINCT conversation, source, repeat FROM turn) p ON p.conversation = k.conversation
LEFT JOIN conversation c ON c.id = coalesce(p.source, k.conversation)
ORDER BY c.position, p.repeat, k.conversation, k.system, k.policy, k.depth, k.at_end, k.position"""
"""Turns that were never reached have checks as well, so the table of turns alone can't say the order."""


def checked_turn(row: Sequence[Any]) -> CheckResult:
    """What a row of ``SELECT_CHECKED_TURNS`` holds."""
    *columns, asked, answer, drift = row
    return CheckResult(
        **stored_check(columns)._asdict(),
        asked=asked,
        answer=answer,
        drift=None if drift is None else schema.from_json(drift, Drift),
    )
