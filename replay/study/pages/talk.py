"""The addresses of talks. Nothing that is sent from here says which system is talked with, or what it said of
a failure."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Protocol

from aiohttp import web

from replay.study.pages.access import Access
from replay.study.running.live import LiveTalks
from replay.study.tasks import Rater


class ShowAgain(Protocol):
    """Shows the screen with what was sent, and what is wrong with it."""

    def __call__(
        self, request: web.Request, rater: Rater, faults: dict[str, str], form: dict[str, str]
    ) -> Awaitable[web.Response]: ...


Click = Callable[[Rater, int, Mapping[str, str]], object]


class TalkPages:
    """What is below ``/rate/talk``."""

    def __init__(self, live: LiveTalks, access: Access, again: ShowAgain) -> None:
        self._live = live
        self._talking = live.talking
        self._access = access
        self._again = again

    def add_to(self, app: web.Application, root: str) -> None:
        """Add the addresses below *root*, and ask systems as long as *app* runs."""
        self._root = root
        talking = self._talking
        clicks: Mapping[str, Click] = {
            "again": lambda rater, id, form: talking.again(rater, id, number_in(form, "attempts")),
            "take-back": lambda rater, id, form: talking.take_back(rater, id, number_in(form, "depth")),
            "end": lambda rater, id, form: talking.end(rater, id),
            "set-aside": lambda rater, id, form: talking.set_aside(rater, id),
            "noted": lambda rater, id, form: talking.note(rater),
        }
        app.router.add_get(f"{root}/rate/talk/state", self._state)
        app.router.add_post(f"{root}/rate/talk/ask", self._ask)
        for name, click in clicks.items():
            app.router.add_post(f"{root}/rate/talk/{name}", self._does(click))
        app.cleanup_ctx.append(self._lifetime)

    async def _lifetime(self, _: web.Application) -> AsyncIterator[None]:
        async with self._live.running():
            yield

    async def _ask(self, request: web.Request) -> web.Response:
        rater, form = self._access.rater(request), await self._access.form(request)
        assignment = number_in(form, "assignment")
        try:
            fault = await asyncio.to_thread(
                self._talking.say,
                rater,
                assignment,
                number_in(form, "depth"),
                form.get("question", ""),
                form.get("click", ""),
            )
        except sqlite3.OperationalError as error:
            fault = f"This was not sent: the server can't write to its disk ({error}). Try again later."
        if fault:
            return await self._again(request, rater, {"question": fault}, form)
        self._live.go_on(assignment)
        raise web.HTTPSeeOther(f"{self._root}/rate")

    def _does(self, click: Click) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handler(request: web.Request) -> web.Response:
            rater, form = self._access.rater(request), await self._access.form(request)
            assignment = number_in(form, "assignment")
            await asyncio.to_thread(click, rater, assignment, form)
            self._live.go_on(assignment)
            raise web.HTTPSeeOther(f"{self._root}/rate")

        return handler

    async def _state(self, request: web.Request) -> web.Response:
        """Return whether an answer is still on its way, for the script of a page that waits for it."""
        rater = self._access.rater(request)
        assignment = number_in(request.query, "assignment")
        talk = await asyncio.to_thread(self._talking.own, rater, assignment)
        return web.json_response(
            {"waiting": talk is not None and talk.waiting, "slow": talk is not None and talk.slow}
        )


def number_in(form: Mapping[str, str], name: str) -> int:
    """
    Return the whole number that *form* has under *name*; 0, which is the number of nothing, without one.
    """
    text = form.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
