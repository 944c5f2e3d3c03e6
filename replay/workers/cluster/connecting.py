"""
This program as a part of a Ray cluster, and what Ray changes of a whole process, put back afterwards.

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
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

from replay.core.errors import InputError
from replay.core.lifetimes import in_thread
from replay.scenario.optional_sections import ClusterSection

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
async def connected(section: ClusterSection) -> AsyncIterator[None]:
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
def connected_here(section: ClusterSection) -> Iterator[None]:
    """Connect as ``connected``, for a caller that may block and has no event loop in its thread."""
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
