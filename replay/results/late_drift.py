"""
Verdicts on drift that nothing asked depends on: made after the turns, out of the way of the asking.

While a run goes on, each play under such a policy (``pred``) is looked at once it is over, after whatever
else the coreference workers are asked; what is left when all is asked comes then. The run's database says
which turns wait, so that a run that was killed goes on where it stood. Of a load run's turns some are drawn,
enough to know the share of drifted questions well.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from heapq import nsmallest

from replay.core.conversation import Conversation
from replay.core.drift_evidence import Drift
from replay.core.history import PlayedTurn
from replay.core.lifetimes import in_thread
from replay.core.record import TurnRecord
from replay.coreference.service.service import out_of_the_way
from replay.play.event_loop import first_failure, gather_or_cancel
from replay.play.play import Play
from replay.play.turn_record import played_turn, unasked_turn
from replay.policies.policy import Policy, asking
from replay.report.numbers import count_text
from replay.scenario.assembly import Assembly
from replay.store.numbers import (
    PlayLocation,
    count_turns,
    first_waiting_row,
    plays_without_drift,
    turns_under,
)
from replay.store.reader import RunReader
from replay.store.store import RunStore

LATER = "drift-later"
"""The fact of the policies whose verdicts come after their turns."""
SAMPLE = "drift-sample"
"""The fact of how many turns of a load run were drawn, and of how many."""
Told = Callable[[Sequence[Drift], int | None], None]
"""Told of verdicts, and how many plays still wait for theirs; None while the run goes on."""


class LateDrift:
    """Detects drift in turns that were asked without a verdict."""

    def __init__(self, assembly: Assembly, store: RunStore, observer: object = None) -> None:
        self._store = store
        self._told: Told = getattr(observer, "drift_detected", lambda drifts, left: None)
        self.policies: dict[str, Policy] = {
            label: policy for label, policy in assembly.policies.items() if asking(policy) is not policy
        }
        """By label, those whose verdicts come later."""
        if self.policies:
            store.set_fact(LATER, list(self.policies))
        scenario = assembly.file.scenario
        self._asks = assembly.service.asked is not None
        """Whether a model gives the verdicts: asked one by one in each play, as many plays as are played."""
        # Otherwise enough for no worker to wait, and few enough for others not to wait for them.
        self._together = scenario.play.concurrency if self._asks else 2 * max(1, scenario.drift.nlp_workers)
        self._over: deque[PlayLocation] = deque()
        self._news = asyncio.Event()
        self._ending = False

    def played(self, play: Play) -> None:
        """Note that *play* is over."""
        if play.policy_name in self.policies:
            recorded = play.source or play.conversation.id
            self._over.append(
                PlayLocation(recorded, play.conversation.id, play.system.name, play.policy_name)
            )
            self._news.set()

    @asynccontextmanager
    async def beside(self) -> AsyncIterator[None]:
        """
        Detect drift in finished plays while the block plays others; ``rest`` does what is left after it.

        The coreference service has to be open.

        Raises:
            ResolverError: the resolver failed.
        """
        if not self.policies:
            yield
            return
        with first_failure():
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._keep_up())
                yield
                # What is being asked may cost, and comes to its end.
                self._ending = True
                self._news.set()

    async def _keep_up(self) -> None:
        while not self._ending:
            await self._news.wait()
            self._news.clear()
            while self._over and not self._ending:
                some = [self._over.popleft() for _ in range(min(self._together, len(self._over)))]
                for drifts in await gather_or_cancel(self._detect(place, None) for place in some):
                    self._told(drifts, None)

    async def rest(self) -> None:
        """
        Detect drift in all turns that have no verdict yet.

        Raises:
            ResolverError: the resolver failed.
        """
        if self.policies:
            await self._store.flush()
            left = await in_thread(plays_without_drift, self._store, list(self.policies))
            await self._detect_all(dict.fromkeys(left))

    async def sample(self, size: int | None, seed: int) -> None:
        """
        Detect drift in *size* turns of a load run, drawn by *seed*; None is all of them.

        The same turns are drawn if it is called again, and those that have a verdict keep it.

        Raises:
            ResolverError: the resolver failed.
        """
        if self.policies:
            await self._store.flush()
            drawn, of = await in_thread(self._draw_turns, size, seed)
            self._store.set_fact(SAMPLE, {"turns": len(drawn), "of": of})
            depths: dict[PlayLocation, list[int]] = {}
            for place, depth, has_drift in drawn:
                if not has_drift:
                    depths.setdefault(place, []).append(depth)
            await self._detect_all(depths)

    def _draw_turns(self, size: int | None, seed: int) -> tuple[list[tuple[PlayLocation, int, bool]], int]:
        """Return the turns that are drawn, each with whether it has a verdict, and of how many."""
        of = sum(turns for turns, _ in count_turns(self._store, list(self.policies)).values())
        turns = turns_under(self._store, list(self.policies))
        if size is None or size >= of:
            return list(turns), of
        return nsmallest(size, turns, key=lambda turn: _number(seed, *turn[:2])), of

    async def _detect_all(self, waiting: Mapping[PlayLocation, Collection[int] | None]) -> None:
        """Detect drift in the plays in *waiting*: at these depths, or all where None is said."""
        plays, left = iter(waiting.items()), len(waiting)

        async def go_on() -> None:
            nonlocal left
            for place, depths in plays:
                drifts = await self._detect(place, depths)
                left -= 1
                self._told(drifts, left)

        await gather_or_cancel(go_on() for _ in range(self._together))

    async def _detect(self, place: PlayLocation, depths: Collection[int] | None) -> list[Drift]:
        """Detect drift in one play's turns that have no verdict, at *depths* or all, and keep it."""
        conversation, records = await in_thread(self._read, place)
        played = [unasked_turn(turn) for turn in conversation.turns[: conversation.asked_from - 1]]
        waiting: list[tuple[int, tuple[PlayedTurn, ...]]] = []
        for record in records:
            if record.drift is None and (depths is None or record.depth in depths):
                waiting.append((record.depth, tuple(played)))
            played.append(played_turn(conversation, record))
        with out_of_the_way():
            verdicts = (self._verdict(place.policy, conversation, *turn) for turn in waiting)
            drifts = [await one for one in verdicts] if self._asks else await gather_or_cancel(verdicts)
        found = [((*place[1:], depth), drift) for (depth, _), drift in zip(waiting, drifts, strict=True)]
        self._store.add_drift(found)
        return drifts

    async def _verdict(
        self, policy: str, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]
    ) -> Drift:
        drift = (await self.policies[policy].plan(conversation, depth, played)).drift
        assert drift is not None, f"{policy} detects drift"
        return drift

    def _read(self, place: PlayLocation) -> tuple[Conversation, Sequence[TurnRecord]]:
        return self._store.conversation(place.recorded), self._store.records_of(*place[1:])


def _number(seed: int, place: PlayLocation, depth: int) -> bytes:
    """Return a pseudo-random number that depends on *seed* and the turn alone."""
    text = "|".join([str(seed), *place, str(depth)])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


async def detect_sampled(assembly: Assembly, store: RunStore, observer: object = None) -> None:
    """
    Detect drift in turns that *store* has of a load that is over, as many as the scenario says.

    Raises:
        ResolverError: the resolver failed.
    """
    scenario = assembly.file.scenario
    late = LateDrift(assembly, store, observer)
    if late.policies:
        async with assembly.service:
            await late.sample(scenario.drift.load_sample, scenario.seed)


def first_row_without_drift(store: RunReader, after: int) -> int | None:
    """Return the first row after *after* whose turn has no drift verdict yet; None if there is none."""
    return first_waiting_row(store, store.fact(LATER) or [], after)


def late_drift_remarks(store: RunReader) -> list[str]:
    """Return a sentence on the turns that still lack a drift verdict; empty if only a sample is judged."""
    counts = count_turns(store, store.fact(LATER) or [])
    waiting = sum(turns - seen for turns, seen in counts.values())
    if not waiting or store.fact(SAMPLE):
        return []
    way_on = f"`replay resume {store.folder}` goes on with it"
    return [f"{count_text(waiting, 'turn', ('is', 'are'))} still to be looked at for drift; {way_on}."]
