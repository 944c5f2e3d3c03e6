"""The runs that a viewer shows: those that were named, or all below a folder, also those that begin later."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from replay.core.errors import ReplayError
from replay.store.reader import DATABASE
from replay.viewer.live_run import LiveRun


class RunIndex:
    """The runs that are served: found anew at each look at the list."""

    def __init__(self, folders: Sequence[Path], below: Path) -> None:
        self._folders, self._below = list(folders), below
        self._watched: dict[str, LiveRun] = {}
        self.problems: dict[str, str] = {}
        """Runs that can't be read, and why."""

    def refresh(self) -> list[LiveRun]:
        """All runs that can be read, newest first or as they were named."""
        found = []
        for folder in find_runs(self._folders, self._below):
            key = self._key(folder)
            if key not in self._watched:
                try:
                    self._watched[key] = LiveRun(key, folder)
                except ReplayError as error:
                    self.problems[str(folder)] = str(error)
                    continue
                self.problems.pop(str(folder), None)
            found.append(self._watched[key])
        return found

    def _key(self, folder: Path) -> str:
        known = self._watched.get(folder.name)
        if known is None or known.run.folder == folder:
            return folder.name
        return f"{folder.name}~{sha256(str(folder).encode()).hexdigest()[:8]}"

    def get(self, key: str) -> LiveRun:
        """
        Raises:
            KeyError: there is no such run.
        """
        if key not in self._watched:
            self.refresh()
        return self._watched[key]

    def close(self) -> None:
        for watched in self._watched.values():
            watched.close()


def find_runs(folders: list[Path], below: Path) -> list[Path]:
    """*folders*, or all runs below *below*, newest first."""
    if folders:
        return folders
    found = [path.parent for path in below.glob(f"*/{DATABASE}")]
    return sorted(found, key=lambda folder: (folder / DATABASE).stat().st_ctime, reverse=True)
