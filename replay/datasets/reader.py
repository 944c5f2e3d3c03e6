"""
The protocol of a data-set reader.

A reader turns one file into conversations, one at a time and in file order. A conversation that
can't be read is *yielded* as a ``DatasetError`` (not raised), so that the caller decides whether to
stop there or to skip, count and report it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError


@runtime_checkable
class SetReader(Protocol):
    """A reader whose conversations come from all files together, and not from one after the other."""

    def read_set(self, paths: Sequence[Path]) -> Iterator[Conversation | DatasetError]:
        """
        Yield the conversations of *paths*, as ``Reader.read`` does those of one.

        Raises:
            DatasetError: the files as a whole can't be read.
        """
        ...


@runtime_checkable
class Reader(Protocol):
    """Reads one file format. Built from the ``settings`` of a scenario's ``data`` section."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """
        Return whether *path*, whose first bytes are *head*, is surely in this format.

        At most one built-in reader says yes for any file; a format that can't be told apart safely
        always says no and has to be named.
        """
        ...

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """
        Yield the file's conversations, or in place of one the reason why it can't be read.

        Raises:
            DatasetError: the file as a whole can't be read.
        """
        ...
