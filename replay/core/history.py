"""
What a system is shown of the conversation so far, and what really happened in it.

How much of a history a system is shown: all of it, the present session, the last exchanges, or the user's
questions alone.

What a system is not shown it can't lean on, which is the point: would a shorter context do, and is it its own
answers that lead a system astray? Instructions are no exchanges and are never cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import msgspec
from msgspec.structs import replace

from replay.core.conversation import Conversation, Turn
from replay.core.message import Message, instructions, pair_calls, question_messages


class Exchange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question and its answer, as a system sees them in its history."""

    question: str
    answer: str
    asked_with: tuple[Message, ...] = ()
    """As a turn's ``asked_with``; in the history of a request only."""
    steps: tuple[Message, ...] = ()
    """What stood between the question and the answer: calls of tools and their results."""
    question_only: bool = False
    """The system is not shown the answer (``history: user-only``), or nobody gave one; it is empty then."""
    session: str = ""
    """That of the turn."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """All of it, as endpoints take it: calls without a result and results without a call are left out."""
        asked = question_messages(self.question, self.asked_with)
        if self.question_only:
            return asked
        return (*asked, *pair_calls(self.steps), Message(role="assistant", text=self.answer))


class PlayedTurn(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One turn behind us."""

    turn: Turn
    asked: str
    """The question as it was really put; equal to ``turn.question`` unless a policy edited it."""
    answer: str | None
    """What stands in the system's own history: its answer, or the gold answer standing in for a
    failed ask. None when the turn left no trace there (filtered out)."""
    steps: tuple[Message, ...] = ()
    """What came before the answer: calls of tools and their results, and where a user followed up the replies
    before it with what was said to them."""

    @cached_property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All exchanges of the turn as the system sees them, in order; empty where it left no trace. The same
        objects for all later turns, so that an adapter can tell what it has put into words before."""
        if self.answer is None:
            return ()
        whole = _exchange(self.asked, self.answer, self.steps, self.turn.session)
        if not self.steps or not any(step.role == "user" for step in self.steps):
            return (whole,)
        return tuple(_split(whole))

    @property
    def has_follow_ups(self) -> bool:
        """Return whether the turn took more than one exchange."""
        return len(self.exchanges) > 1


def gold_history(conversation: Conversation, depth: int) -> tuple[Exchange, ...]:
    """
    Return the recorded questions with gold answers before *depth* (1-based).

    A turn whose gold answer is unknown is left out: there is nothing to show for it, and a
    predicted answer must never stand in a gold history. One whose recorded answer is an empty text had none,
    and is shown without.
    """
    return tuple(
        _gold_exchange(turn.question, turn.gold_answer, turn.steps, turn.session)
        for turn in conversation.turns[: depth - 1]
        if turn.gold_answer is not None
    )


def _exchange(question: str, answer: str, steps: tuple[Message, ...], session: str) -> Exchange:
    return Exchange(
        question=question,
        answer=answer,
        steps=steps,
        question_only=not answer and not steps,
        session=session,
    )


_gold_exchange = lru_cache(maxsize=32_768)(_exchange)
"""The history is rebuilt for every turn of a conversation."""


def own_history(played: Sequence[PlayedTurn]) -> tuple[Exchange, ...]:
    """Return the questions as really asked, with the answers that the system really gave."""
    return tuple([exchange for p in played for exchange in p.exchanges])


def _split(turn: Exchange) -> Iterator[Exchange]:
    """Yield the exchanges of a *turn* in which a user followed up; what had no reply is none."""
    question, steps = turn.question, list[Message]()
    for step in turn.steps:
        if step.role != "user":
            steps.append(step)
            continue
        if steps and steps[-1].role == "assistant" and not steps[-1].tool_calls:
            yield replace(turn, question=question, answer=steps[-1].text, steps=tuple(steps[:-1]))
        question, steps = step.text, []
    yield replace(turn, question=question, steps=tuple(steps))


def with_recorded_context(
    history: Sequence[Exchange], played: Sequence[PlayedTurn], turn: Turn
) -> tuple[tuple[Exchange, ...], tuple[Message, ...]]:
    """
    Return *history* and the messages before *turn*'s question, both with the recorded context messages.

    Instructions of a turn that is not in the history, since it was filtered or has no gold answer, are put
    before the next question of its session. A session of which nothing is shown leaves none behind.

    Args:
        history: The exchanges to show, oldest first.
        played: All turns before *turn*, in order.
        turn: The turn to ask.
    """
    shown = list(history)
    pending: tuple[Message, ...] = ()
    # From the end, since a history may begin later than the conversation, and "Yes." is asked more than once.
    position = len(shown) - 1
    places: dict[int, int] = {}
    for number in range(len(played) - 1, -1, -1):
        p = played[number]
        exchanges = len(p.exchanges)
        if position >= 0 and _is_of(shown[position], p):
            # What the question came with stands before its first exchange, as far as that is shown.
            places[number] = max(0, position - max(0, exchanges - 1))
            position = places[number] - 1
    session = played[0].turn.session if played else turn.session
    for number, p in enumerate(played):
        if p.turn.session != session:
            session, pending = p.turn.session, ()
        if number not in places:
            pending += instructions(p.turn.asked_with)
        elif asked_with := pending + p.turn.asked_with:
            shown[places[number]] = replace(shown[places[number]], asked_with=asked_with)
            pending = ()
    return tuple(shown), (pending if turn.session == session else ()) + turn.asked_with


def _is_of(exchange: Exchange, played: PlayedTurn) -> bool:
    """Return whether *exchange* shows what was *played*; a skipped turn may have asked what another did."""
    if played.has_follow_ups:
        return exchange.question == played.exchanges[-1].question
    if exchange.question not in (played.asked, played.turn.question):
        return False
    return exchange.question_only or exchange.answer in (played.answer, played.turn.gold_answer)


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
