"""How a program is started beside its watcher."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from replay_adapters.local.command_process import spawn
from tests.waiting import until_async


def arguments() -> bytes:
    """Those of all processes here, which every user can read."""
    found = b""
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                found += (process / "cmdline").read_bytes()
            except OSError:
                continue
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="arguments are read from /proc")
async def test_no_variable_stands_in_anybodys_arguments(tmp_path):
    """A shell drops variables whose names it could not write, so these take another way."""
    environment = {**os.environ, "odd.name": "drawn-9Zq4Kb7"}
    program = [sys.executable, "-c", "import os; print(os.environ['odd.name'], flush=True); input()"]
    process, held = await spawn(program, tmp_path, environment, 65_536)
    with held:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"drawn-9Zq4Kb7\n"
        await until_async(lambda: b"drawn-9Zq4Kb7" not in arguments())
        assert b"read -r _ <&3" in arguments()
    assert await process.wait() == -9
