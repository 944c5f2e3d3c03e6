"""
A turn put as the data set's standalone question, which people wrote (CANARD for QuAC).

For ``replace`` under a system's own history and for ``gold`` under the recorded one, so that both ask the
same words.
"""

from __future__ import annotations

from replay.core.conversation import Turn
from replay.core.record import Edit


def standalone_question(turn: Turn) -> tuple[str, Edit]:
    """
    Return the standalone question to ask in place of *turn*'s question, and the kind of edit.

    Returns:
        The question as recorded and ``not-found`` if the data set has no standalone question, as in the
        published program; otherwise the standalone question, with ``kept`` if it equals the recorded one and
        ``replaced`` if not.
    """
    if turn.standalone is None:
        return turn.question, "not-found"
    return turn.standalone, "kept" if turn.standalone == turn.question else "replaced"
