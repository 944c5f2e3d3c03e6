"""
The net under all that is read from a system: what our own code stumbles over is that ask's outcome.

Each field is checked where it is read. What nobody thought of when writing that must not end a run, and each
resume of it, since a server may send it again and again. Only what a built-in adapter does with a reply
stands under this net: the bug of a plug-in's author goes through, and stops the run with its name.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from replay import AdapterError, AdapterReplyError, hidden

STUMBLES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What Python raises over a value that isn't as it should be."""


@contextmanager
def reading(place: str) -> Iterator[None]:
    """
    Within it, something that *place* sent is read; *place* is fit to be shown.

    Raises:
        AdapterReplyError: something stumbled over it; the message says what, and at which line of ours.
        AdapterError: as raised within.
    """
    try:
        yield
    except AdapterError:
        raise
    except STUMBLES as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        line = f"{Path(frame.filename).name}:{frame.lineno}"
        raise AdapterReplyError(
            f"{place} answered what can't be read ({stumbled(error)}, at {line}); check the system's reply, "
            "and report this if it is as it should be"
        ) from error


def stumbled(error: Exception) -> str:
    """*error* on one line, fit to be shown."""
    return f"{type(error).__name__}: {' '.join(hidden(str(error)).split())[:200]}"
