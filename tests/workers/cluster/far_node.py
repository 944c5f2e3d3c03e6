"""A node of a Ray cluster with a clock of its own, as another machine has: in a Linux time namespace."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S, until


def skip_unless_clocks_can_differ() -> None:
    """Which takes Linux 5.6, util-linux and root."""
    program = shutil.which("unshare")
    if (
        program is None
        or subprocess.run([program, "-T", "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("needs a time namespace: Linux, util-linux' unshare, and root")


@contextmanager
def far_node(cluster: str, *, ahead_s: int, resource: str) -> Iterator[None]:
    """One that has joined the *cluster* at that address, of one CPU and *resource*."""
    import ray

    def is_there() -> bool:
        return any(node["Alive"] and resource in node["Resources"] for node in ray.nodes())

    ray_program = Path(sys.executable).with_name("ray")
    unshare = ["unshare", "-T", "--monotonic", str(ahead_s)]
    start = [str(ray_program), "start", f"--address={cluster}", "--num-cpus=1", "--block"]
    start += [f'--resources={{"{resource}": 1}}', "--object-store-memory=80000000", "--disable-usage-stats"]
    process = subprocess.Popen(
        [*unshare, *start], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        until(lambda: is_there() or process.poll() is not None)
        assert process.poll() is None
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(PATIENCE_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
