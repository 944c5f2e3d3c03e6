"""What the users of a scenario would ask of their models, or of people, found out without asking."""

from __future__ import annotations

from dataclasses import dataclass

from replay.core.asking.tally import CHARACTERS_PER_TOKEN
from replay.policies.policy import ViewedPolicy
from replay.policies.react import ReactPolicy
from replay.policies.simulate import SimulatePolicy
from replay.scenario.assembly import Assembly
from replay.users.llm import LlmUser
from replay.users.user import ATTEMPTS, PeopleUser

COMPLETION_TOKENS = 30
"""About as long is what a user says."""
CONVERSATION_CHARACTERS = 2_000
"""About as much of a conversation stands in a prompt, beside the prompt's own text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserEstimate:
    """What the user of one policy would take at most: how often a script breaks is not known before."""

    policy: str
    asks_at_most: int
    prompt_tokens_each: int
    cost_usd_at_most: float | None
    """None where the model has no prices."""
    has_goals: bool = False
    """They lead conversations without recorded questions."""

    @property
    def sentence(self) -> str:
        """The same in words."""
        cost = self.cost_usd_at_most
        priced = "" if cost is None else f", {cost:.2f} USD at most"
        fewer = "fewer where goals are reached before" if self.has_goals else "none where the script fits"
        return (
            f"user of {self.policy}: {self.asks_at_most:,} asks of its model at most, about "
            f"{self.prompt_tokens_each:,} tokens each{priced}; {fewer}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleEstimate:
    """What people would be given to word by one policy at most."""

    policy: str
    asked_in: str
    """The study."""
    turns_at_most: int

    @property
    def sentence(self) -> str:
        """The same in words."""
        return (
            f"user of {self.policy}: people word {self.turns_at_most:,} turns at most, in {self.asked_in}; "
            "none where the script fits, or that they have worded before"
        )


def estimate_users(assembly: Assembly, turns: int, plays: int) -> list[UserEstimate | PeopleEstimate]:
    """Return what each policy's user would ask at most, of so many *turns* in so many *plays* of a system."""
    found: list[UserEstimate | PeopleEstimate] = []
    for label, policy in assembly.policies.items():
        inner = policy.policy if isinstance(policy, ViewedPolicy) else policy
        if isinstance(inner, ReactPolicy):
            asks = turns * (1 + inner.extra) * ATTEMPTS
        elif isinstance(inner, SimulatePolicy):
            asks = turns * ATTEMPTS + plays  # after the last turn once more, whether they have what they want
        else:
            continue
        user = inner.user
        asks *= len(assembly.systems)
        if isinstance(user, PeopleUser):
            found.append(PeopleEstimate(policy=label, asked_in=user.asked_in, turns_at_most=asks))
        if not isinstance(user, LlmUser):
            continue
        tokens = round((len(user.prompt.text) + CONVERSATION_CHARACTERS) / CHARACTERS_PER_TOKEN)
        prices = user.model.prices
        found.append(
            UserEstimate(
                policy=label,
                asks_at_most=asks,
                prompt_tokens_each=tokens,
                has_goals=isinstance(inner, SimulatePolicy),
                cost_usd_at_most=prices.cost_usd(asks * tokens, asks * COMPLETION_TOKENS) if prices else None,
            )
        )
    return found
