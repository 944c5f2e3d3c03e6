"""Runs, and a viewer as users start it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.viewer.runs import hostile_run
from tests.waiting import PATIENCE_S


@pytest.fixture(scope="session")
def hostile(tmp_path_factory) -> Path:
    return hostile_run(tmp_path_factory.mktemp("hostile") / "evil")


@contextmanager
def viewing(*arguments: str, cwd: Path, asks: bool = False) -> Iterator[str]:
    """`replay view` in a process of its own; gives its address. If it *asks* for a token, with that in it."""
    command = [sys.executable, "-m", "replay", "view", *arguments, "--port", "0"]
    if not asks:
        command.append("--no-token")
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield next(word for word in line.split() if word.startswith("http"))
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)


@pytest.fixture(scope="session")
def viewer(quickstart, hostile, tmp_path_factory) -> Iterator[str]:
    """The address of a viewer that shows both runs."""
    with viewing(str(quickstart), str(hostile), cwd=tmp_path_factory.mktemp("view")) as address:
        yield address
