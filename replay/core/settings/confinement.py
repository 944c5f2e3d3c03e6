"""
Which files a scenario may name: those below its own folder, unless whoever runs it allows others.

A scenario may come from anybody, and what it names is read, sent to the systems that it names as well, and
kept in the run. What a caller of the library wrote down as a mapping, and a run that was begun before, are
the caller's own and not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_folder: ContextVar[Path | None] = ContextVar("folder", default=None)
_all_allowed: ContextVar[bool] = ContextVar("all_allowed", default=False)


def allow_outside() -> None:
    """From now on scenario files may name files anywhere, as ``--allow-outside`` says."""
    _all_allowed.set(True)


def is_outside_allowed() -> bool:
    """Whether ``allow_outside`` was called."""
    return _all_allowed.get()


@contextmanager
def confined_to(folder: Path | None) -> Iterator[None]:
    """Within the block ``outside`` complains of files that aren't below *folder*; without one, of none."""
    token = _folder.set(None if folder is None else folder.resolve())
    try:
        yield
    finally:
        _folder.reset(token)


def outside(path: Path) -> str | None:
    """The complaint about *path* where it, or what it links to, lies outside; None where it may be used."""
    folder = _folder.get()
    if folder is None:
        return None
    try:
        target = path.resolve()
    except (OSError, RuntimeError):  # a name that is too long, links in a circle
        return f'"{str(path)[:100]}" can\'t be looked up'
    if target.is_relative_to(folder):
        return None
    return (
        f'"{path}" lies outside of the scenario\'s folder "{folder}"; move it there, or, if you trust the '
        "scenario, allow it: replay --allow-outside ..."
    )
