"""
How much of a history a system is shown: all of it, the present session, the last exchanges, or the user's
questions alone.

What a system is not shown it can't lean on, which is the point: would a shorter context do, and is it its own
answers that lead a system astray? Instructions are no exchanges and are never cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from replay.core.history import Exchange

_CUT = re.compile(r"(?:exchanges? (?:1 to )?(\d+)(?:, |\Z))?(answers)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryView:
    """A cut of any history."""

    last: int | None = None
    """Exchanges at most, the newest ones; None for all."""
    session: bool = False
    """The present session alone, of data that know of sessions."""
    user_only: bool = False
    """Questions without answers, and without what stood between the two."""

    def __str__(self) -> str:
        parts = ["session"] if self.session else []
        parts += [f"last:{self.last}"] if self.last is not None else []
        return "+".join([*parts, *(["user-only"] if self.user_only else [])])

    def apply(
        self, history: Sequence[Exchange], session: str = ""
    ) -> tuple[tuple[Exchange, ...], str | None]:
        """
        Return the exchanges that stay of *history*, and a description of the cut.

        Args:
            history: All exchanges, oldest first.
            session: That of the turn to ask.

        Returns:
            The exchanges that stay, and text such as ``exchanges 1 to 3, answers`` that names what was cut;
            None if nothing was.
        """
        cut = 0 if self.last is None else max(0, len(history) - self.last)
        if self.session:
            # The last exchange of another session, and all before it.
            cut = max([cut, *(n for n, one in enumerate(history, 1) if one.session != session)])
        said = [f"exchanges 1 to {cut}" if cut > 1 else "exchange 1"] if cut else []
        said += ["answers"] if self.user_only and cut < len(history) else []
        return _cut(history, cut, answers=self.user_only), ", ".join(said) or None


def reapply_view(history: Sequence[Exchange], cut: str | None) -> tuple[Exchange, ...]:
    """Return *history* cut as *cut* describes it; all of it if the description is in other words."""
    found = _CUT.fullmatch(cut or "")
    return _cut(history, int(found[1] or 0), answers=bool(found[2])) if found else tuple(history)


def _cut(history: Sequence[Exchange], exchanges: int, *, answers: bool) -> tuple[Exchange, ...]:
    return tuple(_question_of(one) if answers else one for one in history[exchanges:])


@lru_cache(maxsize=32_768)
def _question_of(exchange: Exchange) -> Exchange:
    return Exchange(question=exchange.question, answer="", question_only=True, session=exchange.session)
