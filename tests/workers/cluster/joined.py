"""
Nodes of a cluster, and the actors on them, as tasks of this process: all but Ray's part of it, which takes
seconds to start. The wires to them are real (``replay.workers.cluster.transport``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from typing import Any, TypeVar

import pytest

from replay.core.uncancellable import in_thread
from replay.workers.cluster import actor_pool, actors
from replay.workers.cluster.node import Node
from tests.waiting import PATIENCE_S, takes

T = TypeVar("T")


class JoinedActor:
    """In the place of Ray's handle of an actor: each method of *node* has its ``remote``."""

    def __init__(self, node: Any, delay_s: Callable[[], float] = lambda: 0.0) -> None:
        """Each call, and each answer, is under way for a time that *delay_s* draws."""
        self.node = node
        self.name: str | None = None
        self._delay_s = delay_s
        self._under_way: set[Future[Any]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._error: Exception | None = None
        self._loop = asyncio.get_running_loop()

    def __getattr__(self, name: str) -> _Method:
        return _Method(partial(self._called, name))

    def kill(self, error: Exception | None = None) -> None:
        """As SIGKILL: the calls under way end with *error*, Ray's own if left out, and nothing more comes."""
        from ray.exceptions import ActorDiedError

        if self._error is not None:
            return
        self._error = error or ActorDiedError()
        if (playing := self.node._playing) is not None:
            playing.cancel()
        for task in self._tasks:
            task.cancel()
        for one in list(self._under_way):
            if not one.cancelled():
                one.set_exception(self._error)
        self._under_way.clear()

    @property
    def is_gone(self) -> bool:
        return self._error is not None

    def end(self) -> None:
        """The same, from any thread."""
        self._loop.call_soon_threadsafe(self.kill)

    def _called(self, name: str, arguments: tuple[Any, ...]) -> Future[Any]:
        result: Future[Any] = Future()
        if self._error is not None:
            result.set_exception(self._error)
            return result
        self._under_way.add(result)
        task = self._loop.create_task(self._call(name, arguments, result))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return result

    async def _call(self, name: str, arguments: tuple[Any, ...], result: Future[Any]) -> None:
        await takes(self._delay_s())
        try:
            value, error = await getattr(self.node, name)(*arguments), None
        except Exception as raised:  # noqa: BLE001 - the caller gets it
            value, error = None, raised
        await takes(self._delay_s())
        self._under_way.discard(result)
        if error is not None:
            result.set_exception(error)
        elif not result.cancelled():
            result.set_result(value)


class _Method:
    def __init__(self, called: Callable[[tuple[Any, ...]], Future[Any]]) -> None:
        self._called = called

    def remote(self, *arguments: Any) -> _Ref:
        return _Ref(self._called(arguments))


class _Ref:
    def __init__(self, result: Future[Any]) -> None:
        self._result = result

    def future(self) -> Future[Any]:
        return self._result


class JoinedCluster:
    """Such nodes, of one CPU each; an actor of Ray's would be on one of them."""

    def __init__(self, delay_s: Callable[[], float] = lambda: 0.0) -> None:
        self.actors: list[JoinedActor] = []
        """All that were started, in that order."""
        self.full: set[str] = set()
        """Nodes that have no room for an actor: one that is to be there never begins."""
        self.installed: dict[str, dict[str, str | None]] = {}
        """By node, what it has in the place of what is here."""
        self._delay_s = delay_s
        self._numbers = count()
        self._nodes: dict[str, dict[str, Any]] = {}
        self._on: dict[str, list[JoinedActor]] = {}

    def add(self, **more: Any) -> str:
        """A new node's id; *more* is what ``ray.nodes`` says of it in the place of this."""
        number = next(self._numbers)
        node = f"{number:056x}"
        usual = {"NodeManagerHostname": f"host{number}", "NodeManagerAddress": f"10.0.0.{number}"}
        self._nodes[node] = {"NodeID": node, "Alive": True, "Resources": {"CPU": 1.0}, **usual, **more}
        self._on[node] = []
        return node

    def remove(self, node: str) -> None:
        """Without grace."""
        self._nodes[node]["Alive"] = False
        for actor in self._on[node]:
            actor.kill()

    def on(self, node: str) -> list[JoinedActor]:
        """The actors that were started on *node*."""
        return self._on[node]

    def put_in_place(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of Ray, until the test is over."""
        monkeypatch.setattr(actors, "all_nodes", lambda: list(self._nodes.values()))
        monkeypatch.setattr(actors, "new_actor", self._new_actor)
        monkeypatch.setattr(actors, "end_actor", JoinedActor.end)
        monkeypatch.setattr(actors, "for_all_nodes", lambda value: value)
        monkeypatch.setattr(actors, "end_actors", self._end_actors)
        monkeypatch.setattr(actors, "on_node", self._on_node)
        monkeypatch.setattr(actors, "installed_on", self._installed_on)
        monkeypatch.setattr(actor_pool, "connected", _connected)

    async def _installed_on(self, node: str, names: Sequence[str]) -> dict[str, str | None]:
        return {**actors.installed(names), **self.installed.get(node, {})}

    def _new_actor(self, section: object, node: str, name: str | None) -> JoinedActor:
        actor = JoinedActor(Node(), (lambda: PATIENCE_S) if node in self.full else self._delay_s)
        actor.name = name
        self.actors.append(actor)
        self._on[node].append(actor)
        return actor

    def _end_actors(self, run: str) -> None:
        for actor in self.actors:
            if actor.name and actor.name.startswith(f"{run}/"):
                actor.end()

    async def _on_node(self, node: str, do: Callable[..., T], *arguments: Any) -> T | None:
        return await in_thread(do, *arguments) if self._nodes[node]["Alive"] else None


@asynccontextmanager
async def _connected(section: object) -> AsyncIterator[None]:
    yield
