"""
What asking a model as resolver takes: counted in the run, told with its numbers, estimated before it.
"""

from __future__ import annotations

from collections.abc import Iterator

from replay.core.asking.cached import Question
from replay.core.asking.tally import CHARACTERS_PER_TOKEN, AskTally, CostEstimate, total
from replay.core.conversation import Conversation
from replay.core.decoding import convert_to
from replay.core.disk_cache import DiskCache
from replay.coreference.reading.resolver import Document, recorded_document
from replay.coreference.service.history_budget import fit_histories
from replay.coreference.service.llm import COMPLETION_TOKENS, LlmResolver, needs_asking
from replay.scenario.assembly import Assembly
from replay.store.store import RunStore

_ASKED = "resolver-asked"
"""The event with a session's tally."""


def keep_tally(assembly: Assembly, store: RunStore) -> None:
    """Keep what this session of the run asked of its resolver, if that is a model."""
    asked = assembly.service.asked
    if asked is not None and asked.tally.verdicts:
        store.add_event(_ASKED, asked.tally)


def resolver_remarks(store: RunStore) -> list[str]:
    """Return sentences on what the run asked of its resolver's model, in all sessions; empty if nothing."""
    tallies = [convert_to(one, AskTally) for one in store.events(_ASKED)]
    return [f"resolver: {sentence}" for sentence in total(tallies).sentences()] if tallies else []


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
            count.compared(recorded, comparing)
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

    def compared(self, recorded: Document, times: int) -> None:
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
