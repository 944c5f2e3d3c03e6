"""
``simulate``: a conversation without recorded questions, led by a user who has a goal.

Each turn is what the user says to what the system really said, until they have what they want, see that they
won't get it, or there have been as many turns as there may be. What they say is tested by code before it is
said (``replay.users.faithful``): there is no recorded meaning to hold it against, but what the goal says is
all that they know. How they end it is kept beside the turns, as no turn of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from msgspec.structs import replace

from replay.core.asking.costs import NO_PRICES, PriceTable
from replay.core.conversation import Conversation
from replay.core.history import PlayedTurn, own_history
from replay.core.record import Intervention
from replay.core.settings.plugins import NestedChoice
from replay.policies.policy import PlannedTurn
from replay.users.faithful import goal_knowledge, reason_against_end, unfaithful
from replay.users.user import (
    ATTEMPTS,
    ENDINGS,
    GoalUser,
    User,
    UserFact,
    Wording,
    WordingRequest,
    build_user,
    word_turn,
)

TURNS = 10
"""Turns of a conversation at most, where neither it nor the scenario says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatePolicy:
    """A user with a goal in the place of recorded questions, after the system's own answers."""

    history: ClassVar[Literal["own"]] = "own"
    user: User
    """As they talk without a script."""
    turns: int = TURNS
    """The most turns where the goal doesn't say."""

    def __post_init__(self) -> None:
        if self.turns < 1:
            raise ValueError(f"turns: {self.turns} is not a positive whole number")

    @property
    def signature(self) -> str:
        return f"simulate|user:{self.user.signature}|turns:{self.turns}"

    @property
    def most_turns(self) -> int:
        return self.turns

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        goal, history = conversation.goal, own_history(played)
        assert goal is not None, "a run lets only conversations with a goal come here"
        if depth == 1 and goal.opener:
            one = Intervention(
                occasion="simulated", evidence="", move="message", said=goal.opener, source="opener"
            )
        else:
            is_over = depth > (goal.turns or self.turns)
            one = await self._word(conversation, depth, played, attempts=1 if is_over else ATTEMPTS)
            if is_over and one.move not in ("goal-reached", "given-up"):
                one = replace(one, move="turn-limit", said=None, source="", note=None)
        return PlannedTurn(
            question=one.said or "",
            history=history,
            edit="simulated" if one.said is not None else "ended",
            edit_note=one.note,
            interventions=(one,),
        )

    async def _word(
        self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn], *, attempts: int
    ) -> Intervention:
        assert conversation.goal is not None
        goal = conversation.goal
        request = WordingRequest(
            conversation=conversation.id,
            depth=depth,
            occasion="simulated",
            evidence="",
            question=goal.wants,
            standalone=None,
            rewritten=None,
            facts=tuple(UserFact(kind=kind, value=value) for kind, value in goal.facts.items()),
            history=own_history(played),
            own_turns=(goal.opener,) if goal.opener else (),
            goal=goal,
        )
        known = goal_knowledge(goal, request)

        async def reason_against(wording: Wording, request: WordingRequest) -> str | None:
            if wording.move in ENDINGS:
                return reason_against_end(wording, request)
            return unfaithful(wording, request, known)

        return await word_turn(self.user, request, reason_against, attempts=attempts)


def simulate_policy(
    *,
    folder: Path,
    price_table: PriceTable = NO_PRICES,
    user: NestedChoice | None = None,
    turns: int = TURNS,
) -> SimulatePolicy:
    """
    Return the policy from a scenario's settings.

    Args:
        folder: The folder that relative file names start from.
        price_table: The scenario's, for a user's model.
        user: The user's name, or a mapping from its name to its settings.
        turns: The most turns of a conversation whose goal doesn't say, at least 1.

    Raises:
        ScenarioError: the user can't be built.
        ValueError: there is none, or none who can talk without a script, or *turns* is below 1.
    """
    if user is None:
        raise ValueError(
            "simulate needs a user with a model, as in user: {llm: {adapter: openai, settings: {...}}}"
        )
    built = build_user(user, folder, price_table)
    if not isinstance(built, GoalUser):
        name = user if isinstance(user, str) else next(iter(user), "")
        raise ValueError(
            f'the user "{name}" has words for recorded questions alone and can\'t talk from a goal; use llm, '
            "or one of your own that has for_goals (docs/plugins.md)"
        )
    return SimulatePolicy(user=built.for_goals(), turns=turns)
