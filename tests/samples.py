"""Small conversations, systems and sinks that tests of several parts play with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from replay import testing
from replay.core.adapter import Adapter
from replay.core.asking.retries import RetryPolicy
from replay.core.conversation import Conversation, Turn
from replay.core.record import TurnRecord
from replay.core.safety.consent import code_may_run
from replay.coreference.drift import DriftDetector, DriftMode
from replay.coreference.reading.evalconvqa import Match
from replay.coreference.reading.mentions import find_mentions
from replay.coreference.reading.resolver import CharSpan, Cluster, Document
from replay.coreference.service.service import CoreferenceService, ResolverChoice
from replay.policies.policy import Policy
from replay.testing import ScriptedSystem as Fake
from replay.testing.fakes import Recorded

__all__ = ["ALBUM", "ALICE", "SINGER", "Fake", "Recorded", "conversation", "detector", "play"]


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


class AliceResolver:
    """Reads "she" and "her" as Alice Okafor where the history names her, and as nobody where it doesn't."""

    signature = "alice"

    def resolve(self, documents: Sequence[Document]) -> list[list[Cluster]]:
        return [self._clusters(document) for document in documents]

    def _clusters(self, document: Document) -> list[Cluster]:
        context, name = document.context(), "Alice Okafor"
        at = context.rfind(name)
        her = [mention for mention in find_mentions(document.question) if mention.kind == "she"]
        if at < 0 or not her:
            return []
        mentions = [CharSpan(start=len(context) + m.start, end=len(context) + m.end) for m in her]
        return [(CharSpan(start=at, end=at + len(name)), *mentions)]


ALICE = f"{__name__}:AliceResolver"
"""For tests of what is done with readings, which must not turn on what the embedded reader has learned."""


@asynccontextmanager
async def detector(
    *,
    window: int = 2,
    mode: DriftMode = "strict",
    workers: int = 0,
    match: Match = "f1",
    resolver: str = "embedded",
) -> AsyncIterator[DriftDetector]:
    """Drift detection with the embedded resolver, in this process, unless told otherwise."""
    choice = ResolverChoice(name=resolver, settings={}, folder=Path())
    with code_may_run():
        made = CoreferenceService(choice, workers=workers)
    async with made as service:
        yield DriftDetector(service=service, window=window, mode=mode, match=match)


async def play(
    system: Adapter,
    policy: Policy,
    conversation: Conversation = ALBUM,
    *,
    patience: RetryPolicy | None = None,
    **more: Any,
) -> list[TurnRecord]:
    """The new records of one conversation."""
    return await testing.play(
        system, policy, conversation, patience=patience or RetryPolicy(backoff_s=0.0), **more
    )
