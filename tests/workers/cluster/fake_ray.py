"""
Ray's own functions in place of a cluster: what they are given, and actors that are objects of this process.

A handle's calls are awaited as Ray's are, and an actor can be killed.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest

from replay.workers.cluster import ray_cluster
from tests.waiting import PATIENCE_S, takes


class FakeActor:
    """In place of Ray's handle of an actor: each method of *served* has its ``remote``."""

    def __init__(self, served: Any, delay_s: Callable[[], float] = lambda: 0.0) -> None:
        """Each call, and each answer, is under way for a time that *delay_s* draws."""
        self.served = served
        self._delay_s = delay_s
        self._under_way: set[Future[Any]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._error: Exception | None = None
        self._loop = asyncio.get_running_loop()

    def __getattr__(self, name: str) -> _Remote:
        return _Remote(partial(self._call, name))

    def kill(self, error: Exception | None = None) -> None:
        """As SIGKILL: the calls under way end with *error*, Ray's own if left out, and nothing more comes."""
        from ray.exceptions import ActorDiedError

        if self._error is not None:
            return
        self._error = error or ActorDiedError()
        for task in (self.served._working, *self._tasks):
            if task is not None:
                task.cancel()
        for result in list(self._under_way):
            if not result.cancelled():
                result.set_exception(self._error)
        self._under_way.clear()

    @property
    def is_gone(self) -> bool:
        return self._error is not None

    def _call(self, name: str, *arguments: Any) -> Future[Any]:
        result: Future[Any] = Future()
        if self._error is not None:
            result.set_exception(self._error)
            return result
        self._under_way.add(result)
        task = self._loop.create_task(self._answer(name, arguments, result))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return result

    async def _answer(self, name: str, arguments: tuple[Any, ...], result: Future[Any]) -> None:
        from ray.exceptions import RayTaskError

        await takes(self._delay_s())
        try:
            value, error = await getattr(self.served, name)(*arguments), None
        except Exception as raised:  # noqa: BLE001 - the caller gets it
            value, error = None, RayTaskError(name, str(raised), raised).as_instanceof_cause()
        await takes(self._delay_s())
        self._under_way.discard(result)
        if result.cancelled():
            return
        if error is None:
            result.set_result(value)
        else:
            result.set_exception(error)


class _Remote:
    def __init__(self, call: Callable[..., Future[Any]]) -> None:
        self._call = call

    def remote(self, *arguments: Any) -> _Reference:
        return _Reference(self._call(*arguments))


class _Reference:
    def __init__(self, result: Future[Any]) -> None:
        self._result = result

    def future(self) -> Future[Any]:
        return self._result


class FakeRay:
    """The nodes that there are, and the actors that were started, in that order."""

    def __init__(self) -> None:
        self.actors: list[FakeActor] = []
        self.options: list[Mapping[str, Any]] = []
        """Of each of them."""
        self.full: set[str] = set()
        """Nodes that have no room for an actor: one that is to be there never begins."""
        self.installed: dict[str, dict[str, str | None]] = {}
        """By node, what it has in place of what is here."""
        self.stored: list[Any] = []
        """What was put into the object store."""
        self.given: dict[str, Any] = {}
        """To ``ray.init``."""
        self.is_connected = False
        self._nodes: dict[str, dict[str, Any]] = {}

    def add(self, **resources: float) -> str:
        """Let a node of one CPU join, or of these *resources*; return its id."""
        number = len(self._nodes)
        node = f"{number:056x}"
        where = {"NodeManagerHostname": f"host{number}", "NodeManagerAddress": f"10.0.0.{number}"}
        has = {"CPU": 1.0, **resources}
        self._nodes[node] = {"NodeID": node, "Alive": True, "Resources": has, **where}
        return node

    def remove(self, node: str) -> None:
        """Take *node* away without grace."""
        self._nodes[node]["Alive"] = False
        for actor in self.on(node):
            actor.kill()

    def on(self, node: str) -> list[FakeActor]:
        """Return the actors that were started on *node*."""
        pairs = zip(self.actors, self.options, strict=True)
        return [actor for actor, options in pairs if options["scheduling_strategy"].node_id == node]

    def nodes(self) -> list[dict[str, Any]]:
        return list(self._nodes.values())

    def init(self, **given: Any) -> None:
        self.given = given
        self.is_connected = True

    def shutdown(self) -> None:
        self.is_connected = False

    def is_initialized(self) -> bool:
        return self.is_connected

    def put(self, value: Any) -> Any:
        self.stored.append(value)
        return value

    def kill(self, actor: FakeActor) -> None:
        """From any thread."""
        actor._loop.call_soon_threadsafe(actor.kill)

    def remote(self, made: Any) -> _Made:
        return _Made(self, made)

    def start(self, made: Any, options: Mapping[str, Any], *arguments: Any) -> Any:
        node = options["scheduling_strategy"].node_id
        if not inspect.isclass(made):
            done: Future[Any] = Future()
            done.set_result({**made(*arguments), **self.installed.get(node, {})})
            return _Reference(done)
        delay_s = PATIENCE_S if node in self.full else 0.0
        self.options.append(options)
        actor = FakeActor(made(*arguments), lambda: delay_s)
        self.actors.append(actor)
        if not self._nodes[node]["Alive"]:
            actor.kill()
        return actor


class _Made:
    """What ``ray.remote`` makes of a class of actors, or of a function that is done on a node."""

    def __init__(self, ray: FakeRay, made: Any, options: Mapping[str, Any] | None = None) -> None:
        self._ray = ray
        self._made = made
        self._options = options or {}

    def options(self, **options: Any) -> _Made:
        return _Made(self._ray, self._made, options)

    def remote(self, *arguments: Any) -> Any:
        return self._ray.start(self._made, self._options, *arguments)


def put_in_place(monkeypatch: pytest.MonkeyPatch, *, is_reached: bool = True) -> FakeRay:
    """Have Ray's functions be those, until the test is over; *is_reached* says that each address answers."""
    ray = pytest.importorskip("ray", reason='needs Ray: pip install "convreplay[ray]"')
    fake = FakeRay()

    async def reach(address: str) -> None:
        pass

    if is_reached:
        monkeypatch.setattr(ray_cluster, "_reach", reach)
    for name in ("init", "shutdown", "is_initialized", "nodes", "put", "kill", "remote"):
        monkeypatch.setattr(ray, name, getattr(fake, name))
    return fake
