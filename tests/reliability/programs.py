"""The program in processes of its own, as users and their machines treat it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

NOBODY = 65534


def begun(*arguments: object, cwd: Path) -> subprocess.Popen[bytes]:
    """``replay`` with *arguments*, going on by itself; to be ended by the caller."""
    command = [sys.executable, "-m", "replay", *map(str, arguments)]
    return subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def write_scenario(folder: Path, *, talks: int = 4, turns: int = 3, filler: str = "", **changes: Any) -> Path:
    """A scenario in *folder* that plays with gold answers, each with *filler* at its end."""
    lines = [
        {
            "id": f"talk{n}",
            "turns": [
                {"question": f"Who sang {n}-{depth}?", "gold_answer": f"Mira sang {n}-{depth}. {filler}"}
                for depth in range(1, turns + 1)
            ],
        }
        for n in range(talks)
    ]
    (folder / "talks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    scenario = {
        "name": "tried",
        "data": {"path": "talks.jsonl"},
        "systems": [{"name": "echo", "adapter": "scripted"}],
        "policies": ["gold"],
        "drift": {"nlp_workers": 0},
        **changes,
    }
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario))
    return path


def only_run(runs: Path) -> Path:
    """The one run in *runs*."""
    (path,) = runs.glob("*/run.db")
    return path.parent


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of *size*; the test skips where none may be mounted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if sys.platform != "linux" or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("a small file system can't be mounted here (it takes Linux and root)")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """*folder* where nobody may write, not even root; the test skips where that can't be had."""
    mount = ["mount", "--bind", str(folder), str(folder)]
    if sys.platform != "linux" or subprocess.run(mount, capture_output=True).returncode != 0:
        if os.name != "posix" or os.geteuid() == 0:
            pytest.skip("root may write everywhere, and nothing can be mounted here")
        folder.chmod(0o555)
        try:
            yield folder
        finally:
            folder.chmod(0o755)
        return
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
