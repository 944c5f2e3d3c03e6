"""How often our rewritten questions agree with the data's standalone ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from replay.statistics.group import Group


@dataclass(frozen=True, slots=True, kw_only=True)
class WordingAgreement:
    """The questions of one group that were rewritten and have a standalone question in the data."""

    group: Group
    questions: int
    equal: int
    """The same word for word, as ``em`` compares: lower case, no punctuation, no articles."""
    same_things: int
    """The same content words, in any order: all words but the function words of English."""
    nothing_else: int
    """No content word that the data's question hasn't got; it may have more."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain
