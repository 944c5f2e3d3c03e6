"""Scoring as a stage of Ray Data: what of it is in the cluster, wherever the program is that scores a run."""

from __future__ import annotations

import pickle
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from threading import Condition
from typing import Any, NamedTuple

import replay
from replay.core.errors import PluginError, ReplayError
from replay.core.settings.plugin_bugs import describe_error
from replay.scenario.optional_sections import ClusterSection
from replay.scorers.observing import observe

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
                self.observed(number, one)

    def observed(self, number: int, observed: bytes) -> None:
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
        found = [pickle.dumps(self._observed(one)) for one in batch["records"].to_pylist()]
        return _block(batch["number"].to_pylist(), "observed", found)

    def _observed(self, records: bytes) -> Observed:
        if not records:
            return Observed({})
        try:
            if self._scorers is None:
                self._scorers = self._loaded()
            some = pickle.loads(records)
            return Observed({label: observe(label, one, some) for label, one in self._scorers.items()})
        except ReplayError as error:
            return Observed({}, f"node {_node()}: {error}")

    def _loaded(self) -> Mapping[str, Any]:
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
