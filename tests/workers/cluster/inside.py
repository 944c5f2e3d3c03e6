"""Ray's own functions in the place of a cluster: what they are given, and actors that are joined here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from replay.workers.cluster import actors, connecting
from tests.workers.cluster.joined import JoinedActor

GIB = 2**30


class InsideRay:
    """The nodes that there are, and the actors that were started, in that order."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.actors: list[JoinedActor] = []
        self.options: list[Mapping[str, Any]] = []
        """Of each of them."""
        self.given: dict[str, Any] = {}
        """To ``ray.init``."""
        self.is_connected = False

    def add_node(self, name: str, **resources: float) -> None:
        has = {"CPU": 1.0, "memory": 4.0 * GIB, **resources}
        where = {"NodeManagerAddress": name, "NodeManagerHostname": name}
        self.nodes.append({"NodeID": name, "Alive": True, "Resources": has, **where})

    def init(self, **given: Any) -> None:
        self.given = given
        self.is_connected = True

    def shutdown(self) -> None:
        self.is_connected = False

    def remote(self, made: Any) -> _ActorClass | _Task:
        return _ActorClass(self, made) if inspect.isclass(made) else _Task(made)


class _ActorClass:
    def __init__(self, inside: InsideRay, made: Any, options: Mapping[str, Any] | None = None) -> None:
        self._inside = inside
        self._made = made
        self._options = options or {}

    def options(self, **options: Any) -> _ActorClass:
        return _ActorClass(self._inside, self._made, options)

    def remote(self, *arguments: Any) -> JoinedActor:
        self._inside.options.append(self._options)
        self._inside.actors.append(JoinedActor(self._made(*arguments)))
        return self._inside.actors[-1]


class _Task:
    """A function that is done on a node."""

    def __init__(self, do: Callable[..., Any]) -> None:
        self._do = do

    def options(self, **options: Any) -> _Task:
        return self

    def remote(self, *arguments: Any) -> _Done:
        return _Done(self._do(*arguments))


class _Done:
    def __init__(self, value: Any) -> None:
        self._value = value

    def future(self) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(self._value)
        return done


def ray_inside(monkeypatch: pytest.MonkeyPatch, *, is_reached: bool = True) -> InsideRay:
    """From now on Ray is that; *is_reached* says that each address answers."""
    ray = pytest.importorskip("ray", reason='needs Ray: pip install "convreplay[ray]"')
    inside = InsideRay()

    async def reach(address: str) -> None:
        pass

    async def installed_on(node: str, names: Sequence[str]) -> dict[str, str | None]:
        return actors.installed(names)

    monkeypatch.setattr(actors, "installed_on", installed_on)
    if is_reached:
        monkeypatch.setattr(connecting, "_reach", reach)
    for name in ("init", "shutdown", "remote"):
        monkeypatch.setattr(ray, name, getattr(inside, name))
    monkeypatch.setattr(ray, "is_initialized", lambda: inside.is_connected)
    monkeypatch.setattr(ray, "nodes", lambda: inside.nodes)
    monkeypatch.setattr(ray, "put", lambda value: value)
    monkeypatch.setattr(ray, "kill", JoinedActor.end)
    monkeypatch.setattr(ray.util, "list_named_actors", lambda all_namespaces: [])
    return inside
