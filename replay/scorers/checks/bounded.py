"""
Calls that are bounded in time and memory, made in a process of their own.

A schema, an expression or a pattern of the data may keep a library at work over an answer for ever, or until
no memory is left, be it written in Python, C or Rust. No thread can be stopped at that; a process can. So
there is one that makes such calls, one at a time. It ends itself where a call needs more than ``LIMIT_S`` or
``LIMIT_GIB``, and is started again for the next one. The time is that of computing, so that a busy machine
leaves a check as much as an idle one.

A call and its result are a line of JSON each: through a pool of loky's it takes 1.4 ms, and so 0.2.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from threading import Lock
from typing import Any

LIMIT_S = 2.0
LIMIT_GIB = 1
_READY = b"ready\n"
"""The first line of the process, before any answer."""


class FailedCallError(Exception):
    """A call that gave no result: *reason* in a few words, and what an exception said beside its name."""

    def __init__(self, reason: str, message: str | None = None) -> None:
        super().__init__(reason if message is None else f"{reason}: {message}")
        self.reason: str = reason
        self.message: str | None = message


class BoundedProcess:
    """The process that makes the calls; started with the first one."""

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        """Each call may compute for *limit_s* seconds."""
        self._limit_s = limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """
        Call a module's *function* with *arguments*, JSON values, in the process.

        Returns:
            What it returned, as JSON has it: a tuple as a list.

        Raises:
            FailedCallError: it raised an exception, needed more than there is, or could not be tried.
        """
        asked = json.dumps([function.__module__, function.__qualname__, arguments]).encode() + b"\n"
        with self._lock:
            try:
                line = self._answer(asked)
            except BaseException:
                self.end()  # or the next call would get this one's result
                raise
            if not line:
                self.end()
        reply = json.loads(line) if line else {"error": ["MemoryError", None]}
        if "result" in reply:
            return reply["result"]
        reason, message = reply["error"]
        if reason == "MemoryError":
            limits = f"{self._limit_s:g} s of computing or {LIMIT_GIB} GiB of memory"
            raise FailedCallError(f"needs more than {limits}")
        raise FailedCallError(f"fails with {reason}", message)

    def end(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def forget(self) -> None:
        """Leave the process to the one that this is a fork of."""
        self._process, self._lock = None, Lock()

    def _answer(self, asked: bytes) -> bytes:
        """Return the line that answers the line *asked*; empty if the process has ended."""
        if self._process is None or self._process.poll() is not None:
            self.end()
            self._process = self._start()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(asked)
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            process = self._open()
        except OSError as error:
            raise FailedCallError("has no process to be tried in", str(error)) from error
        assert process.stdout is not None
        if process.stdout.readline() != _READY:
            process.kill()
            process.communicate()
            code = f"it ended with {process.returncode} as it began"
            raise FailedCallError("has no process to be tried in", code)
        return process

    def _open(self) -> subprocess.Popen[bytes]:
        # It finds the same modules as this process, and none in the working directory (-P).
        modules = os.pathsep.join(path for path in sys.path if path)
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "replay.scorers.checks.bounded", str(self._limit_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # where Rust says that memory has run out
            env={**os.environ, "PYTHONPATH": modules},
            start_new_session=True,  # Ctrl-C is the parent's to handle
        )


_PROCESS = BoundedProcess()
bounded: Callable[..., Any] = _PROCESS.call
atexit.register(_PROCESS.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_PROCESS.forget)


def _serve(limit_s: float) -> None:
    """Answer each line of the standard input with one of the standard output."""
    _limit_memory()
    sys.stdout.buffer.write(_READY)
    sys.stdout.buffer.flush()
    for line in sys.stdin.buffer:
        module, name, arguments = json.loads(line)
        function = getattr(import_module(module), name)
        _limit_time(limit_s)
        try:
            reply = {"result": function(*arguments)}
        except Exception as error:  # noqa: BLE001 - the caller gets it
            reply = {"error": [type(error).__name__, f"{error}"]}
        answer = json.dumps(reply)
        _limit_time(0)
        sys.stdout.buffer.write(answer.encode() + b"\n")
        sys.stdout.buffer.flush()


def _limit_memory() -> None:
    if sys.platform != "win32":
        import resource

        limit = LIMIT_GIB * 2**30
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _limit_time(seconds: float) -> None:
    """End this process once it has computed for so many *seconds* from now, in C or Rust too; 0 for never."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)
        return
    import faulthandler

    if seconds:
        faulthandler.dump_traceback_later(seconds, exit=True)
    else:
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    _serve(float(sys.argv[1]))
