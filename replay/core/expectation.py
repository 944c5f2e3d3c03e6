"""What somebody expects of a turn, or of a conversation's end: data, as a data set says it; checked later."""

from __future__ import annotations

from typing import Any

import msgspec


class Expectation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One check to be made."""

    kind: str
    """``contains``, ``regex``, ``calls``, ..."""
    value: Any
    """What the kind compares with: a JSON value."""
    called: str | None = None
    """The name of the column that it counts in, beside all of its kind."""
