"""Turns as far as tables count them: for reports of runs whose records would fill the memory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from replay.core.drift_evidence import Drift
from replay.core.record import Intervention, Timing, TurnRecord
from replay.store.schema import check_moments, from_json

SELECT_OUTLINES = (
    "SELECT t.conversation, t.system, t.policy, t.source, t.edit, t.outcome, t.depth, t.drift IS NOT NULL,"
    " t.valid, CASE WHEN t.valid IS NULL THEN json_extract(t.drift, '$.not_judged') END,"
    " t.scheduled_s, t.sent_s, t.done_s, t.repeat, t.interventions,"
    " t.kind, t.sessions_back, t.turns_back FROM turn t"
)


def outline_record(row: Sequence[Any]) -> TurnRecord:
    """
    Return a light record from a row of ``SELECT_OUTLINES``, with what a table counts.

    It has no texts but those of interventions, and no token times; half a KiB in place of several.
    """
    # The same names come again and again, each time as a text of its own.
    names: list[Any] = [name and sys.intern(name) for name in row[:6]]
    conversation, system, policy, source, edit, outcome = names
    depth, detected, valid, not_judged, scheduled_s, sent_s, done_s, repeat, interventions = row[6:15]
    kind, sessions_back, turns_back = row[15:]
    check_moments(scheduled_s, sent_s, done_s)
    return TurnRecord(
        conversation=conversation,
        system=system,
        policy=policy,
        depth=depth,
        source=source,
        repeat=repeat,
        edit=edit,
        outcome=outcome,
        drift=_verdict(valid, not_judged) if detected else None,
        interventions=() if interventions is None else from_json(interventions, tuple[Intervention, ...]),
        timing=None if done_s is None else Timing(scheduled_s=scheduled_s, sent_s=sent_s, done_s=done_s),
        kind=sys.intern(kind or ""),
        sessions_back=sessions_back,
        turns_back=turns_back,
        turn="",
        recorded="",
        asked="",
        answer=None,
    )


@lru_cache(maxsize=1000)
def _verdict(valid: int | None, not_judged: str | None) -> Drift:
    """Return a verdict, the same object for all turns with it."""
    return Drift(valid=None if valid is None else bool(valid), mentions=(), mode="", not_judged=not_judged)
