"""This program as a part of a Ray cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from replay.core.cancelling import in_thread
from replay.core.errors import InputError
from replay.scenario.cluster_section import ClusterSection

NEEDED = 'runs on a cluster take Ray: pip install "convreplay[ray]"'


@asynccontextmanager
async def connected(section: ClusterSection) -> AsyncIterator[None]:
    """
    Connected with the cluster of *section* for as long as the block lasts.

    A program that is connected already stays so.

    Raises:
        InputError: Ray is not installed, or there is no such cluster.
    """
    connection = connected_here(section)
    await in_thread(connection.__enter__)
    try:
        yield
    finally:
        await in_thread(connection.__exit__, None, None, None)


@contextmanager
def connected_here(section: ClusterSection) -> Iterator[None]:
    """The same, for a caller that may block."""
    try:
        import ray
    except ImportError as error:
        raise InputError(f"cluster: {NEEDED}") from error
    if ray.is_initialized():
        yield
        return
    _connect(section.address)
    try:
        yield
    finally:
        ray.shutdown()


def _connect(address: str) -> None:
    import ray

    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    # The last where a token is wanted here and there is none. A wrong one is told from a cluster that isn't
    # there by what Ray's core prints alone.
    except (ConnectionError, RuntimeError, ValueError, TimeoutError, ray.exceptions.RayError) as error:
        raise InputError(
            f'cluster.address: "{address}" can\'t be reached: {error}; start a cluster with '
            "`ray start --head`, or name its head as ray://HOST:10001; where it asks for a token, "
            "RAY_AUTH_MODE and RAY_AUTH_TOKEN have to be set here as well"
        ) from error
