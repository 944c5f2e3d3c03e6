"""
What all the processes of a benchmark take, those of a Ray cluster included.

They are told by a variable of their environment, which each of them inherits: Ray's are no children of the
program that starts them.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

MARK = "CONVREPLAY_BENCHMARK"
EVERY_S = 0.2
TICKS_PER_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20 if hasattr(os, "sysconf") else 0.0
KINDS = ("program", "players", "Ray")


def mark() -> None:
    """All that this process starts from now on is of this benchmark."""
    os.environ[MARK] = uuid4().hex


@dataclass
class Watch:
    """Looks at them until it is left; this process is none of them."""

    cpu_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """By kind, since it was entered."""
    mib: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """By kind, what each held when it was looked at last."""
    most_mib: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """As ``mib``, of the look at which that kind held most together."""

    def __enter__(self) -> Watch:
        self._before = {pid: ticks for pid, _, ticks, _ in _processes()}
        self._latest: dict[int, tuple[str, int]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_looking, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._look()
        for pid, (kind, ticks) in self._latest.items():
            self.cpu_s[kind] += (ticks - self._before.get(pid, 0)) / TICKS_PER_S

    def _keep_looking(self) -> None:
        while not self._ended.wait(EVERY_S):
            self._look()

    def _look(self) -> None:
        mib: dict[str, list[float]] = defaultdict(list)
        for pid, kind, ticks, held in _processes():
            self._latest[pid] = kind, ticks
            mib[kind].append(held)
        self.mib = mib
        for kind, held in mib.items():
            if sum(held) > sum(self.most_mib[kind]):
                self.most_mib[kind] = held


def _processes() -> Iterator[tuple[int, str, int, float]]:
    """Of each: its id, kind, CPU time in ticks, and MiB held."""
    marked = f"{MARK}={os.environ[MARK]}".encode()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        with suppress(OSError, IndexError):  # it has just ended
            if marked in (folder / "environ").read_bytes():
                # After the name, which may have any characters: state is the third field of proc(5).
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                pages = int((folder / "statm").read_text().split()[1])
                command = (folder / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
                ticks = int(fields[11]) + int(fields[12])
                yield int(folder.name), _kind(command), ticks, pages * PAGE_MIB


def _kind(command: str) -> str:
    if command.startswith("ray::ClusterActor") or "workers.worker_main" in command:
        return "players"
    return "program" if "cluster.py play" in command else "Ray" if "ray" in command else "server"
