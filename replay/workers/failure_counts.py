"""Failures in a row as several processes count them together: in memory that they share."""

from __future__ import annotations

import fcntl
import mmap
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from struct import Struct
from typing import IO

_COUNTS = Struct("=II")
"""Of one endpoint: failures since its last answer; whether it ever answered."""


def shared_memory(endpoints: int) -> IO[bytes]:
    """Return an open file without a name, to be handed to each process that counts."""
    memory = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    memory.truncate(max(1, endpoints) * _COUNTS.size)
    return memory


class SharedFailureCounts:
    """Counts of each endpoint; turns of a load run are too many to look for them in its database."""

    def __init__(self, memory: int, endpoints: Sequence[str]) -> None:
        """*memory* is the descriptor of ``shared_memory`` for as many *endpoints*, in the same order."""
        self._descriptor = memory
        self._map = mmap.mmap(memory, max(1, len(endpoints)) * _COUNTS.size)
        self._offsets = {name: number * _COUNTS.size for number, name in enumerate(endpoints)}

    def has_answered(self, name: str) -> bool:
        return bool(_COUNTS.unpack_from(self._map, self._offsets[name])[1])

    def answered(self, name: str) -> None:
        # Looked at first: almost always there is nothing to change, and nothing to lock.
        if _COUNTS.unpack_from(self._map, self._offsets[name]) != (0, 1):
            with self._locked():
                _COUNTS.pack_into(self._map, self._offsets[name], 0, 1)

    def failed(self, name: str) -> int:
        with self._locked():
            failures, has_answered = _COUNTS.unpack_from(self._map, self._offsets[name])
            _COUNTS.pack_into(self._map, self._offsets[name], failures + 1, has_answered)
        return int(failures) + 1

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN)
