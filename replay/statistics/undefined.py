"""
Why a number that was asked for doesn't exist: never NaN, never silently another number.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Undefined:
    """In place of a number."""

    reason: str


def defined(value: float | Undefined) -> float | None:
    """*value*, or None where there is none; for JSON and tables that give the reason elsewhere."""
    return None if isinstance(value, Undefined) else value
