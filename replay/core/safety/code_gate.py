"""
Whether code that a scenario or a run names may run: ``file.py:attribute`` and ``module:attribute``.

Looking never runs anything. So the gate is closed for whatever is built by name, and whoever plays or scores
opens it for as long as that takes; see docs/security.md. What is installed under an entry point's name is no
such code, nor is what this process has been given as an object. A program that makes an adapter itself says
itself what is to run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from replay.core.errors import CodeNotRunError

_open: ContextVar[bool | None] = ContextVar("code_gate_open", default=None)
"""None outside of whatever is built by name."""


@contextmanager
def code_may_run() -> Iterator[None]:
    """Open the gate for the block, in this task or thread and those that it starts."""
    before = _open.set(True)
    try:
        yield
    finally:
        _open.reset(before)


@contextmanager
def code_forbidden() -> Iterator[None]:
    """Forbid running code while something is built by name, unless ``code_may_run`` surrounds the block."""
    before = _open.set(code_runs())
    try:
        yield
    finally:
        _open.reset(before)


def require_code_allowed(target: str) -> None:
    """
    Make sure that the code called *target* may run here.

    Raises:
        CodeNotRunError: it may not: it is named by something that is neither played nor scored.
    """
    if _open.get() is False:
        raise CodeNotRunError(target)


def code_runs() -> bool:
    """Return whether the gate is open here."""
    return bool(_open.get())
