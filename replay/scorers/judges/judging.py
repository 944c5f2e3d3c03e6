"""
Judges a run's turns: which cases there are, and all of them side by side.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack

from replay.core.asking.retries import open_endpoints
from replay.core.asking.tally import AskTally
from replay.core.conversation import Conversation
from replay.core.disk_cache import DiskCache
from replay.core.errors import AdapterError
from replay.core.record import TurnRecord
from replay.scorers.judges.asking import Asker
from replay.scorers.judges.judge import Case, HistoryShown, Level, ask_failure
from replay.scorers.judges.panel import Panel, Verdict, judge_case
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
            settled.append(_unscored(panel, case, why))
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
                count(_unscored(panel, case, ask_failure(error)))
            return
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(min(panel.concurrency, len(ready))):
                    tasks.create_task(keep_judging())
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from group.exceptions[0].__cause__ or group
        finally:
            tally.problems += [cache.problem] if cache.problem else []


def _unscored(panel: Panel, case: Case, why: Unscored) -> Verdict:
    return Verdict(case=case, values={output.name: why for output in panel.judge.outputs})
