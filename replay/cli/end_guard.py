"""
The process that ends ``replay`` where it can't do so itself; see ``signals``, which starts it.

It reads its standard input: the stack that faulthandler writes at each signal, a zero byte once the event
loop has heard of it, and the end of all, which is that of the program. Run by its path, without the package.
"""

import os
import select
import signal
import sys
import time
from contextlib import suppress

EACH_STACK = b"most recent call first"
HURRY_S = 1.0
"""So long the program has after a second signal, which its own handler heeds if Python gets to call it."""
SHOWN_FRAMES = 3


def watch(program: int, reaction_s: float, orderly_end_s: float) -> None:
    """Look on until *program* has ended, and see to it that it does once it was told to."""
    signals, said, deadline = 0, b"", None
    counted = 0
    processes: set[tuple[int, str]] = set()
    while True:
        timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([0], [], [], timeout)[0]:
            if signals == 1:
                signals, deadline = 2, time.monotonic() + HURRY_S
                os.kill(program, signal.SIGTERM)
            else:
                deadline = None
                _say(said)
                os.kill(program, signal.SIGKILL)
            continue
        heard = os.read(0, 65_536)
        if not heard:
            break
        said += heard
        came = said.count(EACH_STACK) - counted
        if came:
            counted += came
            signals += came
            processes |= set(_started_by(program))
            deadline = time.monotonic() + (reaction_s if signals == 1 else HURRY_S)
        elif b"\0" in heard and signals == 1:
            deadline = time.monotonic() + orderly_end_s
    if signals > 1:
        for process, started in processes:
            if _stat(process)[19:20] == [started]:
                with suppress(OSError):
                    os.kill(process, signal.SIGKILL)
        if os.isatty(2):
            os.write(2, b"\x1b[?25h")  # the cursor, which the live progress hid


def _say(said: bytes) -> None:
    """Tell the innermost frames of the first stack in *said*: a later signal may come to another thread."""
    stack = b"".join(said.split(EACH_STACK, 2)[1:2])
    where = b"".join(stack.splitlines(keepends=True)[1 : 1 + SHOWN_FRAMES])
    with suppress(OSError):
        os.write(2, b"\nreplay did not end by itself and is killed; it was busy here:\n" + where)


def _started_by(program: int) -> list[tuple[int, str]]:
    """The processes below *program*, each with the time of its start, where /proc tells."""
    found = [program]
    told = {int(name): _stat(int(name)) for name in _listed("/proc") if name.isdecimal()}
    for parent in found:
        found += [process for process, stat in told.items() if stat[1:2] == [str(parent)]]
    return [(process, told[process][19]) for process in found[1:] if process != os.getpid()]


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _stat(process: int) -> list[str]:
    """The fields of /proc/PID/stat behind the name: state, parent, ... and 19 the time of its start."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


if __name__ == "__main__":
    with suppress(OSError):
        os.setsid()
    watch(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
