"""
Why a number that was asked for doesn't exist: never NaN, never silently another number.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class UndefinedNumber:
    """In place of a number."""

    reason: str


def value_or_none(value: float | UndefinedNumber) -> float | None:
    """*value*, or None where there is none; for JSON and tables that give the reason elsewhere."""
    return None if isinstance(value, UndefinedNumber) else value
