"""
A run's spans, sent while it is played.

Who makes and sends them is found by its entry point (group ``replay.telemetry``): nothing below the
integrations knows of OpenTelemetry. It looks into the run's database from a thread of its own.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from time import time
from typing import IO, Protocol, cast

from replay.core.errors import PluginError, ReplayError, RunError, writing
from replay.core.lifetimes import in_thread
from replay.core.logs import log_event
from replay.scenario.combinations import OTEL_NEEDED
from replay.scenario.reading import ScenarioFile
from replay.scenario.sections import sample_of, telemetry_addresses

LOOK_EVERY_S = 1.0
LAST_WAIT_S = 3.0
"""For how long the end of a run waits for a collector that has taken nothing yet."""
MOST_WAIT_S = 60.0
"""And for one that takes what it gets, however slowly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """What of a run is exported, and where to."""

    is_sent: bool = False
    """To a collector."""
    endpoint: str | None = None
    """The collector's address; None for the one that the variables name."""
    stream: IO[bytes] | None = None
    """Where to write it; None for nowhere."""
    sample: float = 1.0
    """Share of the plays, in [0, 1]."""
    content: bool = False
    """With questions, answers and explanations."""
    since: float = 0.0
    """Turns of sessions that began then or later, in seconds since 1970."""


class Exporter(Protocol):
    """Sends one run to one place."""

    def poll(self) -> bool:
        """Send what was stored since the last look; returns whether all of it is there."""
        ...

    def give_up(self) -> None:
        """Wait no longer for who has taken nothing yet."""
        ...

    def stop(self) -> None:
        """Wait no longer for anybody."""
        ...

    def finish(self, *, finished: bool) -> str | None:
        """Send what is left, of a *finished* run scores too; a sentence about what could not be sent."""
        ...


def exporters(folder: Path, export: Export) -> list[Exporter]:
    """
    Return the exporters of the run in *folder*, one for each destination of *export*.

    Raises:
        PluginError: OpenTelemetry's SDK is not installed.
    """
    try:
        (entry,) = entry_points(group="replay.telemetry", name="otlp")
        make = cast(Callable[[Path, Export], list[Exporter]], entry.load())
    except (ImportError, ValueError) as error:
        raise PluginError(f"{OTEL_NEEDED} ({error})") from error
    return make(folder, export)


@contextmanager
def exporters_of(folder: Path, file: ScenarioFile, *, since: float = 0.0) -> Iterator[list[Exporter]]:
    """
    Yield the exporters that the scenario *file* asks for, for the run in *folder*; none if it asks for none.

    Args:
        since: Export the turns of sessions that began then or later, in seconds since 1970.

    Raises:
        PluginError: OpenTelemetry's SDK is not installed.
        InputError: the file can't be written.
    """
    section = file.scenario.telemetry
    sent = telemetry_addresses(file.scenario)
    if section is None or not (sent or section.file):
        yield []
        return
    with ExitStack() as stack:
        stream = None
        if section.file is not None:
            path = file.folder / section.file
            with writing(path):
                stream = stack.enter_context(path.open("ab"))
        export = Export(
            is_sent=bool(sent),
            endpoint=section.endpoint,
            stream=stream,
            sample=sample_of(file.scenario),
            content=section.content,
            since=since,
        )
        yield exporters(folder, export)


@asynccontextmanager
async def export_status(folder: Path, file: ScenarioFile, observer: object) -> AsyncIterator[None]:
    """
    Export the run in *folder* during the block: its turns as they come, then its scores.

    At the end, *observer* and the log are told what could not be sent.

    Raises:
        PluginError, InputError: as for ``exporters_of``.
    """
    with exporters_of(folder, file, since=time()) as found:
        if not found:
            yield
            return
        over = threading.Event()
        looking = threading.Thread(target=_keep_looking, args=[found, over], name="telemetry", daemon=True)
        looking.start()
        finished = False
        try:
            yield
            finished = True
        finally:
            over.set()
            # The stream is closed behind it.
            for sentence in await in_thread(_finish, found, looking, finished=finished):
                log_event(logging.WARNING, "spans were not sent", problem=sentence)
                if noticed := getattr(observer, "noticed", None):
                    noticed(sentence)


def _keep_looking(found: Sequence[Exporter], over: threading.Event) -> None:
    while not over.wait(LOOK_EVERY_S):
        for one in found:
            try:
                one.poll()
            except ReplayError as error:
                log_event(logging.WARNING, "spans could not be made", problem=str(error))
                return


def _finish(found: Sequence[Exporter], looking: threading.Thread, *, finished: bool) -> list[str]:
    with _waiting(found):
        looking.join(LAST_WAIT_S)
        for one in found if looking.is_alive() else ():
            one.give_up()
        looking.join()
        return _finish_all(found, finished=finished)


@contextmanager
def _waiting(found: Sequence[Exporter]) -> Iterator[None]:
    """For ``MOST_WAIT_S``; then they are stopped."""

    def stop() -> None:
        for one in found:
            one.stop()

    timer = threading.Timer(MOST_WAIT_S, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _finish_all(found: Sequence[Exporter], *, finished: bool) -> list[str]:
    sentences = [one.finish(finished=finished) for one in found]
    return [sentence for sentence in sentences if sentence]


def send_scores(folder: Path, file: ScenarioFile) -> None:
    """
    Export the scores of the run in *folder*, whose turns have been sent before, as its scenario says.

    What could not be sent is told to the log.

    Raises:
        PluginError: as for ``exporters_of``.
    """
    with exporters_of(folder, file, since=math.inf) as found, _waiting(found):
        for sentence in _finish_all(found, finished=True):
            log_event(logging.WARNING, "scores were not sent", problem=sentence)


def export_run(folder: Path, *, endpoint: str | None, stream: IO[bytes] | None, content: bool) -> None:
    """
    Export all of the run in *folder*, with its scores: to the collector at *endpoint*, and into *stream*.

    Raises:
        PluginError: OpenTelemetry's SDK is not installed.
        RunError: something could not be sent.
    """
    export = Export(is_sent=endpoint is not None, endpoint=endpoint, stream=stream, content=content)
    for sentence in _finish_all(exporters(folder, export), finished=True):
        raise RunError(sentence)
