"""
Plays a run, or a share of it, in this process and into the run's database; and what of it is still to be
played.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, product
from typing import Any, Protocol

from replay.core.adapter import RawReply
from replay.core.asking.limits import CircuitBreaker
from replay.core.load_record import LagSummary
from replay.core.record import Step, TurnPlace
from replay.play.engine import Observer, play_all
from replay.play.event_loop import worst
from replay.play.play import Play
from replay.play.player import PlayOptions, is_over
from replay.policies.policy import reacting
from replay.policies.rewrite import open_policies
from replay.results.play_events import cache_problems, keep_cache_problems, keep_unclosed
from replay.results.rerun_plan import Rerun
from replay.results.run_data import Repeats, repeats_of
from replay.scenario.assembly import Assembly
from replay.scenario.reading import ScenarioFile
from replay.scenario.sections import traces_of
from replay.store.store import RunStore

Part = tuple[int, int]
"""Some conversations: those whose position in the data, divided by the second number, leaves the first."""
ALL: Part = (0, 1)


def turns_left(assembly: Assembly, store: RunStore) -> int:
    """
    Return how many turns have no record in *store* yet; 0 of a finished run.

    Conversations that ended early are counted as if they had gone on, so a run may need fewer.
    """
    lengths = store.conversation_lengths().values()
    asked = len(lengths) if assembly.file.scenario.data.ask == "last" else sum(lengths)
    all_plays = asked * repeats_of(store).times * len(assembly.systems) * len(assembly.policies)
    return max(0, all_plays - store.count_records())


def remaining_plays(
    assembly: Assembly,
    store: RunStore,
    rerun: Rerun | None,
    *,
    part: Part = ALL,
    is_fresh: bool = False,
) -> Iterator[Play]:
    """
    Yield what *store* has no record of, and what *rerun* still has to ask, of one *part* of the data.

    Of a run that *is_fresh* nobody has to look what is there. Round after round of the run's repeats (see
    ``replay.results.run_data`` for why), and in each conversation by conversation, so that their gold side is
    resolved once for all systems and policies.
    """
    is_fresh = is_fresh or is_unplayed(store)
    for play in _plays_of_part(assembly, store, part):
        if is_fresh:
            yield play
        else:
            yield from _resumed_plays(play, assembly, store, rerun)


def is_unplayed(store: RunStore) -> bool:
    """Return whether *store* knows of no turn yet."""
    return store.count_records() == 0 and not store.has_begun_turns()


def open_parts(assembly: Assembly, store: RunStore, rerun: Rerun | None, parts: int) -> list[Part]:
    """Return those of so many *parts* of the conversations of which something is still to be played."""
    is_fresh = is_unplayed(store)

    def is_open(part: Part) -> bool:
        plays = _plays_of_part(assembly, store, part)
        return any(is_fresh or _rest(play, assembly, store, rerun) for play in plays)

    return [part for part in product(range(parts), [parts]) if is_open(part)]


def _plays_of_part(assembly: Assembly, store: RunStore, part: Part) -> Iterator[Play]:
    repeats = repeats_of(store)
    ids = list(islice(store.conversation_lengths(), part[0], None, part[1]))
    for repeat, id in product(range(1, repeats.times + 1), ids):
        yield from _plays(id, repeat, repeats, assembly, store)


def left_of(plays: Sequence[Play], assembly: Assembly, store: RunStore) -> list[Play]:
    """Return the rest of *plays* (of one or several conversations) that was begun and not finished."""
    store.settle()
    rerun = Rerun.pending(store, assembly)
    repeats = repeats_of(store)
    begun = {(play.conversation.id, play.system.name, play.policy_name): play for play in plays}
    conversations = dict.fromkeys((play.source or play.conversation.id, play.repeat) for play in plays)
    return [
        rest
        for id, repeat in conversations
        for play in _plays(id, repeat, repeats, assembly, store)
        if (play.conversation.id, play.system.name, play.policy_name) in begun
        for rest in _resumed_plays(play, assembly, store, rerun)
    ]


def _plays(id: str, repeat: int, repeats: Repeats, assembly: Assembly, store: RunStore) -> Iterator[Play]:
    """Yield the *repeat* of the conversation *id* with each system under each policy, from its beginning."""
    conversation = store.conversation(id)
    for system in assembly.systems:
        for name, policy in assembly.asking.items():
            play = Play(system=system, policy_name=name, policy=policy, conversation=conversation)
            yield repeats.of(play, repeat)


def _resumed_plays(play: Play, assembly: Assembly, store: RunStore, rerun: Rerun | None) -> Iterator[Play]:
    for rest in _rest(play, assembly, store, rerun):
        if rest.records and play.system.adapter.history == "server":
            store.forget(play.conversation.id, play.system.name, play.policy_name)
            yield replace(rest, records=())
        else:
            yield _with_begun_turn(rest, store)


def _rest(play: Play, assembly: Assembly, store: RunStore, rerun: Rerun | None) -> list[Play]:
    place = (play.conversation.id, play.system.name, play.policy_name)
    records = store.records_of(*place)
    if rerun and (again := rerun.plays(play, records)):
        return [replace(one, anew=True) for one in again]
    if store.has_ended(*place) or is_over(play.conversation, records, assembly.file.scenario.play.on_failure):
        return []
    return [replace(play, records=records)]


def _with_begun_turn(play: Play, store: RunStore) -> Play:
    has_steps = play.system.tools is not None or reacting(play.policy) is not None
    if not has_steps or play.system.adapter.history == "server":
        return play
    place = (play.conversation.id, play.system.name, play.policy_name, play.first_depth)
    return replace(play, begun=store.begun_turn(place))


Lags = dict[str, LagSummary]
"""How far the event loop lagged behind, by system."""


async def play_share(
    plays: Iterator[Play],
    assembly: Assembly,
    store: RunStore,
    rerun: Rerun | None,
    observer: Observer | None,
    *,
    concurrency: int,
    started_at: float,
    start: float | None = None,
    breaker: CircuitBreaker | None = None,
) -> Lags:
    """
    Play *plays*, *concurrency* at a time, into *store*, or for *rerun*; the rest as for ``play_all``.

    Raises:
        ReplayError: the run could not go on; what was answered until then is in the store.
    """
    run = store.required_fact("id")
    async with open_policies(assembly.policies.values()):
        lags = await play_all(
            plays,
            play_options(assembly, store, run=run, start=start, started_at=started_at, breaker=breaker),
            systems=assembly.systems,
            sink=rerun or store,
            concurrency=concurrency,
            observer=observer,
        )
    keep_cache_problems(store, cache_problems(assembly.systems))
    return lags


def with_own_resolver(file: ScenarioFile) -> ScenarioFile:
    """Return *file* with drift detected within this process, unless it says more."""
    drift = file.scenario.drift
    if "nlp_workers" in drift.model_fields_set:
        return file
    drift = drift.model_copy(update={"nlp_workers": 0})
    return replace(file, scenario=file.scenario.model_copy(update={"drift": drift}))


class PlayStore(Protocol):
    """Where goes what comes of plays beside their records: the run's database, or the way there."""

    def add_raw(self, reply: RawReply, *, most_bytes: int) -> None: ...

    def write_step(self, place: TurnPlace, number: int, asked: str, step: Step) -> Awaitable[None]: ...

    def add_event(self, kind: str, data: Any) -> None: ...


def play_options(
    assembly: Assembly,
    store: PlayStore,
    *,
    run: str,
    start: float | None,
    started_at: float,
    breaker: CircuitBreaker | None,
) -> PlayOptions:
    """Return how plays of *assembly* are played for the *run* of that id; the rest as for ``PlayOptions``."""
    settings = assembly.file.scenario.play
    return PlayOptions(
        patience=assembly.patience,
        on_failure=settings.on_failure,
        start=start,
        started_at=started_at,
        keep_raw=partial(store.add_raw, most_bytes=settings.raw_limit_bytes),
        keep_step=store.write_step,
        unclosed=partial(keep_unclosed, store.add_event),
        traces=traces_of(assembly.file.scenario, run),
        breaker=breaker,
    )


def worst_lags(shares: Iterable[Mapping[str, LagSummary]]) -> Lags:
    """Return the worst of all *shares* of a run by system, where it is known."""
    lags: dict[str, list[LagSummary]] = {}
    for share in shares:
        for system, lag in share.items():
            lags.setdefault(system, []).append(lag)
    found = {system: worst(lags[system]) for system in sorted(lags)}
    return {system: lag for system, lag in found.items() if lag is not None}
