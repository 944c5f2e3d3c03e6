"""The study's web server: pages for raters and one for the study's owner."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from aiohttp import web

from replay.core.errors import InputError, ReplayError
from replay.study.pages.access import Access
from replay.study.pages.owner import OwnerPages
from replay.study.pages.render import FILES, POLICY, render
from replay.study.pages.search import search_passages
from replay.study.pages.talk import TalkPages, number_in
from replay.study.running.flow import Flow, PlainScreen, Screen
from replay.study.running.joining import join, platform_id
from replay.study.running.live import LiveTalks
from replay.study.running.practice import FeedbackScreen, PracticeOverScreen
from replay.study.running.task_screens import ScreenId, StepScreen, TalkScreen
from replay.study.running.withdrawal import leave
from replay.study.tasks import Rater

_log = logging.getLogger(__name__)
TEMPLATES: dict[type[Screen], str] = {
    PlainScreen: "plain.html",
    FeedbackScreen: "feedback.html",
    PracticeOverScreen: "practice_over.html",
    TalkScreen: "talk.html",
    StepScreen: "step.html",
}
UNWRITTEN = "unwritten"
"""In the place of a field that something is wrong with: the database can't be written."""
_TELLING = ("Allow", "Retry-After")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class StudyPages:
    """The web application of one study; all its addresses are below *root*."""

    def __init__(
        self,
        flow: Flow,
        live: LiveTalks,
        *,
        root: str = "",
        names: Collection[str] = (),
        origin: str | None = None,
    ) -> None:
        """
        *names* are the server's beside its address; *origin* is what stands before *root* in the links that
        people are given, where that isn't the address that the owner's browser has reached.
        """
        self._flow = flow
        self._live = live
        self._root = root
        self._origin = origin
        secure = origin is not None and origin.startswith("https://")
        self.access: Access = Access(flow.store, root=root, names=names, secure=secure)

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._guarded], client_max_size=256 * 1024)
        # A HEAD would give a task to whoever only wants to know whether the page is there.
        get, post, root = partial(app.router.add_get, allow_head=False), app.router.add_post, self._root
        app.router.add_get(f"{root}/static/{{stamp}}/{{name}}", self._asset)
        get(f"{root}/join/{{key}}", self._join)
        get(f"{root}/rate", self._rate)
        get(f"{root}/rate/{{assignment:[0-9]{{1,9}}}}/{{step}}", self._rate_task)
        get(f"{root}/rate/search", self._search)
        post(f"{root}/rate/consent", self._does(lambda rater, form: self._flow.consent(rater)))
        post(f"{root}/rate/decline", self._does(lambda rater, form: self._flow.decline(rater)))
        post(f"{root}/rate/begin", self._does(lambda rater, form: self._flow.begin(rater)))
        post(f"{root}/rate/answer", self._answer)
        post(f"{root}/rate/leave", self._does(lambda rater, form: leave(self._flow.store, rater.id)))
        post(f"{root}/rate/practice", self._does(self._go_on))
        TalkPages(self._live, self.access, self._again).add_to(app, root)
        OwnerPages(self._flow, self.access, self._page, origin=self._origin).add_to(app, root)
        return app

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        response: web.StreamResponse
        try:
            self.access.check_host_and_origin(request)
            response = await handler(request)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            response = self._error(error.status, error.reason)
            response.headers.update({key: error.headers[key] for key in _TELLING if key in error.headers})
        except ReplayError as error:
            response = self._error(500, str(error))
        except Exception as error:  # noqa: BLE001 - whoever looks gets an answer; the log has the rest
            _log.exception("%s failed", request.path)
            what = "a fault of the server; its log says more"
            if isinstance(error, sqlite3.OperationalError):
                what = f"the server can't write to its disk ({error})"
            sent = "What you sent is not saved: go back, and send it once more. " * (request.method == "POST")
            response = self._error(500, f"{what}. {sent}What was saved before is kept.")
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        # With "no-referrer" browsers would send forms from "null", and no page of ours could be told.
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        return response

    def _error(self, status: int, message: str) -> web.Response:
        return _html(self._page("error.html", status=status, message=message), status=status)

    def _page(self, template: str, **content: Any) -> str:
        study = self._flow.file.study
        return render(template, root=self._root, name=study.name, contact=study.contact, **content)

    async def _asset(self, request: web.Request) -> web.Response:
        path = FILES.get(request.match_info["name"])
        if path is None:
            raise web.HTTPNotFound(reason="there is no such file")
        kind = "text/css" if path.suffix == ".css" else "text/javascript"
        return web.Response(
            body=path.read_bytes(),
            content_type=kind,
            charset="utf-8",
            headers={"Cache-Control": "public, max-age=31536000, immutable"},
        )

    # Raters ------------------------------------------------------------------------------------------

    async def _join(self, request: web.Request) -> web.Response:
        """By the link that all people of a platform have."""
        self.access.check_entry(request)
        platform = self._flow.file.study.platform
        if platform is None:
            raise web.HTTPNotFound(reason="this study has no link for everyone; open the one that is yours")
        id = platform_id(platform, request.query)
        found = "" if id is None else await asyncio.to_thread(join, self._flow.store, platform, id)
        if isinstance(found, Rater):
            return self.access.let_in(request, self.access.rater_token(found.id))
        return _html(self._page("join.html", platform=platform, refused=found))

    async def _rate(self, request: web.Request) -> web.Response:
        if response := self.access.token_to_cookie(request):
            return response
        rater = self.access.rater(request)
        screen = await asyncio.to_thread(self._flow.screen, rater, note=False)
        self._leave_for(screen)
        return _html(self._screen(request, screen))

    async def _rate_task(self, request: web.Request) -> web.Response:
        """A screen of a task, at its own address."""
        rater, at = self.access.rater(request), request.match_info
        screen = await asyncio.to_thread(
            self._flow.screen_at, rater, ScreenId(int(at["assignment"]), at["step"])
        )
        if screen is None:
            raise web.HTTPSeeOther(f"{self._root}/rate")
        if isinstance(screen, TalkScreen) and screen.talk.waiting:
            # It may have been given back meanwhile, and nobody waited for its answer when the server started.
            self._live.go_on(screen.talk.assignment.id)
        return _html(self._screen(request, screen))

    def _leave_for(self, screen: Screen) -> None:
        """
        Raises:
            web.HTTPSeeOther: *screen* has an address of its own.
        """
        if isinstance(screen, StepScreen | TalkScreen):
            raise web.HTTPSeeOther(f"{self._root}/rate/{screen.id.assignment}/{quote(screen.id.step)}")

    def _screen(
        self,
        request: web.Request,
        screen: Screen,
        faults: dict[str, str] | None = None,
        form: dict[str, str] | None = None,
    ) -> str:
        template = TEMPLATES[type(screen)]
        return self._page(
            template,
            screen=screen,
            study=self._flow.file.study,
            preset=self._flow.file.preset,
            faults=faults or {},
            form=form or {},
            form_token=self.access.form_token(request),
            click=uuid4().hex,
        )

    def _does(self, what: Callable[[Rater, dict[str, str]], object]) -> Handler:
        """A click that does *what* and then shows what comes next."""

        async def handler(request: web.Request) -> web.Response:
            rater, form = self.access.rater(request), await self.access.form(request)
            await asyncio.to_thread(what, rater, form)
            raise web.HTTPSeeOther(f"{self._root}/rate")

        return handler

    def _go_on(self, rater: Rater, form: dict[str, str]) -> None:
        self._flow.practice.go_on(rater, number_in(form, "assignment"))

    async def _answer(self, request: web.Request) -> web.Response:
        rater, form = self.access.rater(request), await self.access.form(request)
        id = ScreenId(number_in(form, "assignment"), form.get("step", ""))
        try:
            faults = await asyncio.to_thread(self._flow.answer, rater, *id, form, form.get("click", ""))
        except InputError as error:
            return _html(self._page("not_saved.html", reason=str(error)), status=409)
        except sqlite3.OperationalError as error:
            # With what was written, which is nowhere else.
            _log.error("%s is not saved: %s", request.path, error)
            return await self._again(request, rater, {UNWRITTEN: str(error)}, form, id, status=503)
        if faults:
            return await self._again(request, rater, faults, form, id)
        self._leave_for(await asyncio.to_thread(self._flow.after, rater, id.assignment))
        raise web.HTTPSeeOther(f"{self._root}/rate")

    async def _again(
        self,
        request: web.Request,
        rater: Rater,
        faults: dict[str, str],
        form: dict[str, str],
        id: ScreenId | None = None,
        status: int = 422,
    ) -> web.Response:
        """The screen with what was sent, and what is wrong with it."""

        def current() -> Screen:
            screen = None if id is None else self._flow.screen_at(rater, id, note=False)
            return screen or self._flow.screen(rater, note=False)

        screen = await asyncio.to_thread(current)
        return _html(self._screen(request, screen, faults, form), status=status)

    async def _search(self, request: web.Request) -> web.Response:
        found = await search_passages(request, self._flow, self.access.rater(request))
        return _html(self._page("search.html", **found))


def _html(text: str, status: int = 200) -> web.Response:
    return web.Response(body=text.encode(), status=status, content_type="text/html", charset="utf-8")
