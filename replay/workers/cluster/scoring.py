"""
Scorers that have a model observe, on the nodes of a Ray cluster: a stage of Ray Data, and what feeds it
with slices of a run's records, in the cluster and in the program.
"""

from __future__ import annotations

import pickle
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from threading import Condition, Event
from time import monotonic
from typing import Any, NamedTuple

import replay
from replay.core.errors import PluginError, ReplayError, RunStoppedError
from replay.core.record import TurnRecord
from replay.core.settings.plugin_bugs import describe_error
from replay.scenario.sections import ClusterSection
from replay.scorers.observing import observe
from replay.scorers.scorer import Scorer
from replay.workers.cluster.ray_cluster import (
    cluster_connection_here,
    list_amounts,
    needed_to_score,
    nodes_there,
)

THREADS = 16
"""Of the pipeline's actor: one runs the stage, one waits for the next slice, one for what was observed."""
FETCH_S = 1.0
"""So long the program waits for something before it is given nothing."""


class Observed(NamedTuple):
    """What a stage made of a slice."""

    by_label: Mapping[str, list[Any]]
    error: str | None = None
    """Why there is nothing."""


class Progress(NamedTuple):
    """What a pipeline has to give."""

    actors: int
    """So many of the stage have begun."""
    observed: list[tuple[int, bytes]]
    """Pickles of ``Observed``, by the slice's number."""


def versions() -> str:
    """Return the versions that have to be the same here and on the nodes that scorers are sent to."""
    return f"Python {platform.python_version().rpartition('.')[0]} and convreplay {replay.__version__}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageJob:
    """What the stage does."""

    section: ClusterSection
    actors: int
    scorers: bytes
    """A pickle of them, by label."""
    versions: str
    """Of the program."""


class Pipeline:
    """
    Feeds the stage with slices of records, in the order of their numbers from 0, and keeps what it observed
    until that is fetched. An actor with ``THREADS``.
    """

    def __init__(self, job: StageJob) -> None:
        self._job = job
        self._slices: dict[int, bytes] = {}
        self._end: int | None = None
        self._done: set[int] = set()
        self._actors = 0
        self._observed: list[tuple[int, bytes]] = []
        self._changed = Condition()

    def offer(self, number: int, records: bytes | None) -> None:
        """Offer the slice *number*, a pickle; None if there is none of that number, nor after it."""
        with self._changed:
            if records is None:
                self._end = number
            else:
                self._slices[number] = records
            self._changed.notify_all()

    def slice(self, number: int) -> bytes | None:
        """
        Return the slice offered under *number*, waiting until it is known; None for an end.

        A slice that is done with is empty: Ray may ask for all of them again if it lost a process of its own.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_known(number))
            return b"" if number in self._done else self._slices.get(number)

    def _is_known(self, number: int) -> bool:
        # Calls may overtake each other: the end may be known before the last slices are.
        return number in self._slices or number in self._done or number == self._end

    def joined(self) -> None:
        """Count one more actor of the stage."""
        with self._changed:
            self._actors += 1

    def progress(self) -> Progress:
        """Return what was observed since the last call, waiting up to ``FETCH_S`` seconds for something."""
        with self._changed:
            self._changed.wait_for(lambda: self._observed, FETCH_S)
            observed, self._observed = self._observed, []
            return Progress(self._actors, observed)

    def run(self) -> None:
        """Return when all that was offered is observed."""
        import ray

        for batch in _dataset(self._job, ray.get_runtime_context().current_actor).iter_batches(
            batch_size=None, prefetch_batches=0, batch_format="pyarrow"
        ):
            for number, one in zip(batch["number"].to_pylist(), batch["observed"].to_pylist(), strict=True):
                self.keep_observations(number, one)

    def keep_observations(self, number: int, observed: bytes) -> None:
        """Keep *observed*, which is of the slice of that *number*."""
        with self._changed:
            if number not in self._done:
                self._done.add(number)
                del self._slices[number]
                self._observed.append((number, observed))
                self._changed.notify_all()


def _dataset(job: StageJob, pipeline: Any) -> Any:
    """Return a Ray data set of the observations: a pickled ``Observed`` for each slice of *pipeline*."""
    import ray
    import ray.data
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    # Ray joins small blocks, and would wait for slices to join while the stage has nothing to do.
    context.target_max_block_size = context.target_min_block_size = 1
    section, here = job.section, ray.get_runtime_context().get_node_id()
    return ray.data.read_datasource(
        _source(pipeline),
        override_num_blocks=1,
        ray_remote_args={
            "num_cpus": 0,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(here, soft=False),
        },
    ).map_batches(
        Stage,
        fn_constructor_args=(job, pipeline),
        batch_size=1,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=job.actors),
        num_cpus=section.scoring.cpus,
        num_gpus=section.scoring.gpus,
        resources=section.resources,
    )


def _source(pipeline: Any) -> Any:
    """Return a source of Ray Data: one task that reads slice after slice, as fast as the stage takes them."""
    from ray.data import Datasource, ReadTask
    from ray.data.block import BlockMetadata

    class Slices(Datasource):  # type: ignore[misc]
        def estimate_inmemory_data_size(self) -> int | None:
            return None

        def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[Any]:
            unknown = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
            return [ReadTask(lambda: _read(pipeline), unknown)]

    return Slices()


def _read(pipeline: Any) -> Iterator[Any]:
    import ray

    for number in count():
        records = ray.get(pipeline.slice.remote(number))
        if records is None:
            return
        yield _block([number], "records", [records])


def _block(numbers: list[int], name: str, values: list[bytes]) -> Any:
    """Return a block of Ray Data: for each slice a row."""
    import pyarrow as pa  # type: ignore[import-untyped]

    return pa.table({"number": numbers, name: pa.array(values, pa.binary())})


class Stage:
    """An actor of the stage: has the scorers, and with their first turns the models."""

    def __init__(self, job: StageJob, pipeline: Any) -> None:
        self._job = job
        self._scorers: Mapping[str, Any] | None = None
        pipeline.joined.remote()

    def __call__(self, batch: Any) -> Any:
        found = [pickle.dumps(self._observe(one)) for one in batch["records"].to_pylist()]
        return _block(batch["number"].to_pylist(), "observed", found)

    def _observe(self, records: bytes) -> Observed:
        if not records:
            return Observed({})
        try:
            if self._scorers is None:
                self._scorers = self._load_scorers()
            some = pickle.loads(records)
            return Observed({label: observe(label, one, some) for label, one in self._scorers.items()})
        except ReplayError as error:
            return Observed({}, f"node {_node()}: {error}")

    def _load_scorers(self) -> Mapping[str, Any]:
        if versions() != self._job.versions:
            raise PluginError(
                f"it has {versions()}, this program {self._job.versions}; install the same on both"
            )
        try:
            scorers: Mapping[str, Any] = pickle.loads(self._job.scorers)
        except Exception as error:
            raise PluginError(
                f"a scorer can't be read there: {describe_error(error)}; "
                "install what it imports on every node"
            ) from error
        return scorers


def _node() -> str:
    import ray

    return str(ray.util.get_node_ip_address())


AHEAD = 4
"""Slices that are under way for each actor, so that it never waits for the next one."""


def observed_there(
    section: ClusterSection,
    scorers: Mapping[str, Scorer[Any]],
    parts: Iterator[list[TurnRecord]],
    stop: Event | None = None,
) -> Iterator[tuple[list[TurnRecord], Mapping[str, list[Any]]]]:
    """
    Yield parts of a run with the observations that *scorers* make of them on the cluster, as they arrive.

    Args:
        section: The scenario's ``cluster`` section.
        scorers: Scorers by label.
        parts: Slices of the run's records, taken one by one, a few more than there are actors, so that little
            of a large run is in memory.
        stop: Ends the iteration early once it is set.

    Yields:
        The records of one part, and their observations by label.

    Raises:
        InputError: the cluster can't be reached.
        PluginError: a scorer fails, or can't be had on a node.
        RunStoppedError: no node has room, or the one that feeds the others was lost.
    """
    import ray

    with cluster_connection_here(section):
        actors = section.scoring.actors or max(1, _fit_nodes(section))
        job = StageJob(section=section, actors=actors, scorers=_pack_scorers(scorers), versions=versions())
        options = {"num_cpus": 0, "max_restarts": 0, "max_concurrency": THREADS}
        pipeline = ray.remote(Pipeline).options(**options).remote(job)
        try:
            yield from _run_pipeline(pipeline, job, parts, stop)
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None) or error  # of an error in an actor: what it was there
            raise RunStoppedError(f"scoring on the cluster stopped: {_first_line(cause)}") from error
        finally:
            ray.kill(pipeline)


def _run_pipeline(
    pipeline: Any, job: StageJob, parts: Iterator[list[TurnRecord]], stop: Event | None
) -> Iterator[tuple[list[TurnRecord], Mapping[str, list[Any]]]]:
    import ray

    running = pipeline.run.remote()
    under_way: dict[int, list[TurnRecord]] = {}
    numbers, begun, is_all = count(), monotonic(), False
    while not (is_all and not under_way):
        while not is_all and len(under_way) < AHEAD * job.actors:
            number, records = next(numbers), next(parts, None)
            is_all = records is None
            if records is not None:
                under_way[number] = records
            pipeline.offer.remote(number, None if records is None else pickle.dumps(records))
        if ray.wait([running], timeout=0)[0]:
            ray.get(running)  # raises why, since not all is observed
        progress = ray.get(pipeline.progress.remote())
        for number, packed in progress.observed:
            yield under_way.pop(number), _unpack(packed)
        if stop and stop.is_set():
            return
        if not progress.actors and monotonic() - begun > job.section.wait_s:
            raise RunStoppedError(_no_room(job.section))


def _unpack(packed: bytes) -> Mapping[str, list[Any]]:
    observed: Observed = pickle.loads(packed)
    if observed.error is not None:
        raise PluginError(observed.error)
    return observed.by_label


def _pack_scorers(scorers: Mapping[str, Scorer[Any]]) -> bytes:
    """
    Return *scorers* as a pickle that can be read without their own files.

    Raises:
        PluginError: one can't be pickled.
    """
    import ray

    with ExitStack() as files:
        for name, module in list(sys.modules.items()):
            if name.startswith("_replay_user_"):
                files.enter_context(_by_value(module))
        for label, scorer in scorers.items():
            try:
                ray.cloudpickle.dumps(scorer)
            except Exception as error:
                raise PluginError(
                    f'scorer "{label}" can\'t travel to the nodes of the cluster: {describe_error(error)}; '
                    "let it load what can't be pickled in observe"
                ) from error
        packed: bytes = ray.cloudpickle.dumps(dict(scorers))
    return packed


@contextmanager
def _by_value(module: Any) -> Iterator[None]:
    import ray

    ray.cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        ray.cloudpickle.unregister_pickle_by_value(module)


def _fit_nodes(section: ClusterSection) -> int:
    """Return the number of nodes with room for a scoring actor."""
    needed = needed_to_score(section)
    return sum(node.room_for(needed) >= 1 for node in nodes_there())


def _no_room(section: ClusterSection) -> str:
    needed, fit = list_amounts(needed_to_score(section)), _fit_nodes(section)
    why = "none has that" if not fit else f"{fit} have that, and others use it"
    return (
        f"no node of the cluster had room for a scorer within {section.wait_s:g} s: it takes {needed}, and "
        f"{why}; see cluster.scoring and cluster.resources, or score here with `replay score --on here`"
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
