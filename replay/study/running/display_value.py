"""Values and moments as people read them, on the owner's page and on a terminal."""

from __future__ import annotations

from datetime import datetime

from replay.statistics.people import HumanNumber


def display_value(value: str | int | float | HumanNumber | None) -> str:
    """With its interval where it has one, and with why not where it has no value; a share in per cent."""
    if value is None:
        return "-"
    if isinstance(value, HumanNumber):
        if value.value is None:
            return f"- ({value.note})" if value.note else "-"
        text = _plain(value.value, value.unit)
        if value.low is not None and value.high is not None:
            text += f" [{_plain(value.low, value.unit)}, {_plain(value.high, value.unit)}]"
        return text
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _plain(value: float, unit: str) -> str:
    return f"{100 * value:.1f} %" if unit == "share" else f"{value:.2f}"


class RelativeTime:
    """How long ago a moment of the database was, in words."""

    def __init__(self, now: str) -> None:
        self._now = datetime.fromisoformat(now)

    def __call__(self, moment: str | None) -> str:
        if moment is None:
            return "never"
        minutes = int((self._now - datetime.fromisoformat(moment)).total_seconds() // 60)
        if minutes < 1:
            return "just now"
        if minutes < 120:
            return f"{minutes} min ago"
        return f"{minutes // 60} h ago" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days ago"
