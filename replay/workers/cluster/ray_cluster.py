"""
A Ray cluster: this program as a part of it, what Ray changes of a whole process, put back afterwards; and the
cluster's nodes, machines as a rule: what they have, and which versions are installed there.

Importing Ray (2.60) takes over ``sys.excepthook`` and the factory of log records, gives its logger a handler,
puts libraries of its own first on the search path; connecting switches ``faulthandler`` on and sets
``PYTHONBREAKPOINT``. Whoever calls us hasn't asked for any of it.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import sys
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from math import inf
from pathlib import Path
from threading import Thread
from typing import Any, Self

from replay.core.errors import InputError
from replay.core.lifetimes import in_thread
from replay.core.logs import log_event
from replay.core.settings.plugins import KINDS, available
from replay.scenario.sections import ClusterSection, Scenario

NEEDED = 'runs on a cluster take Ray: pip install "convreplay[ray]"'
REACHED_S = 10.0
"""So long it may take until the head's port answers."""
CONNECTED_S = 40.0
"""And until Ray is connected; its own patience with a head that is there and says nothing is longer."""
LONGEST = 400
_VARIABLES = ("PYTHONBREAKPOINT", "RAY_CLIENT_MODE")
_LOGGERS = ("ray", "ray.rllib")
_REASONS = "it may be no head of Ray's, or want another token"


@asynccontextmanager
async def cluster_connection(section: ClusterSection) -> AsyncIterator[None]:
    """
    Connect to the cluster of *section* until the block ends.

    A program that is connected already stays so. What else Ray changes of a process is afterwards as it was.

    Raises:
        InputError: Ray is not installed, or there is no such cluster, or it doesn't let us in.
    """
    with _restored_environment():
        if await in_thread(_is_connected):
            yield
            return
        await _connect_in_time(section.address)
        try:
            yield
        finally:
            await in_thread(_disconnect)


@contextmanager
def cluster_connection_here(section: ClusterSection) -> Iterator[None]:
    """Connect as ``cluster_connection``, for a caller that may block and has no event loop in its thread."""
    with _restored_environment():
        if _is_connected():
            yield
            return
        asyncio.run(_connect_in_time(section.address))
        try:
            yield
        finally:
            _disconnect()


def _is_connected() -> bool:
    """
    Raises:
        InputError: Ray is not installed.
    """
    try:
        with warnings.catch_warnings():
            import ray
    except ImportError as error:
        raise InputError(f"cluster: {NEEDED}") from error
    return bool(ray.is_initialized())


async def _reach(address: str) -> None:
    """
    Make sure that somebody listens at *address*, for whom Ray would wait for minutes.

    Raises:
        InputError: nobody does.
    """
    named = os.environ.get("RAY_ADDRESS", address) if address == "auto" else address
    host, _, port = named.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():
        return
    try:
        async with asyncio.timeout(REACHED_S):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except TimeoutError as error:
        raise _unreachable(named, f"it doesn't answer within {REACHED_S:g} s") from error
    except OSError as error:
        raise _unreachable(named, error.strerror or str(error)) from error
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def _connect_in_time(address: str) -> None:
    """
    Connect; whoever is cancelled meanwhile doesn't wait for it.

    Raises:
        InputError: that is not possible.
    """
    await _reach(address)
    done: Future[None] = Future()

    def connect() -> None:
        error = _connect(address)
        if not done.set_running_or_notify_cancel():
            if error is None:
                _disconnect()
        elif error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    Thread(target=connect, name="connecting with Ray", daemon=True).start()
    try:
        async with asyncio.timeout(CONNECTED_S):
            await asyncio.wrap_future(done)
    except TimeoutError as error:
        raise _unreachable(address, f"{CONNECTED_S:g} s have passed; {_REASONS}") from error
    except InputError:
        raise
    except Exception as error:  # whatever Ray raises
        why = " ".join(str(error).split())[:LONGEST].rstrip(".")
        raise _unreachable(address, f"{why}; {_REASONS}" if "timeout" in why else why) from error


def _connect(address: str) -> Exception | None:
    """Connect to the cluster at *address*; return the error if that fails."""
    import ray

    # Of signal handlers, which are ours; each of several connections says so.
    logger = logging.getLogger("ray")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    except Exception as error:  # noqa: BLE001 - the caller gets it
        return error
    finally:
        logger.setLevel(level)
    return None


def _disconnect() -> None:
    import ray

    ray.shutdown()


def _unreachable(address: str, why: str) -> InputError:
    return InputError(
        f'cluster.address: "{address}" can\'t be reached: {why}; start a cluster with `ray start --head`, or '
        "name its head as ray://HOST:10001; where it asks for a token, RAY_AUTH_MODE and RAY_AUTH_TOKEN have "
        "to be set here as well"
    )


@contextmanager
def _restored_environment() -> Iterator[None]:
    """Leave all that as it was before the use of Ray, within which its logger prints nothing."""
    hook, factory, path = sys.excepthook, logging.getLogRecordFactory(), list(sys.path)
    finds_faults = faulthandler.is_enabled()
    variables = {name: os.environ.get(name) for name in _VARIABLES}
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    logs = [(log, list(log.handlers), log.level, log.propagate) for log in loggers]
    sys.path[:0] = _libraries_of_ray()
    quiet = logging.NullHandler()  # else what nobody handles goes to stderr
    loggers[0].addHandler(quiet)
    try:
        yield
    finally:
        sys.excepthook = hook
        logging.setLogRecordFactory(factory)
        sys.path[:] = path
        if not finds_faults:
            faulthandler.disable()
        for name, value in variables.items():
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})
        for log, handlers, level, propagate in logs:
            log.handlers[:] = handlers
            log.setLevel(level)
            log.propagate = propagate


def _libraries_of_ray() -> list[str]:
    """Find them: Ray looks for them on the search path again and again, and puts them there once."""
    found = find_spec("ray")
    if found is None or found.origin is None:
        return []
    place = str(Path(found.origin).parent / "thirdparty_files")
    return [] if place in sys.path else [place]


LOOKED_UP_S = 60.0
"""So long a node may take to say what it has, which it does in a process that has to be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNode:
    """One that is there."""

    id: str
    name: str
    """For people: its host, its address and the beginning of its id, since a host may have several."""
    resources: Mapping[str, float]
    """All that it has, whoever uses it now."""

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Self | None:
        """Return the one that ``ray.nodes`` *described*; None where it is gone."""
        if not described["Alive"]:
            return None
        id, host, address = (
            described["NodeID"],
            described["NodeManagerHostname"],
            described["NodeManagerAddress"],
        )
        return cls(id=id, name=f"{host} ({address}, {id[:8]})", resources=described["Resources"])

    def room_for(self, needed: Mapping[str, float]) -> float:
        """Return for how many actors it has what each *needed*, if nobody else uses it."""
        fits = (self.resources.get(what, 0) // amount for what, amount in needed.items() if amount)
        return min(fits, default=inf)

    @property
    def has(self) -> str:
        """Its resources, for people."""
        # Ray has resources of its own beside, named for the node's address and kinds of accelerators.
        return list_amounts({what: amount for what, amount in self.resources.items() if ":" not in what})


def nodes_there() -> list[ClusterNode]:
    """Return those that the cluster has now."""
    import ray

    return [node for node in map(ClusterNode.of, ray.nodes()) if node is not None]


def needed_to_play(section: ClusterSection) -> dict[str, float]:
    """Return how much of a node an actor that plays takes."""
    return {"CPU": section.cpus, **section.resources}


def needed_to_score(section: ClusterSection) -> dict[str, float]:
    """Return how much of it an actor takes whose scorers have a model."""
    return {"CPU": section.scoring.cpus, "GPU": section.scoring.gpus, **section.resources}


def list_amounts(amounts: Mapping[str, float]) -> str:
    """Write out *amounts* of resources by name, for people."""
    return ", ".join(f"{what} {amount:g}" for what, amount in sorted(amounts.items()) if amount) or "nothing"


def on_node(node: str) -> Any:
    """Return the strategy by which Ray puts something on the *node* of that id, and nowhere else."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=False)


class NodeVersions:
    """What the nodes of a cluster have installed, of what it takes to play one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._distributions = distributions(scenario)
        self._needed = installed_versions(self._distributions)
        self._same: set[str] = set()
        self._others: set[str] = set()
        self._is_first = True

    async def same(self, nodes: Sequence[ClusterNode]) -> list[ClusterNode]:
        """
        Return those of *nodes* that have the versions which this program has.

        One that has others is refused before anything is played, and left out with a warning where it joins
        later.

        Raises:
            InputError: some have others.
        """
        new = [node for node in nodes if node.id not in self._same | self._others]
        others = [why for why in await asyncio.gather(*map(self._look_up, new)) if why]
        if others and self._is_first:
            raise InputError(f"cluster: {'; '.join(others)}; install the same there, or leave such nodes out")
        for why in others:
            log_event(logging.WARNING, "node left out", reason=why)
        self._is_first = self._is_first and not new
        return [node for node in nodes if node.id in self._same]

    async def _look_up(self, node: ClusterNode) -> str:
        """Say what *node* has otherwise; empty where that is nothing, or not known now."""
        import ray

        look = ray.remote(installed_versions).options(
            num_cpus=0, max_retries=0, scheduling_strategy=on_node(node.id)
        )
        try:
            async with asyncio.timeout(LOOKED_UP_S):
                there = await asyncio.wrap_future(look.remote(self._distributions).future())
        except (TimeoutError, ray.exceptions.RayError):  # lost, perhaps: it is looked up again if it is there
            return ""
        differing = [name for name, version in self._needed.items() if there[name] != version]
        (self._others if differing else self._same).add(node.id)
        if not differing:
            return ""
        has, needed = (
            ", ".join(f"{name} {of[name]}" if of[name] else f"no {name}" for name in differing)
            for of in (there, self._needed)
        )
        return f"node {node.name} has {has}, and this program {needed}"


def _installed_from_anywhere() -> Callable[[Sequence[str]], dict[str, str | None]]:
    """Return the function: as one within another it goes to a node as it is, and not by its name."""

    def installed_versions(distributions: Sequence[str]) -> dict[str, str | None]:
        """Return versions by name, Python's first; None for what is not installed."""
        import sys
        from importlib.metadata import PackageNotFoundError, version

        versions: dict[str, str | None] = {"Python": f"{sys.version_info.major}.{sys.version_info.minor}"}
        for name in distributions:
            try:
                versions[name] = version(name)
            except PackageNotFoundError:
                versions[name] = None
        return versions

    return installed_versions


installed_versions: Callable[[Sequence[str]], dict[str, str | None]] = _installed_from_anywhere()


def distributions(scenario: Scenario) -> list[str]:
    """Return what has to be installed to play *scenario*: this program, Ray, the packages of its plug-ins."""
    content = scenario.model_dump(include={"systems", "policies", "drift", "data"})
    texts = set(_texts(content))
    entries = [entry for kind in KINDS for name, entry in available(kind).items() if name in texts]
    packages = {entry.dist.name for entry in entries if entry.dist is not None}
    return ["convreplay", "ray", *sorted(packages - {"convreplay", "ray"})]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value
