"""
A local program that answers lines with lines: written to, read, and ended with all it started.

It prints exactly one JSON line for each that it is given. What it prints to stderr is kept, the last of it,
for the message when it fails.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from replay import AdapterConnectionError, AdapterError, AdapterReplyError
from replay_adapters.http.connections import Incoming
from replay_adapters.http.reply import ReceivedText, Secrets, excerpt

STDERR_BYTES = 4096
STDERR_LINES = 5
_log = logging.getLogger("replay.command")


class PendingAsk:
    """A line that the program owes an answer to."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.answer: asyncio.Future[tuple[ReceivedText, Any]] = asyncio.get_running_loop().create_future()


@dataclass(kw_only=True, eq=False)
class CommandProcess:
    """A running program."""

    process: asyncio.subprocess.Process
    watched: ExitStack
    """What its watcher waits for to be closed."""
    place: str
    read: Callable[[ReceivedText], tuple[Any, str | None]]
    """Gives a line's JSON value and the key it carries, or raises AdapterReplyError."""
    max_line_bytes: int
    grace_s: float
    secrets: Secrets
    failure: AdapterError | None = None
    """Why it can't be asked any more."""
    told: bool = False
    """Somebody's question failed with it."""
    names_keys: bool = False
    """It answers with the keys it was sent, so that its answers may come in any order."""

    def __post_init__(self) -> None:
        # There is no public way to the pipe itself.
        transport = self.process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]
        self._stdout = transport.get_extra_info("pipe")
        self._asked: list[PendingAsk] = []
        self._stderr = bytearray()
        self._listening = asyncio.create_task(self._read_stderr())
        self._answering = asyncio.create_task(self._read_answers())
        self._ending: asyncio.Task[None] | None = None

    @property
    def usable(self) -> bool:
        """Return whether it can be asked."""
        return self.failure is None and self._ending is None

    @property
    def waited_for(self) -> bool:
        """Return whether somebody still waits for an answer."""
        return any(not asked.answer.done() for asked in self._asked)

    async def ask(self, line: bytes, key: str) -> tuple[ReceivedText, Any, float]:
        """
        Write *line* and wait for its answer; the answer, its value, and when the line was written.

        Raises:
            AdapterError: none came.
        """
        # A line that lies there already answers no question that is still to be written.
        await Incoming(self._stdout).taken_in()
        if self.failure is not None:
            raise self.failure
        asked = PendingAsk(key)
        self._asked.append(asked)
        stdin = self.process.stdin
        assert stdin is not None
        sent = perf_counter()
        try:
            stdin.write(line)
            # A program that is gone is noticed by its end, which says more than a broken pipe does.
            with suppress(ConnectionError):
                await stdin.drain()
            answer, value = await asked.answer
        finally:
            asked.answer.cancel()  # an answer that comes later on is known to be nobody's
        return answer, value, sent

    def end(self, *, stuck: bool = False) -> asyncio.Task[None]:
        """
        Begin to end it with all it started: by closing its stdin, then by signals.

        One that is *stuck* with a question is signalled without waiting for it to read on.
        """
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(stuck))
        return self._ending

    async def _end(self, stuck: bool) -> None:
        process = self.process
        assert process.stdin is not None
        try:
            process.stdin.close()
            for number in (signal.SIGTERM,) if stuck else (None, signal.SIGTERM):
                if number is not None:
                    _signal_group(process, number)
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.grace_s):
                        await process.wait()
                        await self._look_for_more()
                        return
        finally:
            # Even after it ended by itself: what it started may still run.
            _signal_group(process, getattr(signal, "SIGKILL", signal.SIGTERM))
            self.watched.close()
            self._answering.cancel()
            self._listening.cancel()
            await asyncio.gather(self._answering, self._listening, return_exceptions=True)
            # A pipe that isn't read to its end is never closed, and there is no public way to close it.
            process._transport.close()  # type: ignore[attr-defined]
            await process.wait()
            self._fail_all(AdapterConnectionError(f"{self.place} was ended by us", retryable=True))

    async def _look_for_more(self) -> None:
        """Of a line that is left over when nothing more is asked, the log says so."""
        await Incoming(self._stdout).taken_in()
        if isinstance(self.failure, AdapterReplyError) and not self.told:
            _log.warning("%s. Nothing more is asked; its answers may be those of turns before", self.failure)

    async def _read_answers(self) -> None:
        stdout = self.process.stdout
        assert stdout is not None
        failure: AdapterError | None = None
        while failure is None:
            try:
                content = await stdout.readuntil(b"\n")
            except asyncio.IncompleteReadError as error:
                failure = await self._exit_error(error.partial)
            except asyncio.LimitOverrunError:
                failure = AdapterReplyError(
                    f"{self.place} printed a line of more than {self.max_line_bytes} bytes; "
                    "raise max_line_bytes if that is right"
                )
            else:
                failure = self._take(content)
        self._fail_all(failure)
        self.end()

    def _fail_all(self, failure: AdapterError) -> None:
        """Nobody is answered any more, because of *failure*."""
        self.failure = self.failure or failure
        waiting = [asked.answer for asked in self._asked if not asked.answer.done()]
        self.told = self.told or bool(waiting)
        for number, answer in enumerate(waiting):
            # A line that is of no use is taken for the first one's; a new process may answer the others.
            is_own = number == 0 or isinstance(failure, AdapterConnectionError)
            another = f"the same process failed another conversation: {failure}"
            answer.set_exception(failure if is_own else AdapterConnectionError(another, retryable=True))

    def _take(self, content: bytes) -> AdapterError | None:
        """Hand a line to whom it answers; why the process is of no more use, if it isn't."""
        line = ReceivedText(
            place=self.place, content=content.rstrip(b"\r\n"), at=perf_counter(), secrets=self.secrets
        )
        try:
            value, key = self.read(line)
        except AdapterReplyError as error:
            return error
        owed = [asked for asked in self._asked if key is None or asked.key == key]
        if not owed:
            unasked = "without having been asked" if key is None else f'for "{key}", which nobody waits for'
            return AdapterReplyError(
                f"{self.place} printed a line {unasked}: {line.excerpt()}; "
                "let it print exactly one JSON line for each line it reads, and logs to stderr"
            )
        self.names_keys = key is not None
        self._asked.remove(owed[0])
        if not owed[0].answer.done():
            owed[0].answer.set_result((line, value))
        return None

    async def _exit_error(self, rest: bytes) -> AdapterError:
        """Return the error for a closed stdout; *rest* is an incomplete line that came before."""
        try:
            async with asyncio.timeout(self.grace_s):
                code: int | None = await self.process.wait()
                await asyncio.shield(self._listening)
        except TimeoutError:
            code = self.process.returncode
        begun = f", in the middle of a line: {excerpt(rest, self.secrets)}" if rest.strip() else ""
        return AdapterConnectionError(
            f"{self.place} {_ending(code)} before it answered{begun}; {self._last_words()}", retryable=True
        )

    def _last_words(self) -> str:
        said = self.secrets.redact(self._stderr.decode("utf-8", "replace"))
        lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
        if not lines:
            return "it printed nothing to stderr; run it by hand to see why"
        return f'its last words on stderr: "{" | ".join(lines[-STDERR_LINES:])}"'

    async def _read_stderr(self) -> None:
        stderr = self.process.stderr
        assert stderr is not None
        while chunk := await stderr.read(STDERR_BYTES):
            self._stderr += chunk
            del self._stderr[:-STDERR_BYTES]


def _signal_group(process: asyncio.subprocess.Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)


def _ending(code: int | None) -> str:
    if code is None:
        return "closed its stdout"
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


_WATCHED = """\
( ( trap "" HUP INT TERM; exec 3</dev/fd/$0 || exit
    exec sh -c 'read -r _ <&3; kill -9 0' ) </dev/null >/dev/null 2>&1 & )
exec "$@"
"""
"""
A program that is ended when we are gone, however we went, with what it started.

Beside it, in its process group, a shell reads from a pipe that only we hold the other end of; when we are
killed, the system closes that. The watcher is there before the program is, is nobody's child (a program may
wait for all of its own), lets go of the program's pipes, and has arguments of its own, since variables may
stand in the program's. Linux's PR_SET_PDEATHSIG would end the program
alone, when the *thread* that started it ends, and has to be set from within.
"""
_SHELL_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")


async def spawn(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], limit: int
) -> tuple[asyncio.subprocess.Process, ExitStack]:
    """
    Return *command* as a process in *folder*, in a process group of its own that ends with us at the latest.

    With it comes what its watcher waits for; there is no watcher without a POSIX shell. Lines of its output
    have *limit* bytes at most.

    Raises:
        OSError, ValueError: it can't be started.
    """
    shell = shutil.which("sh") if hasattr(os, "killpg") else None
    if shutil.which(command[0]) is None:
        raise FileNotFoundError(errno.ENOENT, "there is no such program any more", command[0])
    run: tuple[str, ...] = tuple(command)
    handed: tuple[int, ...] = ()
    with ExitStack() as begun, ExitStack() as stack:
        if shell is not None:
            watched, ours = os.pipe()
            begun.callback(os.close, watched)
            stack.callback(os.close, ours)
            handed = (watched,)
            # A shell drops variables whose names it could not write.
            odd = [
                f"{name}={value}" for name, value in environment.items() if not _SHELL_NAME.fullmatch(name)
            ]
            run = (shell, "-c", _WATCHED, str(watched), *(("env", *odd) if odd else ()), *run)
        process = await asyncio.create_subprocess_exec(
            *run,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=folder,
            env=environment,
            limit=limit,
            start_new_session=True,
            pass_fds=handed,
        )
        return process, stack.pop_all()


def secrets_in(environment: Mapping[str, str]) -> Secrets:
    """Return the values of variables whose names tell of secrets: a program may print what it is given."""
    named = {
        name: value for name, value in environment.items() if any(n in name.upper() for n in _SECRET_NAMES)
    }
    return Secrets(named)
