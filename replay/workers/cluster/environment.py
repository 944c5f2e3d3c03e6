"""
What Ray changes of a whole process, put back: whoever calls us hasn't asked for it.

Importing Ray (2.60) takes over ``sys.excepthook`` and the factory of log records, gives its logger a handler,
puts libraries of its own first on the search path; connecting switches ``faulthandler`` on and sets
``PYTHONBREAKPOINT``.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

_VARIABLES = ("PYTHONBREAKPOINT", "RAY_CLIENT_MODE")
_LOGGERS = ("ray", "ray.rllib")


@contextmanager
def restored_environment() -> Iterator[None]:
    """Around the use of Ray: all that is afterwards as it was. Within, its logger prints nothing."""
    hook, factory, path = sys.excepthook, logging.getLogRecordFactory(), list(sys.path)
    finds_faults = faulthandler.is_enabled()
    variables = {name: os.environ.get(name) for name in _VARIABLES}
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    logs = [(log, list(log.handlers), log.level, log.propagate) for log in loggers]
    sys.path[:0] = _libraries_of_ray()
    quiet = logging.NullHandler()  # else what nobody handles goes to stderr
    loggers[0].addHandler(quiet)
    try:
        yield
    finally:
        sys.excepthook = hook
        logging.setLogRecordFactory(factory)
        sys.path[:] = path
        if not finds_faults:
            faulthandler.disable()
        for name, value in variables.items():
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})
        for log, handlers, level, propagate in logs:
            log.handlers[:] = handlers
            log.setLevel(level)
            log.propagate = propagate


def _libraries_of_ray() -> list[str]:
    """Where they are: Ray looks for them on the search path again and again, and puts them there once."""
    found = find_spec("ray")
    if found is None or found.origin is None:
        return []
    place = str(Path(found.origin).parent / "thirdparty_files")
    return [] if place in sys.path else [place]
