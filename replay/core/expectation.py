"""What somebody expects of a turn, or of a conversation's end: data, as a data set says it; checked later."""

from __future__ import annotations

from typing import Any

import msgspec

ALL_CHECKS = "check"
"""The column of all checks; one kind's is ``check.contains``, and one that the data names ``check.NAME``."""
END = "end"
"""What the column of the checks for a conversation's end is called behind ``check.``."""


def check_columns(kind: str, called: str | None, *, at_end: bool) -> list[str]:
    """Return the names of the columns in which a check counts."""
    names = kind, called, END if at_end else None
    return [ALL_CHECKS, *(f"{ALL_CHECKS}.{name}" for name in names if name)]


class Expectation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One check to be made."""

    kind: str
    """``contains``, ``regex``, ``calls``, ..."""
    value: Any
    """What the kind compares with: a JSON value."""
    called: str | None = None
    """The name of the column that it counts in, beside all of its kind."""
