"""
What judging would take, without asking anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replay.core.adapter import ChatReply
from replay.core.asking.cached import Model, question_key, read_reply
from replay.core.asking.prompt import PromptError
from replay.core.asking.tally import CHARACTERS_PER_TOKEN, CostEstimate
from replay.core.disk_cache import DiskCache
from replay.scorers.judges.asking import sample_name
from replay.scorers.judges.judge import Case, PlannedAsk
from replay.scorers.judges.panel import Panel


def estimate(panel: Panel, ready: Sequence[Case], *, settled: int) -> CostEstimate:
    """
    Return an estimate of the asks, tokens and cost of judging the cases in *ready*.

    Args:
        panel: The judge with its voters.
        ready: The cases to ask about.
        settled: The number of further cases, which need no asking.
    """
    cache = DiskCache(panel.cache)
    seen: set[bytes] = set()
    asks = at_most = cached = prompt_tokens = completion_tokens = 0
    cost = 0.0
    once: ChatReply | None = None
    for voter, repeat, planned in _planned(panel, ready):
        text = planned.prompt
        if planned.after is not None and once is not None:
            text = planned.after(once.text)
        if (panel.cache or planned.once) and planned.certain:
            sample = sample_name(repeat, planned.sample, once=planned.once)
            key = question_key(voter, text, voter.sent_parameters(planned.parameters), sample)
            kept = read_reply(cache, key)
            if planned.once:
                once = kept
            if key in seen:
                cached += not planned.once
                continue
            seen.add(key)
            if kept is not None:
                cached += 1
                continue
        at_most += 1
        if planned.certain:
            asks += 1
            prompt = round(len(text) / CHARACTERS_PER_TOKEN)
            prompt_tokens += prompt
            completion_tokens += planned.completion_tokens
            cost += voter.prices.cost_usd(prompt, planned.completion_tokens) if voter.prices else 0.0
    return CostEstimate(
        name=panel.name,
        cases=len(ready),
        settled=settled,
        asks=asks,
        asks_at_most=at_most,
        cached=cached,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        cost_usd=cost if all(voter.prices for voter in panel.voters) else None,
    )


def _planned(panel: Panel, ready: Sequence[Case]) -> Iterator[tuple[Model, int, PlannedAsk]]:
    for case in ready:
        try:
            planned = panel.judge.plan(case)
        except PromptError:  # nothing is asked about a case whose prompt can't be filled in
            continue
        for repeat in range(panel.repeats):
            for voter in panel.voters:
                for ask in planned:
                    yield voter, repeat, ask
