"""
A process that plays a part of a run: ``python -m replay.runs.processes.child_main MODULE FD``.

It has an event loop and coreference of its own, and no database: records go to the parent, which says when
they are durable. It ends when the parent tells it to, or is gone.
"""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from importlib import import_module

from replay.core.logs import configure_from_environment
from replay.core.terminal import guard_streams
from replay.play.event_loop import run_on_loop
from replay.play.first_failure import first_failure
from replay.runs.processes.child import Job
from replay.runs.processes.line import Line, Wire
from replay.runs.processes.parent import Parent
from replay.runs.processes.socket_wire import SocketWire

Arranged = Callable[[Job, Line], AbstractContextManager[Job]]
"""Around the work: the job as it is to be done here."""


async def serve_parent(
    module: str, wire: Wire, arranged: Arranged = lambda job, line: nullcontext(job)
) -> None:
    """Do what the parent at the other end of *wire* wants, by ``work`` in *module*."""
    line = Line(wire, gone="the program that started this one is gone")
    with closing(line):
        number, job = await line.first_call()
        if job is None:
            return
        parent = Parent(line, number)
        try:
            with first_failure(), arranged(job, line) as here:
                await import_module(module).work(here, parent)
        except Exception as error:  # noqa: BLE001 - the parent gets it
            line.refuse(parent.awaited, error)
        else:
            line.answer(parent.awaited, parent.result)
        await line.finish()


async def _serve(module: str, end: socket.socket) -> None:
    await serve_parent(module, await SocketWire.of(end))


def main() -> None:
    """Entry point."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    guard_streams()
    configure_from_environment()
    module, end = sys.argv[1:]
    run_on_loop(_serve(module, socket.socket(fileno=int(end))))


if __name__ == "__main__":
    main()
