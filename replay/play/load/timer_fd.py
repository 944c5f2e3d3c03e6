"""
Linux timers that are files (timerfd_create(2)), so that an event loop can wait for them.

They are as exact as the kernel's clock, where a loop's own timers go to epoll_wait in whole
milliseconds. Python has them since 3.13; before that they are called in the C library.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from typing import Any

_SHORTEST_S = 1e-9
"""A timer of 0 is one that is switched off."""


class TimerFd:
    """
    One timer, which makes ``fd`` readable when it runs out.

    Raises:
        OSError: this machine has no such timers.
    """

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise OSError("only Linux has timers that are files")
        if sys.version_info >= (3, 13):
            self.fd = os.timerfd_create(time.CLOCK_MONOTONIC, flags=os.TFD_NONBLOCK | os.TFD_CLOEXEC)
        else:
            self.fd = _checked(_library().timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC))

    def start(self, after_s: float) -> None:
        """Let it run out *after_s* seconds from now, once; ``fd`` is not readable before that."""
        self._set(max(after_s, _SHORTEST_S))

    def stop(self) -> None:
        """Don't let it run out; ``fd`` is not readable any more."""
        self._set(0.0)

    def close(self) -> None:
        """Give the file back."""
        os.close(self.fd)

    # Setting it also takes back that it ran out (read(2) of timerfd_create: expirations are counted
    # "since its settings were last modified"), so that nothing ever needs to be read from the file.
    if sys.platform == "linux" and sys.version_info >= (3, 13):

        def _set(self, after_s: float) -> None:
            os.timerfd_settime(self.fd, initial=after_s)

    else:

        def _set(self, after_s: float) -> None:
            setting = _Setting(value=_Timespec(int(after_s), int(after_s % 1 * 1e9)))
            _checked(_library().timerfd_settime(self.fd, 0, ctypes.byref(setting), None))


class _Timespec(ctypes.Structure):
    _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long))


class _Setting(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


_loaded: Any = None


def _library() -> Any:
    global _loaded
    if _loaded is None:
        library = ctypes.CDLL(None, use_errno=True)
        if not hasattr(library, "timerfd_settime"):
            raise OSError("this C library has no timers that are files")
        _loaded = library
    return _loaded


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
