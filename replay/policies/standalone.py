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
    What to ask in the place of *turn*'s question, and what that makes of it.

    As recorded and ``not-found`` where the data set has no standalone question, as in the published
    program; ``kept`` where it is what was recorded.
    """
    if turn.standalone is None:
        return turn.question, "not-found"
    return turn.standalone, "kept" if turn.standalone == turn.question else "replaced"
