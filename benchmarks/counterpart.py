"""What ``interop.py`` knows of a server: how it is installed, started, asked, and what should come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run against a counterpart, and what should come of it."""

    name: str
    adapter: str
    settings: Mapping[str, Any]
    """Of the system; ``{url}`` in a text is the counterpart's address."""
    outcome: str = "answered"
    """Of every ask."""
    usage: bool = False
    """Every answer comes with the counts of its tokens."""
    cost: bool = False
    streams: bool = False
    """Every answer has a first token, and some gaps."""
    remembers: int = 0
    """Answers begin by how long the history was: by so much more in each turn."""
    stress: bool = False
    """Under load, for a few seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterpart:
    """A server, and the runs against it."""

    name: str
    versions_of: Sequence[str]
    """Distributions, or npm's packages, whose versions are told."""
    command: Callable[[Path, Path, int], Sequence[str]]
    """What starts it: from its environment's ``bin``, a folder for its files, and a port."""
    ready: str | None
    """Path of a page that answers once it is ready; None for one that prints its port."""
    cases: Sequence[Case]
    packages: Sequence[str] = ()
    """What pip installs, one call after another."""
    npm: Sequence[str] = ()
    """What npm installs in the place of that, into ``node_modules`` of its environment."""
    prepare: Callable[[Path, Path], Sequence[str] | None] = lambda binaries, folder: None
    """Writes its files, or gives the command that does."""
    environment: Mapping[str, str] = field(default_factory=dict)
