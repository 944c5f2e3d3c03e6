"""A reply as it came, for those who want to look at more than its answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReply:
    """What came back for one attempt of one ask."""

    conversation: str
    system: str
    policy: str
    depth: int
    attempt: int
    """From 1; those of a later rerun begin again."""
    outcome: str
    """Of this attempt."""
    data: bytes
    cut_bytes: int = 0
    """How much of its end was left out."""
    asked_at: str = ""
    """UTC, ISO 8601; where it is empty, that is when it is stored."""
