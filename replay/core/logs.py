"""
What a run does, as it does it: one JSON object a line, for ``--log-file`` and for machines.

Everything goes to the standard library's logger ``replay``, so that a program that uses the library takes it
from there. A record's message is what happened (``ask failed``), and its ``fields`` say where: ``run``,
``conversation`` with ``system`` and ``policy``, ``turn`` (its depth) and ``attempt``. Together these name
one ask and no other. A bug has its ``traceback``. Keys that came from the environment are hidden.

Levels: ``debug`` tells of every ask that was sent and answered, ``info`` of runs, conversations, levels,
failures and retries, ``warning`` of what somebody should look at.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from replay.core.errors import InputError, ReplayError
from replay.core.safety.redaction import redact
from replay.core.terminal import escape_unprintable, visible_json

LOGGER = logging.getLogger("replay")
LOGGER.addHandler(logging.NullHandler())

LEVELS = ("debug", "info", "warning", "error")

_FILE, _LEVEL, _RUN = "CONVREPLAY_LOG_FILE", "CONVREPLAY_LOG_LEVEL", "CONVREPLAY_LOG_RUN"
"""How a process of ours tells one that it starts where to log to; no settings of a user's."""

_run: ContextVar[str | None] = ContextVar("run", default=None)


def log_event(level: int, event: str, /, *, bug: BaseException | None = None, **fields: Any) -> None:
    """Log *event* with *fields*, the id of the run that goes on, and where the *bug* behind it is."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, event, exc_info=bug, extra={"fields": {"run": _run.get(), **fields}})


@contextmanager
def logging_run(run: str, **fields: Any) -> Iterator[None]:
    """Log begin and end of the block, and put the id *run* into all that is logged within it."""
    token = _run.set(run)
    log_event(logging.INFO, "run began", **fields)
    how: dict[str, Any] = {"ended": "interrupted"}
    try:
        yield
        how = {"ended": "finished"}
    except Exception as error:
        if isinstance(error, ReplayError):
            how = {"ended": "failed", "error": str(error)}
        else:
            how = {"ended": "failed", "error": f"{type(error).__name__}: {error}", "bug": error}
        raise
    finally:
        log_event(logging.INFO, "run ended", **how)
        _run.reset(token)


class ConversationLog:
    """What happens in one conversation with one system under one policy."""

    __slots__ = ("_where",)

    def __init__(self, **where: Any) -> None:
        self._where = where

    def log_begin(self, turns: int) -> None:
        log_event(logging.INFO, "conversation began", **self._where, turns=turns)

    def log_end(self) -> None:
        log_event(logging.INFO, "conversation ended", **self._where)

    def log_sent(self, turn: int, attempt: int) -> None:
        log_event(logging.DEBUG, "ask sent", **self._where, turn=turn, attempt=attempt)

    def log_answer(self, turn: int, attempt: int, latency_s: float) -> None:
        seconds = round(latency_s, 6)
        log_event(logging.DEBUG, "ask answered", **self._where, turn=turn, attempt=attempt, latency_s=seconds)

    def log_cache_hit(self, turn: int) -> None:
        log_event(logging.DEBUG, "answer from the cache", **self._where, turn=turn)

    def log_failure(
        self, turn: int, attempt: int, outcome: str, error: str, retry_in_s: float | None
    ) -> None:
        """Log a failed ask; *retry_in_s* is None if the failure is final."""
        where = {**self._where, "turn": turn, "attempt": attempt}
        log_event(logging.INFO, "ask failed", **where, outcome=outcome, error=error)
        if retry_in_s is not None:
            log_event(logging.INFO, "retry", **where, wait_s=round(retry_in_s, 6))


def conversation_log(*, system: str, policy: str, conversation: str) -> ConversationLog | None:
    """Return a log for one conversation; None if nobody listens, so that a turn under load costs little."""
    if not LOGGER.isEnabledFor(logging.INFO):
        return None
    return ConversationLog(system=system, policy=policy, conversation=conversation)


# Where it goes ---------------------------------------------------------------------------------------------


class JsonLogFormatter(logging.Formatter):
    """One JSON object a line, in ASCII, whatever texts it holds."""

    def format(self, record: logging.LogRecord) -> str:
        fields: Mapping[str, Any] = getattr(record, "fields", {})
        told = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": redact(record.getMessage()),
            **{name: redact(value) if isinstance(value, str) else value for name, value in fields.items()},
            "traceback": redact(_traceback(self, record)) or None,
        }
        line = json.dumps({name: value for name, value in told.items() if value is not None}, default=str)
        return visible_json(line)


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    """Return the traceback of *record*'s bug; empty without one. ``exc_text`` is of another process."""
    return formatter.formatException(record.exc_info) if record.exc_info else record.exc_text or ""


class _Handler(logging.StreamHandler[TextIO]):
    """A log that can't be written (a full disk) is told of once, and stops nothing."""

    _has_failed = False

    def handleError(self, record: logging.LogRecord) -> None:
        if not self._has_failed:
            self._has_failed = True
            reason = sys.exc_info()[1]
            said = f"the log can't be written ({reason}); the run goes on without it"
            print(escape_unprintable(said), file=sys.stderr)


def log_to(path: Path | None, level: str | None) -> None:
    """
    Log to the end of the file *path*, or to stderr.

    *level* left out: ``info`` into a file, ``warning`` to stderr. Warnings go to stderr in any case.

    Raises:
        InputError: the file can't be written, or there is no such level.
    """
    if level not in (None, *LEVELS):
        raise InputError(f'--log-level: "{level}" is none of {", ".join(LEVELS)}')
    chosen = (level or ("info" if path else "warning")).upper()
    handlers: list[logging.Handler] = []
    if path is not None:
        try:
            # Several processes may write to its end, each line at once.
            stream = path.open("a", encoding="ascii", buffering=1)
        except OSError as error:
            raise InputError(
                f'--log-file: "{path}" can\'t be written: {error.strerror}; '
                "name a file in a folder that exists"
            ) from error
        handlers.append(_Handler(stream))
        os.environ[_FILE] = str(path.resolve())
    handlers.append(_Handler(sys.stderr))
    handlers[-1].setLevel(chosen if path is None else logging.WARNING)
    for handler in handlers:
        handler.setFormatter(JsonLogFormatter())
    LOGGER.handlers[:] = handlers
    LOGGER.setLevel(chosen)
    LOGGER.propagate = False
    os.environ[_LEVEL] = chosen.lower()


Told = tuple[int, str, Mapping[str, Any], str]
"""A log record for another machine: level, event, fields, traceback or nothing."""


class _ForwardingHandler(logging.Handler):
    """Has what is logged here logged by another machine."""

    def __init__(self, send: Callable[[Told], None]) -> None:
        super().__init__()
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        fields: Mapping[str, Any] = getattr(record, "fields", {})
        if "node" in fields:  # it came from elsewhere
            return
        plain = {
            name: value if isinstance(value, str | int | float | None) else str(value)
            for name, value in fields.items()
        }
        traceback = _traceback(logging.Formatter(), record)
        self._send((record.levelno, redact(record.getMessage()), plain, redact(traceback)))


@contextmanager
def forwarding_logs(level: int, send: Callable[[Told], None]) -> Iterator[None]:
    """Send what is logged from *level* on within the block, from any thread."""
    handler, before = _ForwardingHandler(send), LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(level)
    try:
        yield
    finally:
        LOGGER.setLevel(before)
        LOGGER.removeHandler(handler)


def relog(told: Told, node: str) -> None:
    """Log here what was *told* on *node*."""
    level, event, fields, traceback = told
    if LOGGER.isEnabledFor(level):
        record = LOGGER.makeRecord(LOGGER.name, level, "", 0, event, (), None)
        record.exc_text = traceback or None
        record.fields = {**fields, "run": _run.get(), "node": node}
        LOGGER.handle(record)


def child_environment() -> dict[str, str]:
    """Return environment variables for a process that logs for this run."""
    return {_RUN: _run.get() or ""}


def configure_from_environment() -> None:
    """Log as the process that started this one does; nothing where it logs nothing."""
    level = os.environ.get(_LEVEL)
    if level in LEVELS:
        path = os.environ.get(_FILE)
        log_to(Path(path) if path else None, level)
        _run.set(os.environ.get(_RUN) or None)
