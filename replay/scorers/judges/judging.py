"""
Judges a run's turns: which cases there are, all of them side by side, and what judging would take, without
asking anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack

from replay.core.adapter import ChatReply
from replay.core.asking.cached import Model, question_key, read_reply
from replay.core.asking.costs import CHARACTERS_PER_TOKEN, AskTally, CostEstimate
from replay.core.asking.prompt import PromptError
from replay.core.asking.retries import open_endpoints
from replay.core.conversation import Conversation
from replay.core.disk_cache import DiskCache
from replay.core.errors import AdapterError
from replay.core.record import TurnRecord
from replay.scorers.judges.judge import Case, HistoryShown, Level, PlannedAsk, ask_failure
from replay.scorers.judges.panel import Asker, Panel, Verdict, judge_case, sample_name
from replay.scorers.scorer import Unscored

ONCE_PER_DIALOGUE = Unscored(reason="judged once, at the conversation's last turn")


def cases(
    level: Level,
    records: Iterable[TurnRecord],
    conversations: Mapping[str, Conversation],
    histories: Mapping[str, Mapping[str, HistoryShown]],
    ended: Collection[tuple[str, str, str]] = (),
) -> list[Case]:
    """
    Return the cases in *records*, in their order.

    *histories* says by system and policy what the system was shown; its own answers where that is missing.
    *ended* names by conversation, system and policy the plays that a user without a script has ended.
    """
    plays: dict[tuple[str, str, str], list[TurnRecord]] = {}
    for record in records:
        plays.setdefault((record.conversation, record.system, record.policy), []).append(record)
    found = []
    for place, played in plays.items():
        _, system, policy = place
        played.sort(key=lambda record: record.depth)
        conversation = conversations[played[0].recorded_conversation]
        if conversation.goal and place in ended:
            conversation = conversation.up_to(played[-1].depth)
        for count in range(1 if level == "turn" else len(played), len(played) + 1):
            found.append(
                Case(
                    conversation=conversation,
                    records=tuple(played[:count]),
                    history_shown=histories.get(system, {}).get(policy, "own"),
                )
            )
    return found


def ready_cases(panel: Panel, found: Sequence[Case]) -> tuple[list[Case], list[Verdict]]:
    """Return those of *found* that have to be asked about, and verdicts on the others."""
    ready, settled = [], []
    for case in found:
        why = panel.judge.why_not(case)
        if why is None:
            ready.append(case)
        else:
            settled.append(_unscored_verdict(panel, case, why))
    return ready, settled


async def judge_all(
    panel: Panel,
    ready: Sequence[Case],
    *,
    tally: AskTally,
    keep: Callable[[Verdict], None],
    told: Callable[[int], None] | None = None,
) -> None:
    """
    Judge every case of *ready* and hand each verdict to *keep* as soon as it is there.

    Failures of the endpoints become reasons in the verdicts. *told* learns how many cases are done.

    Raises:
        RunStoppedError: a voter refuses our key and has answered nothing yet.
    """
    source: Iterator[Case] = iter(ready)
    cache = DiskCache(panel.cache)
    asker = Asker(panel.name, panel.patience, cache, tally)

    def count(verdict: Verdict) -> None:
        keep(verdict)
        tally.verdicts += 1
        tally.unscored += all(isinstance(value, Unscored) for value in verdict.values.values())
        if told:
            told(tally.verdicts)

    async def keep_judging() -> None:
        for case in source:
            count(await judge_case(panel, case, asker))

    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(open_endpoints(panel.voters))
        except AdapterError as error:
            tally.gave_up(str(error))
            for case in source:
                count(_unscored_verdict(panel, case, ask_failure(error)))
            return
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(min(panel.concurrency, len(ready))):
                    tasks.create_task(keep_judging())
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from group.exceptions[0].__cause__ or group
        finally:
            tally.problems += [cache.problem] if cache.problem else []


def _unscored_verdict(panel: Panel, case: Case, why: Unscored) -> Verdict:
    return Verdict(case=case, values={output.name: why for output in panel.judge.outputs})


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
    for voter, repeat, planned in _plan_asks(panel, ready):
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


def _plan_asks(panel: Panel, ready: Sequence[Case]) -> Iterator[tuple[Model, int, PlannedAsk]]:
    for case in ready:
        try:
            planned = panel.judge.plan(case)
        except PromptError:  # nothing is asked about a case whose prompt can't be filled in
            continue
        for repeat in range(panel.repeats):
            for voter in panel.voters:
                for ask in planned:
                    yield voter, repeat, ask
