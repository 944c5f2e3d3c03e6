"""Small conversations, systems and sinks that tests of several parts play with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from replay.core.adapter import ChatReply, ChatRequest, HistoryKeeper
from replay.core.asking.patience import Patience
from replay.core.conversation import Conversation, Turn
from replay.core.errors import AdapterError
from replay.core.record import TurnRecord
from replay.coreference.drift import DriftDetector, DriftMode
from replay.coreference.drift_evalconvqa import Match
from replay.coreference.service import CoreferenceService, ResolverChoice
from replay.play.player import OnFailure, Play, Player, System
from replay.policies.policy import Policy

Answer = str | AdapterError | None
"""A text, a failure, or None for an ask that never ends."""


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


class Recorded:
    """A sink in memory; every record is "durable" at once."""

    def __init__(self) -> None:
        self.records: list[TurnRecord] = []

    async def write(self, record: TurnRecord) -> None:
        self.records.append(record)


class Fake:
    """A system that gives the same answers in every session, and remembers what it was asked."""

    def __init__(self, *answers: Answer, history: HistoryKeeper = "client") -> None:
        self.answers = answers
        self.history = history
        self.requests: list[ChatRequest] = []

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[_FakeSession]:
        yield _FakeSession(self)


class _FakeSession:
    def __init__(self, system: Fake) -> None:
        self._system = system
        self._next = count()

    async def ask(self, request: ChatRequest) -> ChatReply:
        self._system.requests.append(request)
        answer = self._system.answers[next(self._next)]
        if answer is None:
            await asyncio.get_running_loop().create_future()
        if isinstance(answer, AdapterError):
            raise answer
        assert answer is not None
        return ChatReply(text=answer)


@asynccontextmanager
async def detector(
    *, window: int = 2, mode: DriftMode = "strict", workers: int = 0, match: Match = "f1"
) -> AsyncIterator[DriftDetector]:
    """Drift detection with the embedded resolver, in this process unless told otherwise."""
    choice = ResolverChoice(settings={}, folder=Path())
    async with CoreferenceService(choice, workers=workers) as service:
        yield DriftDetector(service=service, window=window, mode=mode, match=match)


def ticking() -> Callable[[], float]:
    """A clock that moves on by one second at each reading."""
    ticks = count()
    return lambda: float(next(ticks))


async def play(
    system: Fake,
    policy: Policy,
    conversation: Conversation = ALBUM,
    *,
    patience: Patience | None = None,
    on_failure: OnFailure = "stop",
    records: Sequence[TurnRecord] = (),
) -> list[TurnRecord]:
    """The new records of one conversation."""
    sink = Recorded()
    patience = patience or Patience(backoff_s=0.0)
    player = Player(patience, sink, clock=ticking(), start=0.0, on_failure=on_failure)
    await player.play(
        Play(
            system=System(name="fake", adapter=system),
            policy_name=policy.signature.partition("|")[0],
            policy=policy,
            conversation=conversation,
            records=tuple(records),
        )
    )
    return sink.records
