"""
The net under all that is read from a system: what our own code stumbles over is that ask's outcome.

Each field is checked where it is read. What nobody thought of when writing that must not end a run, and each
resume of it, since a server may send it again and again. Only what a built-in adapter does with a reply
stands under this net: the bug of a plug-in's author goes through, and stops the run with its name.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from types import TracebackType

from replay import AdapterError, AdapterReplyError, redact

STUMBLES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What Python raises over a value that isn't as it should be."""


class parse_errors_as_bad_reply:
    """
    Within it, something that *place* sent is read; *place* is fit to be shown.

    Raises:
        AdapterReplyError: something stumbled over it; the message says what, and at which line of ours.
        AdapterError: as raised within.
    """

    __slots__ = ("_place",)  # every reply is read under it: a generator would take three times as long

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, STUMBLES) and not isinstance(error, AdapterError):
            frame = traceback.extract_tb(trace)[-1]
            line = f"{Path(frame.filename).name}:{frame.lineno}"
            raise AdapterReplyError(
                f"{self._place} answered what can't be read ({bad_reply_error(error)}, at {line}); check the "
                "system's reply, and report this if it is as it should be"
            ) from error


def bad_reply_error(error: Exception) -> str:
    """Return *error* on one line, without secrets."""
    return f"{type(error).__name__}: {' '.join(redact(str(error)).split())[:200]}"
