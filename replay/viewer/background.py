"""What a viewer computes while its pages are looked at: each thing by one task at a time, failures kept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from replay.core.errors import ReplayError

_log = logging.getLogger(__name__)


class BackgroundTask:
    """Tasks by what they compute; ``in`` says whether one is under way."""

    def __init__(self) -> None:
        self._tasks: dict[object, asyncio.Task[None]] = {}
        self.failed: dict[object, str] = {}
        """Why the last try at something failed, until one succeeds."""

    def __contains__(self, what: object) -> bool:
        return what in self._tasks

    def start(self, what: object, compute: Callable[[], Awaitable[None]]) -> None:
        """Compute *what*, unless that is under way."""
        if what not in self._tasks:
            self._tasks[what] = asyncio.create_task(self._compute(what, compute))

    async def stop(self) -> None:
        """Cancel what is under way, and wait for its end."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _compute(self, what: object, compute: Callable[[], Awaitable[None]]) -> None:
        try:
            await compute()
            self.failed.pop(what, None)
        except ReplayError as error:
            self.failed[what] = str(error)
        except Exception as error:  # noqa: BLE001 - the page has to say that nothing will come
            _log.exception("numbers of %s", what)
            self.failed[what] = f"the numbers could not be computed: {error}"
        finally:
            del self._tasks[what]
