"""
Every exception this project raises on purpose, by who can mend it.

    ReplayError
    ├── InputError                    the author of a file or a command line (exit code 2)
    │   ├── ScenarioError             a scenario file; lists all its faults at once
    │   ├── DatasetError              a line of a data file
    │   └── RunError                  a run's folder or database: missing, locked, from another version
    ├── PluginError                   whoever installed or wrote a plug-in (exit code 2)
    │   └── PluginNotFoundError
    ├── CodeNotRunError               nobody: what a scenario or a run names is not run to look at it
    ├── ResolverError                 the coreference resolver or its worker process
    ├── ReadingError                  a question that got no reading; it is not judged, never stops a run
    ├── RewriteError                  a rewriter; becomes an edit "rewrite-failed", never stops a run
    ├── RunStoppedError               whoever keeps an endpoint: it refuses our key, or fails again and again
    └── AdapterError                  the system under test; becomes a record's outcome, never stops a run
        ├── AdapterTimeoutError       outcome "timed-out"
        ├── AdapterConnectionError    outcome "connection-failed"
        ├── AdapterRateLimitedError   outcome "rate-limited"
        ├── AdapterRefusedError       outcome "refused"
        ├── AdapterReplyError         outcome "bad-reply"
        ├── AdapterCutOffError        outcome "cut-off"
        └── ToolLoopError             outcome "unfinished"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar


class ReplayError(Exception):
    """Base of all errors of this project; ``str(error)`` is a message for a person."""


class InputError(ReplayError):
    """Something the user wrote or named can't be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing wrong in a scenario file."""

    path: str
    """Key path, as in ``systems[0].settings.base_url``; empty for the file as a whole."""
    message: str
    """What was found, what is allowed, and the nearest match of a misspelt name."""
    line: int | None = None
    """1-based line in the file, where the fault has one."""


class ScenarioError(InputError):
    """A scenario that can't be run. *faults* holds every fault found, in file order."""

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        self.source = source
        self.faults: tuple[Fault, ...] = tuple(faults)
        super().__init__(self._text())

    def _text(self) -> str:
        count = len(self.faults)
        places = [f"line {f.line}" if f.line is not None else "" for f in self.faults]
        place_width = max((len(p) for p in places), default=0)
        path_width = max((len(f.path) for f in self.faults), default=0)
        rows = [
            f"  {place:<{place_width}}  {fault.path:<{path_width}}  {fault.message}".rstrip()
            for place, fault in zip(places, self.faults, strict=True)
        ]
        return "\n".join([f"{self.source}: {count} problem{'s' if count != 1 else ''}", *rows])


class DatasetError(InputError):
    """A conversation that can't be read; names file, line (or item) and field."""

    def __init__(self, message: str, *, path: str, line: int | None = None, field: str | None = None) -> None:
        message = readable(message)
        self.message: str = message
        self.path = path
        self.line = line
        field = None if field is None else readable(field)
        self.field: str | None = field
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {field + ': ' if field else ''}{message}")


def readable(message: str) -> str:
    """Return *message* without its middle if it is too long to read, as when it quotes a value."""
    return message if len(message) <= 1_000 else f"{message[:600]} ... {message[-300:]}"


class RunError(InputError):
    """A run that can't be opened, resumed or read."""


class PluginError(ReplayError):
    """A plug-in is there but can't be used."""


class PluginNotFoundError(PluginError):
    """No plug-in has the name that was asked for."""


class CodeNotRunError(ReplayError):
    """Code outside installed plug-ins was met where something is only looked at; it was not imported."""

    def __init__(self, target: str) -> None:
        """*target* names the code, as ``file.py:attribute`` or ``module:attribute``."""
        super().__init__(f'"{target}" is code, which is not run to look at something')
        self.target = target


class ResolverError(ReplayError):
    """The coreference resolver failed; the run stops, since drift can't be detected without it."""


class ReadingError(ReplayError):
    """A model or a worker gave no reading of a question; it is not judged, with the reason in its record."""


class RewriteError(ReplayError):
    """A question could not be rewritten; it is asked as recorded, with the reason in its record."""


class RunStoppedError(ReplayError):
    """A run, or its judging, that was stopped since an endpoint fails; what was answered is kept."""


class AdapterError(ReplayError):
    """
    One ask that brought no answer.

    An adapter raises one of the subclasses; the player turns it into a record with the
    subclass's ``outcome`` and, if ``retryable``, may ask again first.
    """

    outcome: ClassVar[str]

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        reached: bool = True,
        retry_after_s: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        """Asking the same again may succeed."""
        self.reached = reached
        """The system may have taken the question in. A session kept by the system is not asked
        twice after that, since the question could then stand in its history twice."""
        self.retry_after_s = retry_after_s
        """What the system asked for, in seconds."""
        self.status = status
        """HTTP status, where there is one."""
        self.raw: bytes | None = None
        """What came back all the same, as it came; for runs that keep it."""


class AdapterTimeoutError(AdapterError):
    """No complete reply before the deadline."""

    outcome = "timed-out"


class AdapterConnectionError(AdapterError):
    """The system could not be reached, or the connection broke."""

    outcome = "connection-failed"


class AdapterRateLimitedError(AdapterError):
    """The system asked for fewer requests (HTTP 429)."""

    outcome = "rate-limited"


class AdapterRefusedError(AdapterError):
    """The system answered that it will not or can not answer (HTTP 4xx and 5xx)."""

    outcome = "refused"


class AdapterReplyError(AdapterError):
    """A reply came but holds no usable answer."""

    outcome = "bad-reply"


class AdapterCutOffError(AdapterError):
    """A reply that had begun ended before it was complete; ``partial`` is the text that had come."""

    outcome = "cut-off"

    def __init__(
        self, message: str, *, partial: str, retryable: bool = True, status: int | None = None
    ) -> None:
        super().__init__(message, retryable=retryable, status=status)
        self.partial = partial


class ToolLoopError(AdapterError):
    """A system's calls of tools came to no answer: a result that nobody knows, or calls without end."""

    outcome = "unfinished"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """
    Turn a failure to write *path* within the block into an error of ours.

    Raises:
        InputError: it can't be.
    """
    try:
        yield
    except OSError as error:
        raise InputError(f'"{path}" can\'t be written: {error.strerror or error}') from error
