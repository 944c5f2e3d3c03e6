"""This program as a part of a Ray cluster: who can't be reached is said soon."""

from __future__ import annotations

import asyncio
import builtins
import socket
import threading

import pytest

from replay.core.errors import InputError
from replay.scenario.sections import ClusterSection
from replay.workers.cluster import ray_cluster
from replay.workers.cluster.ray_cluster import cluster_connection
from tests.waiting import until_async
from tests.workers.cluster.fake_ray import FakeRay, put_in_place


@pytest.fixture
def ray(monkeypatch) -> FakeRay:
    return put_in_place(monkeypatch, is_reached=False)


@pytest.fixture
def silent():
    """The address of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


async def connect(address: str) -> None:
    async with cluster_connection(ClusterSection(address=address)):
        pass


@pytest.mark.parametrize("scheme", ["", "ray://"])
async def test_where_nobody_listens_is_said_at_once(ray, scheme):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"{scheme}127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(
        InputError, match=f'cluster.address: "{address}" can\'t be reached: .*start a cluster with'
    ):
        await connect(address)
    assert not ray.given


async def test_this_machine_s_cluster_is_where_the_variable_says(ray, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(InputError, match=f'"{address}" can\'t be reached'):
        await connect("auto")


async def test_a_host_that_does_not_answer_is_waited_for_so_long(ray, monkeypatch):
    async def never(*_):
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio, "open_connection", never)
    monkeypatch.setattr(ray_cluster, "REACHED_S", 0.02)
    with pytest.raises(InputError, match=r"doesn't answer within 0\.02 s"):
        await connect("ray://10.255.255.1:10001")


class Stuck:
    """``ray.init`` with a head that says nothing: it comes to nothing for minutes."""

    def __init__(self, ray: FakeRay) -> None:
        self._ray = ray
        self.began = threading.Event()
        self.let_through = threading.Event()

    def init(self, **given) -> None:
        self.began.set()
        self.let_through.wait()
        self._ray.init(**given)


@pytest.fixture
def stuck(ray, monkeypatch):
    made = Stuck(ray)
    monkeypatch.setattr("ray.init", made.init)
    yield made
    made.let_through.set()
    for thread in threading.enumerate():
        if thread.name == "connecting with Ray":
            thread.join()


async def test_a_head_that_says_nothing_is_waited_for_so_long(ray, stuck, silent, monkeypatch):
    monkeypatch.setattr(ray_cluster, "CONNECTED_S", 0.02)
    with pytest.raises(
        InputError, match=r"0\.02 s have passed; it may be no head of Ray's, or want another token"
    ):
        await connect(silent)


async def test_who_gives_up_meanwhile_waits_no_longer_and_is_not_connected_later(
    ray, stuck, silent, monkeypatch
):
    ended = threading.Event()
    monkeypatch.setattr("ray.shutdown", ended.set)
    task = asyncio.create_task(connect(silent))
    await until_async(stuck.began.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    stuck.let_through.set()
    await until_async(ended.is_set)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            RuntimeError(
                "Version mismatch: The cluster was started with:\n    Ray: 2.9.0\n    Python: 3.9.1"
            ),
            "Version mismatch: The cluster was started with: Ray: 2.9.0 Python: 3.9.1; start",
        ),
        (ConnectionError("Could not find any running Ray instance."), "any running Ray instance; start a"),
        (
            ConnectionError("ray client connection timeout"),
            "timeout; it may be no head of Ray's, or want another token",
        ),
    ],
)
async def test_what_ray_says_is_one_sentence(ray, silent, monkeypatch, error, said):
    def refuse(**_):
        raise error

    monkeypatch.setattr("ray.init", refuse)
    with pytest.raises(InputError) as raised:
        await connect(silent)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


async def test_without_ray_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *more):
        if name == "ray":
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r'take Ray: pip install "convreplay\[ray\]"'):
        await connect("auto")


async def test_a_program_that_is_connected_stays_so(ray):
    ray.init(address="its own")
    async with cluster_connection(ClusterSection(address="ray://head:10001")):
        assert ray.given == {"address": "its own"}
    assert ray.is_connected
