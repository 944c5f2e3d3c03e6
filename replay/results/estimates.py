"""
What playing a scenario would ask beside its systems, found out without asking: of its resolver's model, of
its users' models, or of people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from replay.core.asking.cached import Question
from replay.core.asking.costs import CHARACTERS_PER_TOKEN, CostEstimate
from replay.core.conversation import Conversation
from replay.core.disk_cache import DiskCache
from replay.coreference.reading.resolver import Document, recorded_document
from replay.coreference.service.llm import COMPLETION_TOKENS, LlmResolver, fit_histories, needs_asking
from replay.policies.policy import ViewedPolicy
from replay.policies.simulated_user import ReactPolicy, SimulatePolicy
from replay.scenario.assembly import Assembly
from replay.users.llm import LlmUser
from replay.users.user import ATTEMPTS, PeopleUser


def estimate_resolver(assembly: Assembly) -> CostEstimate | None:
    """
    Estimate what playing *assembly* once would ask of its resolver's model; None if it has no model.

    The estimate assumes that every system words every answer differently and that nothing is cached, apart
    from what depends on the recorded history alone: that is looked up in the cache. Tokens are estimated with
    the recorded answers, since the systems' answers aren't known yet.

    Raises:
        DatasetError: a conversation can't be read and is not to be skipped.
    """
    resolver = assembly.service.asked
    if resolver is None:
        return None
    count = _Count(resolver)
    asking = [p for p in assembly.policies.values() if resolver.signature in p.signature]
    plays = len(assembly.systems) * assembly.file.scenario.play.repeats
    comparing = plays * sum(policy.history == "own" for policy in asking)
    reads = any(policy.history != "own" for policy in asking)
    drift = assembly.file.scenario.drift
    for conversation in _conversations(assembly):
        for depth in conversation.asked_depths:
            whole = recorded_document(conversation, depth, window=drift.window, background=drift.background)
            (recorded,) = fit_histories([whole], resolver.history_characters)
            count.add_comparisons(recorded, comparing)
            if reads:
                count.read(recorded)
    prices = resolver.model.prices
    completion_tokens = count.asks * COMPLETION_TOKENS
    return CostEstimate(
        name="resolver",
        cases=count.asks + count.cached + count.settled,
        settled=count.settled,
        asks=count.asks,
        asks_at_most=2 * count.asks,
        cached=count.cached,
        prompt_tokens=count.prompt_tokens,
        completion_tokens=completion_tokens,
        cost_usd=prices.cost_usd(count.prompt_tokens, completion_tokens) if prices else None,
    )


def planned_turns(assembly: Assembly) -> tuple[int, int]:
    """
    Return how many turns of *assembly*'s conversations will be asked, and in how many plays, with repeats.

    Raises:
        DatasetError: a conversation can't be read and is not to be skipped.
    """
    # The last one of a conversation with a goal is no turn: the user alone is asked there.
    found = [len(one.asked_depths) - (one.goal is not None) for one in _conversations(assembly)]
    repeats = assembly.file.scenario.play.repeats
    return sum(found) * repeats, len(found) * repeats


def _conversations(assembly: Assembly) -> Iterator[Conversation]:
    skips = assembly.file.scenario.data.skip_bad
    return assembly.conversations((lambda error: None) if skips else None)


class _Count:
    """Asks of one resolver."""

    def __init__(self, resolver: LlmResolver) -> None:
        self._resolver = resolver
        self._cache = DiskCache(resolver.cache)
        self._seen: set[bytes] = set()
        self.settled = self.asks = self.cached = self.prompt_tokens = 0

    def add_comparisons(self, recorded: Document, times: int) -> None:
        """Count that *recorded* is compared with *times* histories of systems."""
        if recorded.turns:
            self._ask(self._resolver.question(recorded, recorded), times)
        else:
            self.settled += times

    def read(self, recorded: Document) -> None:
        """Count that *recorded* is read alone, once for all systems and policies."""
        if not needs_asking(recorded):
            self.settled += 1
            return
        question = self._resolver.question(recorded)
        if question.key in self._seen:
            return
        self._seen.add(question.key)
        if self._cache.get([question.key]):
            self.cached += 1
        else:
            self._ask(question, 1)

    def _ask(self, question: Question, times: int) -> None:
        self.asks += times
        self.prompt_tokens += times * round(len(question.prompt) / CHARACTERS_PER_TOKEN)


WORDING_TOKENS = 30
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
                cost_usd_at_most=prices.cost_usd(asks * tokens, asks * WORDING_TOKENS) if prices else None,
            )
        )
    return found
