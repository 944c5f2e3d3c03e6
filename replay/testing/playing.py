"""Plays a conversation in memory: the real player, without a scenario, a database or a wait."""

from __future__ import annotations

from collections.abc import Sequence

from replay.core.adapter import Adapter
from replay.core.asking.retries import RetryPolicy
from replay.core.conversation import Conversation
from replay.core.record import TurnRecord
from replay.play.play import Play, System
from replay.play.player import Player, PlayOptions
from replay.play.tool_results import Tools
from replay.play.turn_record import OnFailure
from replay.policies.policy import Policy
from replay.testing.fake_clock import FakeClock


class Recorded:
    """A sink in memory; every record is "durable" at once."""

    def __init__(self) -> None:
        self.records: list[TurnRecord] = []

    async def write(self, record: TurnRecord) -> None:
        self.records.append(record)


async def play(
    system: Adapter,
    policy: Policy,
    conversation: Conversation,
    *,
    patience: RetryPolicy | None = None,
    on_failure: OnFailure = "stop",
    records: Sequence[TurnRecord] = (),
    clock: FakeClock | None = None,
    tools: Tools | None = None,
) -> list[TurnRecord]:
    """
    Play *conversation* with *system* under *policy* as a run would, and return the new records.

    Args:
        patience: Deadline and retries; the deadline is in real time.
        records: The turns that were played before, after which it goes on.
        clock: Waits before retries pass on it. The default moves on by a second at each reading.
        tools: The tools that the system may call.

    Raises:
        ResolverError: drift could not be detected.
        RunStoppedError: the system refuses our key, or failed too often in a row.
    """
    sink, clock = Recorded(), clock or FakeClock(step_s=1.0)
    options = PlayOptions(
        patience=patience or RetryPolicy(), on_failure=on_failure, clock=clock, start=0.0, sleep=clock.sleep
    )
    player = Player(sink, options)
    await player.play(
        Play(
            system=System(name="fake", adapter=system, tools=tools),
            policy_name=policy.signature.partition("|")[0],
            policy=policy,
            conversation=conversation,
            records=tuple(records),
        )
    )
    return sink.records
