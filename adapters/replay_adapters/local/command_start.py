"""How a local program is started, so that it ends with us, however we end."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from replay import AdapterConnectionError
from replay_adapters.http.redaction import Secrets
from replay_adapters.local.command_process import CommandProcess, OutputLine

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


async def start(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    place: str,
    read: Callable[[OutputLine], tuple[Any, str | None]],
    max_line_bytes: int,
    grace_s: float,
) -> CommandProcess:
    """
    Return *command* as a process in *folder*, in a process group of its own that ends with us at the latest.

    Raises:
        AdapterConnectionError: it can't be started.
    """
    try:
        process, held = await _spawned(command, folder, dict(environment), max_line_bytes)
    except (OSError, ValueError) as error:
        passing = isinstance(error, OSError) and error.errno in (
            errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM,
        )  # fmt: skip
        step = "play fewer conversations at a time" if passing else "check that it can be run by hand"
        raise AdapterConnectionError(
            f"{place} can't be started ({error}); {step}", retryable=passing, reached=False
        ) from error
    return CommandProcess(
        process,
        place=place,
        read=read,
        max_line_bytes=max_line_bytes,
        grace_s=grace_s,
        secrets=_secrets_in(environment),
        held=held,
    )


async def _spawned(
    command: Sequence[str], folder: Path, environment: dict[str, str], limit: int
) -> tuple[asyncio.subprocess.Process, ExitStack]:
    """Return the process, and what its watcher waits for; no watcher without a POSIX shell."""
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


def _secrets_in(environment: Mapping[str, str]) -> Secrets:
    """Return the values of variables whose names tell of secrets: a program may print what it is given."""
    named = {
        name: value for name, value in environment.items() if any(n in name.upper() for n in _SECRET_NAMES)
    }
    return Secrets(named)
