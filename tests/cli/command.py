"""The command line, in this process or in one of its own."""

from __future__ import annotations

import asyncio
import io
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, closing, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from unittest.mock import patch

import typer.main

from replay.cli import run_cli
from tests.waiting import PATIENCE_S

# Which verbs and options there are is found out at every start, by reading annotations: 80 ms.
_get_command = cache(typer.main.get_command)


def replay_cli(*arguments: object, cwd: Path, env: Mapping[str, str] | None = None) -> CompletedProcess[str]:
    """
    What ``replay`` does with *arguments*, in this process: to start one costs more than most verbs do.

    A signal, a closed pipe, a limit that the system sets: those take a process (``replay_process``).
    """
    argv = ["replay", *map(str, arguments)]
    environment = {"COLUMNS": "80", **(os.environ if env is None else env)}
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    code = 0
    with (
        chdir(cwd),
        patch.dict(os.environ, environment, clear=True),
        patch.object(sys, "argv", argv),
        patch.object(typer.main, "get_command", _get_command),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            run_cli()
        except SystemExit as ended:
            code = int(ended.code or 0)
    said = [stream.buffer.getvalue().decode("utf-8") for stream in (out, err)]  # type: ignore[attr-defined]
    return CompletedProcess(argv, code, *said)


def forget_code() -> None:
    """As in another process, what files of users define is imported anew."""
    for name in [name for name in sys.modules if name.startswith("_replay_user_")]:
        del sys.modules[name]


def replay_process(*arguments: object, cwd: Path, **more: Any) -> CompletedProcess[str]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "replay", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S, **more)


async def beginning(*arguments: object, cwd: Path | None = None) -> asyncio.subprocess.Process:
    """The same for one that is to be killed: what it says goes nowhere."""
    command = [sys.executable, "-m", "replay", *map(str, arguments)]
    silent = asyncio.subprocess.DEVNULL
    return await asyncio.create_subprocess_exec(*command, cwd=cwd, stdout=silent, stderr=silent)


def kept_turns(runs: Path) -> int:
    """How many turns the one run in *runs* has kept so far."""
    for database in runs.glob("*/run.db"):
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            try:
                return int(connection.execute("SELECT count(*) FROM turn").fetchone()[0])
            except sqlite3.OperationalError:
                return 0  # the tables are being made
    return 0


def all_of(descriptor: int) -> bytes:
    """What comes to a pseudo-terminal until its other end is closed."""
    written = b""
    try:
        while chunk := os.read(descriptor, 65536):
            written += chunk
    except OSError:  # how Linux says that the other end is closed
        pass
    return written
