"""
What went wrong in a plug-in: said in a line, with its place, and shown by its own frames.

A plug-in's author needs the lines of the plug-in, and of what it called. Ours, and those of asyncio below
them, are left out: they are always the same, and ten times as many.

The parameters of somebody's callable are read here too, for code that is not ours.
"""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from replay.core.errors import PluginError, ReplayError


def describe_error(error: BaseException) -> str:
    """Return the type and message of *error*, and the file and line of the plug-in that raised it, if any."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    called = _frames_of_plugin(error)
    if not called:
        return said
    *_, deepest = (frame for frame in called if frame.filename == called[0].filename)
    return f"{said} ({Path(deepest.filename).name}, line {deepest.lineno})"


class attributed_to:
    """
    Around calls of a plug-in while a run goes on. A fault of our own comes out as it is.

    Raises:
        PluginError: the plug-in raised something that is no error of ours; the message begins with *who*.
    """

    # Every turn goes through two of these: a generator would take three times as long, and a message that
    # nobody reads as long again.
    __slots__ = ("_names", "_who")

    def __init__(self, who: str, *names: object) -> None:
        """*who* has a ``%s`` for each of *names*."""
        self._who = who
        self._names = names

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, ReplayError) and _frames_of_plugin(error):
            raise PluginError(f"{self._who % self._names}: {describe_error(error)}") from error


def in_short(error: ReplayError) -> ReplayError:
    """Return *error* for a caller: without our frames, its cause a plug-in's bug if there is one."""
    error.__cause__ = bug_behind(error)
    return error.with_traceback(None)


def bug_behind(error: ReplayError) -> BaseException | None:
    """
    Return the exception raised by a plug-in that caused *error*, its traceback cut to begin in the plug-in.

    Returns:
        The exception; None if no plug-in raised one.
    """
    while isinstance(error.__cause__, ReplayError):
        error = error.__cause__
    bug = error.__cause__
    # Other errors of ours may come from a library's: pydantic's frames tell nobody anything.
    if bug is None or not isinstance(error, PluginError) or not _frames_of_plugin(bug):
        return None
    frames: TracebackType | None = bug.__traceback__
    while frames is not None and not _is_plugins(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    return bug.with_traceback(frames)


def _frames_of_plugin(error: BaseException) -> list[traceback.FrameSummary]:
    return [frame for frame in traceback.extract_tb(error.__traceback__) if _is_plugins(frame.filename)]


def _is_plugins(filename: str) -> bool:
    """Return whether a file is neither ours nor of the standard library, which calls both of us."""
    if filename.startswith((_OURS, "<")):
        return False
    return not filename.startswith(_STANDARD_LIBRARY) or "site-packages" in filename


_OURS = str(Path(__file__).parents[2]) + os.sep
_STANDARD_LIBRARY = str(Path(os.__file__).parent) + os.sep


_UNREAD: dict[str, Any] = {}
if sys.version_info >= (3, 14):
    from annotationlib import Format

    # Annotations are lazy there, and one may name what exists for type checkers alone.
    _UNREAD["annotation_format"] = Format.STRING


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """
    Return the signature of *function*; its annotations may be texts.

    Raises:
        TypeError, ValueError: it has none that could be found.
    """
    return inspect.signature(function, **_UNREAD)
