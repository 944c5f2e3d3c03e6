"""What a system is shown of the conversation so far, and what really happened in it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import msgspec

from replay.core.conversation import Conversation, Turn
from replay.core.message import Message


class Exchange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question and its answer, as a system sees them in its history."""

    question: str
    answer: str
    system_prompts: tuple[str, ...] = ()
    """Recorded instructions that stood before the question; in the history of a request only."""
    steps: tuple[Message, ...] = ()
    """What stood between the question and the answer: calls of tools and their results."""


class Played(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One turn behind us."""

    turn: Turn
    asked: str
    """The question as it was really put; equal to ``turn.question`` unless a policy edited it."""
    answer: str | None
    """What stands in the system's own history: its answer, or the gold answer standing in for a
    failed ask. None when the turn left no trace there (filtered out)."""
    steps: tuple[Message, ...] = ()
    """What came before the answer: calls of tools and their results."""

    @cached_property
    def exchange(self) -> Exchange | None:
        """The same as the system sees it. One object for all later turns, so that an adapter can tell what
        it has put into words before."""
        return None if self.answer is None else _exchange(self.asked, self.answer, self.steps)


def gold_history(conversation: Conversation, depth: int) -> tuple[Exchange, ...]:
    """
    Recorded questions with gold answers before *depth* (1-based).

    A turn whose gold answer is unknown is left out: there is nothing to show for it, and a
    predicted answer must never stand in a gold history.
    """
    return tuple(
        _exchange(turn.question, turn.gold_answer, turn.steps)
        for turn in conversation.turns[: depth - 1]
        if turn.gold_answer is not None
    )


@lru_cache(maxsize=32_768)
def _exchange(question: str, answer: str, steps: tuple[Message, ...]) -> Exchange:
    """The same object each time: a history is put together anew for every turn of a conversation."""
    return Exchange(question=question, answer=answer, steps=steps)


def own_history(played: Sequence[Played]) -> tuple[Exchange, ...]:
    """Questions as really asked, with the answers the system really gave."""
    return tuple(p.exchange for p in played if p.exchange is not None)


def with_system_prompts(
    history: Sequence[Exchange], played: Sequence[Played], turn: Turn
) -> tuple[tuple[Exchange, ...], tuple[str, ...]]:
    """
    *history* with the recorded system prompts where they stood, and those that stand before *turn*.

    Those of a turn that is not in the history, since it was filtered or has no gold answer, stand before
    what comes next.
    """
    shown = list(history)
    prompts: tuple[str, ...] = ()
    position = 0
    for p in played:
        prompts += p.turn.system_prompts
        if position < len(shown) and shown[position].question in (p.asked, p.turn.question):
            shown[position] = msgspec.structs.replace(shown[position], system_prompts=prompts)
            prompts = ()
            position += 1
    return tuple(shown), prompts + turn.system_prompts
