"""Whether a program that plays a run shows how far it has come: in a notebook, or where it asks for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from replay.play.engine import Observer


def in_notebook() -> bool:
    """
    Return whether this runs in a notebook's kernel (Jupyter, VS Code, Colab); False for IPython on a
    terminal.
    """
    ipython = sys.modules.get("IPython")  # whoever is in a notebook has it; nobody else is to wait for it
    return getattr(ipython.get_ipython(), "kernel", None) is not None if ipython else False


@contextmanager
def progress_display(observer: Observer | None, progress: bool | None) -> Iterator[Observer | None]:
    """
    Yield the observer that is to be told how far a run has come, or None.

    Args:
        observer: Yielded as it is, if given.
        progress: True to show progress, False not to; None shows it in a notebook alone, and only without an
            *observer*.

    Raises:
        ValueError: there is an *observer*, and *progress* is true as well.
    """
    if observer is not None and progress:
        raise ValueError("observer and progress=True: give one of them; an observer can show what it likes")
    notebook = in_notebook()
    if observer is not None or not (notebook if progress is None else progress):
        yield observer
        return
    from replay.core.terminal import unwrap_stream
    from replay.report.printing import VisibleConsole
    from replay.runs.progress import NotebookCell, RunProgress

    with RunProgress(VisibleConsole(unwrap_stream(sys.stderr)), NotebookCell() if notebook else None) as told:
        yield told
