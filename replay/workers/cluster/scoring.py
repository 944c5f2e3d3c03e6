"""Scorers that have a model observe, on the nodes of a Ray cluster."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import count
from threading import Event
from time import monotonic
from typing import Any

from replay.core.errors import PluginError, RunStoppedError
from replay.core.record import TurnRecord
from replay.core.settings.plugin_bugs import describe_error
from replay.scenario.optional_sections import ClusterSection
from replay.scorers.scorer import Scorer
from replay.workers.cluster.connecting import connected_here
from replay.workers.cluster.nodes import list_amounts, needed_to_score, nodes_there
from replay.workers.cluster.scoring_stage import THREADS, Observed, Pipeline, StageJob, versions

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

    with connected_here(section):
        actors = section.scoring.actors or max(1, _fit_nodes(section))
        job = StageJob(section=section, actors=actors, scorers=_packed(scorers), versions=versions())
        options = {"num_cpus": 0, "max_restarts": 0, "max_concurrency": THREADS}
        pipeline = ray.remote(Pipeline).options(**options).remote(job)
        try:
            yield from _observed(pipeline, job, parts, stop)
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None) or error  # of an error in an actor: what it was there
            raise RunStoppedError(f"scoring on the cluster stopped: {_first_line(cause)}") from error
        finally:
            ray.kill(pipeline)


def _observed(
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
            yield under_way.pop(number), _unpacked(packed)
        if stop and stop.is_set():
            return
        if not progress.actors and monotonic() - begun > job.section.wait_s:
            raise RunStoppedError(_no_room(job.section))


def _unpacked(packed: bytes) -> Mapping[str, list[Any]]:
    observed: Observed = pickle.loads(packed)
    if observed.error is not None:
        raise PluginError(observed.error)
    return observed.by_label


def _packed(scorers: Mapping[str, Scorer[Any]]) -> bytes:
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
