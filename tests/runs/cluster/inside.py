"""Ray in the place of a cluster: actors that are objects of this process, on nodes that are made up."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import pytest

GIB = 2**30


class InsideRay:
    """The nodes that there are, and the actors that were started, in that order."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.actors: list[InsideActor] = []
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


class InsideActor:
    """An actor, with its handle; its methods run on this loop, with copies of what they are given."""

    def __init__(self, made: Any, options: Mapping[str, Any]) -> None:
        self.options = options
        self._made = made
        self._under_way: dict[asyncio.Task[None], concurrent.futures.Future[Any]] = {}
        self.is_killed = False

    def __getattr__(self, name: str) -> Any:
        return _Method(self, name)

    def called(self, name: str, arguments: tuple[Any, ...]) -> concurrent.futures.Future[Any]:
        from ray.exceptions import RayActorError

        done: concurrent.futures.Future[Any] = concurrent.futures.Future()
        if self.is_killed:
            done.set_exception(RayActorError())
            return done
        copies = pickle.loads(pickle.dumps(arguments))
        task = asyncio.get_running_loop().create_task(self._call(done, name, copies))
        self._under_way[task] = done
        task.add_done_callback(self._under_way.pop)
        return done

    async def _call(
        self, done: concurrent.futures.Future[Any], name: str, arguments: tuple[Any, ...]
    ) -> None:
        from ray.exceptions import RayTaskError

        try:
            found = getattr(self._made, name)(*arguments)
            value = await found if inspect.isawaitable(found) else found
        except Exception as error:  # noqa: BLE001 - as Ray does
            _settle(done, error=RayTaskError(name, str(error), error))
        else:
            _settle(done, pickle.loads(pickle.dumps(value)))

    def kill(self) -> None:
        """As where its node is lost: what is under way fails, and nothing more is done."""
        from ray.exceptions import RayActorError

        self.is_killed = True
        for task, done in list(self._under_way.items()):
            task.cancel()
            _settle(done, error=RayActorError())
        if playing := getattr(self._made, "_playing", None):
            playing.cancel()


def _settle(done: concurrent.futures.Future[Any], value: Any = None, error: Exception | None = None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(value)
    else:
        done.set_exception(error)


class _Method:
    def __init__(self, actor: InsideActor, name: str) -> None:
        self._actor = actor
        self._name = name

    def remote(self, *arguments: Any) -> _Reference:
        return _Reference(self._actor.called(self._name, arguments))


class _Reference:
    def __init__(self, done: concurrent.futures.Future[Any]) -> None:
        self._done = done

    def future(self) -> concurrent.futures.Future[Any]:
        return self._done


def ray_inside(monkeypatch: pytest.MonkeyPatch) -> InsideRay:
    """From now on Ray is made of objects of this process."""
    ray = pytest.importorskip("ray", reason='needs Ray: pip install "convreplay[ray]"')
    inside = InsideRay()

    def remote(made: Callable[[], Any]) -> Any:
        class Actor:
            def __init__(self, options: Mapping[str, Any]) -> None:
                self._options = options

            @classmethod
            def options(cls, **options: Any) -> Actor:
                return cls(options)

            def remote(self, *arguments: Any) -> InsideActor:
                inside.actors.append(InsideActor(made(*arguments), self._options))
                return inside.actors[-1]

        return Actor

    monkeypatch.setattr(ray, "init", inside.init)
    monkeypatch.setattr(ray, "shutdown", inside.shutdown)
    monkeypatch.setattr(ray, "is_initialized", lambda: inside.is_connected)
    monkeypatch.setattr(ray, "nodes", lambda: inside.nodes)
    monkeypatch.setattr(ray, "remote", remote)
    monkeypatch.setattr(ray, "kill", lambda actor: actor.kill())
    return inside
