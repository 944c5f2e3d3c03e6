"""What this process holds of memory, and observers of a run that look at it."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from typing import Any

MIB = 1024 * 1024


def peak_rss_mib() -> float:
    """
    The most that this process held so far.

    On Linux ``ru_maxrss`` begins with what the process that started this one held.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (kib,) = (line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(kib) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (MIB if sys.platform == "darwin" else 1024)


def memory_mib() -> tuple[float | None, float | None]:
    """RSS and USS of this process now; None where the system doesn't tell."""
    try:
        text = Path("/proc/self/smaps_rollup").read_text()
    except OSError:
        return None, None
    kib = {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines()[1:]}
    return kib["Rss"] / 1024, (kib["Private_Clean"] + kib["Private_Dirty"]) / 1024


class AllRecorded:
    """An observer that notes the peak before the run is rounded off."""

    def __init__(self, turns: int) -> None:
        self.left = turns
        self.figures: dict[str, float] = {}

    def recorded(self, record: Any) -> None:
        self.left -= 1
        if self.left == 0:
            self.figures = {"peak_rss_mib": peak_rss_mib()}

    def played(self, play: Any) -> None: ...


class Sampler:
    """An observer that looks at this process's memory now and then; of a load run as well."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._begun = time.perf_counter()
        self._turns = 0
        self.samples: list[tuple[int, float, float | None, float | None]] = []

    def _more(self, turns: int) -> None:
        due = self._turns // self._every + 1
        self._turns += turns
        if self._turns >= due * self._every:
            self.samples.append((self._turns, time.perf_counter() - self._begun, *memory_mib()))
            print(f"{self._turns:,} turns", file=sys.stderr, flush=True)

    def recorded(self, record: Any) -> None:
        self._more(1)

    def played(self, play: Any) -> None: ...

    def level_began(self, level: Any) -> None: ...

    def counted(self, count: Any) -> None:
        self._more(count.turns)

    def level_over(self, level: Any, result: Any) -> None: ...
