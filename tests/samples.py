"""Small conversations, systems and sinks that tests of several parts play with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from replay import testing
from replay.core.adapter import Adapter
from replay.core.asking.patience import Patience
from replay.core.conversation import Conversation, Turn
from replay.core.record import TurnRecord
from replay.coreference.drift import DriftDetector, DriftMode
from replay.coreference.drift_evalconvqa import Match
from replay.coreference.service import CoreferenceService, ResolverChoice
from replay.policies.policy import Policy
from replay.testing import ScriptedSystem as Fake
from replay.testing.playing import Recorded

__all__ = ["ALBUM", "SINGER", "Fake", "Recorded", "conversation", "detector", "play"]


def conversation(*turns: tuple[str, str | None], id: str = "c1", title: str = "") -> Conversation:
    """A conversation of (question, gold answer) pairs."""
    return Conversation(
        id=id,
        title=title,
        turns=tuple(
            Turn(id=f"{id}#{n}", question=question, gold_answers=() if gold is None else (gold,))
            for n, (question, gold) in enumerate(turns, 1)
        ),
    )


ALBUM = conversation(
    ("Who wrote Stone Garden?", "Alice Okafor wrote it in 1987."),
    ("Where was she born?", "In Port Ellis."),
    ("What is it known for?", "Its glass harbour."),
)
"""Each question leans on the gold answer before it: she = Alice Okafor, it = Port Ellis."""


_TURNS = (
    ("Who sang Stone Garden?", "Alice Okafor sang it.", "Who sang Stone Garden?"),
    ("Where was she born?", "She was born in Port Ellis.", "Where was the singer Alice Okafor born?"),
    ("Who taught her?", "Her aunt Dilys taught her.", "Who taught Alice Okafor?"),
    ("What did Dilys play?", "The viola.", "What did Dilys play?"),
)
SINGER = Conversation(
    id="singer",
    title="Stone Garden (album)",
    turns=tuple(
        Turn(id=f"singer#{n}", question=question, gold_answers=(gold,), standalone=standalone)
        for n, (question, gold, standalone) in enumerate(_TURNS, 1)
    ),
)
"""Only the first gold answer says who "she" is."""


@asynccontextmanager
async def detector(
    *, window: int = 2, mode: DriftMode = "strict", workers: int = 0, match: Match = "f1"
) -> AsyncIterator[DriftDetector]:
    """Drift detection with the embedded resolver, in this process unless told otherwise."""
    choice = ResolverChoice(settings={}, folder=Path())
    async with CoreferenceService(choice, workers=workers) as service:
        yield DriftDetector(service=service, window=window, mode=mode, match=match)


async def play(
    system: Adapter,
    policy: Policy,
    conversation: Conversation = ALBUM,
    *,
    patience: Patience | None = None,
    **more: Any,
) -> list[TurnRecord]:
    """The new records of one conversation."""
    return await testing.play(
        system, policy, conversation, patience=patience or Patience(backoff_s=0.0), **more
    )
