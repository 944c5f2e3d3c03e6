"""
The study's web server: pages for raters, their talks, and pages for the study's owner, made from templates.

Nothing that is sent from talks says which system is talked with, or what it said of a failure. All that goes
into a page is escaped.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import uuid4

from aiohttp import web
from jinja2 import Environment

from replay.core.errors import InputError, ReplayError
from replay.core.terminal import clip
from replay.study.pages.access import Access, number_in
from replay.study.pages.owner import OwnerPages
from replay.study.preset import Passages, Transcript
from replay.study.running.flow import Flow, PlainScreen, Screen
from replay.study.running.live import LiveTalks
from replay.study.running.participation import join, leave, platform_id
from replay.study.running.practice import FeedbackScreen, PracticeOverScreen
from replay.study.running.task_screens import ScreenId, StepScreen, TalkScreen
from replay.study.tasks import Index, Rater
from replay.web.app import Failure, Handler, add_assets, content_policy, html, new_app, stamp_of
from replay.web.pages import STATIC, differing, make_environment

FOLDER = Path(__file__).resolve().parent
_FILES = {
    path.name: path
    for path in (STATIC / "page.css", STATIC / "theme.js", *sorted((FOLDER / "static").iterdir()))
}
"""All that a page loads."""
POLICY = content_policy()
# A fence and all to its end, or two lines and more of a table: with bars, with rulers, or with tabs.
_FIXED = re.compile(
    r"^[ ]{0,3}```[^\n]*\n(?:(?![ ]{0,3}```)[^\n]*\n)*[ ]{0,3}```[^\n]*(?:\n|\Z)"
    r"|(?:^[ ]{0,3}[|+][^\n]*(?:\n|\Z)){2,}"
    r"|(?:^[^\t\n]*\t[^\n]*(?:\n|\Z)){2,}",
    re.MULTILINE,
)


def render(template: str, /, **content: Any) -> str:
    """Return the page that *template* makes of *content*."""
    return _environment().get_template(template).render(stamp=_stamp(), **content)


def find(name: str) -> bytes | None:
    """Return the script or style that pages load by *name*; None where there is none."""
    return _FILES[name].read_bytes() if name in _FILES else None


@cache
def _environment() -> Environment:
    made = make_environment(FOLDER / "templates")
    made.filters.update(clipped=partial(clip, first=2_000, most=50_000))
    made.filters.update(pieces=pieces, differing=differing, paragraphs=paragraphs)
    made.tests.update(source=lambda block: isinstance(block, Passages | Index | Transcript))
    return made


@cache
def _stamp() -> str:
    return stamp_of(_FILES.values())


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of *text*, between blank lines; line breaks stay before items of a list."""
    return [
        re.sub(r" *\n *+(?!(?:[-*•–]|\d+[.)]) )", " ", paragraph.strip())
        for paragraph in re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip())
    ]


class PagePiece(NamedTuple):
    """Part of a text."""

    text: str
    fixed: bool
    """Code, or rows of a table."""


def pieces(text: str) -> list[PagePiece]:
    """
    Return *text* in pieces by whether it has code or tables, which keep their lines and scroll on their own.

    None is empty; put together, they are the text, so that spans can be copied.
    """
    found: list[PagePiece] = []
    end = 0
    for match in _FIXED.finditer(text):
        if match.start() > end:
            found.append(PagePiece(text[end : match.start()], False))
        found.append(PagePiece(match[0], True))
        end = match.end()
    if end < len(text):
        found.append(PagePiece(text[end:], False))
    return found


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
        self._names = names
        self._origin = origin
        secure = origin is not None and origin.startswith("https://")
        self.access: Access = Access(flow.store, root=root, secure=secure)

    def app(self) -> web.Application:
        app = new_app(
            error=self._error,
            policy=POLICY,
            own_failure=self._own_failure,
            names=self._names,
            hint="; its owner can allow that (--allow-host)",
            # With "no-referrer" browsers would send forms from "null", and no page of ours could be told.
            referrer="same-origin",
        )
        # A HEAD would give a task to whoever only wants to know whether the page is there.
        get, post, root = partial(app.router.add_get, allow_head=False), app.router.add_post, self._root
        add_assets(app, root, find)
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
        talking = self._live.talking
        clicks: Mapping[str, Callable[[Rater, int, Mapping[str, str]], object]] = {
            "again": lambda rater, id, form: talking.again(rater, id, number_in(form, "attempts")),
            "take-back": lambda rater, id, form: talking.take_back(rater, id, number_in(form, "depth")),
            "end": lambda rater, id, form: talking.end(rater, id),
            "set-aside": lambda rater, id, form: talking.set_aside(rater, id),
            "noted": lambda rater, id, form: talking.note(rater),
        }
        get(f"{root}/rate/talk/state", self._talk_state)
        post(f"{root}/rate/talk/ask", self._ask)
        for name, click in clicks.items():
            post(f"{root}/rate/talk/{name}", self._does_in_talk(click))
        app.cleanup_ctx.append(self._lifetime)
        OwnerPages(self._flow, self.access, self._page, origin=self._origin).add_to(app, root)
        return app

    def _own_failure(self, request: web.Request, error: Exception) -> Failure | None:
        """Return what to say of a fault while somebody works, whose words may be nowhere else."""
        if isinstance(error, web.HTTPException | ReplayError):
            return None
        _log.error("%s failed", request.path, exc_info=error)
        what = "a fault of the server; its log says more"
        if isinstance(error, sqlite3.OperationalError):
            what = f"the server can't write to its disk ({error})"
        sent = "What you sent is not saved: go back, and send it once more. " * (request.method == "POST")
        return Failure(status=500, message=f"{what}. {sent}What was saved before is kept.")

    def _error(self, failure: Failure) -> web.Response:
        text = self._page("error.html", status=failure.status, message=failure.message)
        return html(text, failure.status, failure.headers)

    def _page(self, template: str, **content: Any) -> str:
        study = self._flow.file.study
        return render(template, root=self._root, name=study.name, contact=study.contact, **content)

    async def _lifetime(self, _: web.Application) -> AsyncIterator[None]:
        async with self._live.running():  # ask systems as long as the application runs
            yield

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
        return html(self._page("join.html", platform=platform, refused=found))

    async def _rate(self, request: web.Request) -> web.Response:
        if response := self.access.token_to_cookie(request):
            return response
        rater = self.access.rater(request)
        screen = await asyncio.to_thread(self._flow.screen, rater, note=False)
        self._leave_for(screen)
        return html(self._screen(request, screen))

    async def _rate_task(self, request: web.Request) -> web.Response:
        """Respond with a screen of a task, at its own address."""
        rater, at = self.access.rater(request), request.match_info
        screen = await asyncio.to_thread(
            self._flow.screen_at, rater, ScreenId(int(at["assignment"]), at["step"])
        )
        if screen is None:
            raise web.HTTPSeeOther(f"{self._root}/rate")
        if isinstance(screen, TalkScreen) and screen.talk.waiting:
            # It may have been given back meanwhile, and nobody waited for its answer when the server started.
            self._live.go_on(screen.talk.assignment.id)
        return html(self._screen(request, screen))

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
        """Return the handler of a click that does *what* and then shows what comes next."""

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
            return html(self._page("not_saved.html", reason=str(error)), status=409)
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
        """Return the screen with what was sent, and what is wrong with it."""

        def current() -> Screen:
            screen = None if id is None else self._flow.screen_at(rater, id, note=False)
            return screen or self._flow.screen(rater, note=False)

        screen = await asyncio.to_thread(current)
        return html(self._screen(request, screen, faults, form), status=status)

    # Talks -------------------------------------------------------------------------------------------

    async def _ask(self, request: web.Request) -> web.Response:
        rater, form = self.access.rater(request), await self.access.form(request)
        assignment, depth = number_in(form, "assignment"), number_in(form, "depth")
        asked = (assignment, depth, form.get("question", ""), form.get("click", ""))
        try:
            fault = await asyncio.to_thread(self._live.talking.say, rater, *asked)
        except sqlite3.OperationalError as error:
            fault = f"This was not sent: the server can't write to its disk ({error}). Try again later."
        if fault:
            return await self._again(request, rater, {"question": fault}, form)
        self._live.go_on(assignment)
        raise web.HTTPSeeOther(f"{self._root}/rate")

    def _does_in_talk(self, click: Callable[[Rater, int, Mapping[str, str]], object]) -> Handler:
        """Return the handler of a *click* in a talk, which then goes on."""

        async def handler(request: web.Request) -> web.Response:
            rater, form = self.access.rater(request), await self.access.form(request)
            assignment = number_in(form, "assignment")
            await asyncio.to_thread(click, rater, assignment, form)
            self._live.go_on(assignment)
            raise web.HTTPSeeOther(f"{self._root}/rate")

        return handler

    async def _talk_state(self, request: web.Request) -> web.Response:
        """Return whether an answer is still on its way, for the script of a page that waits for it."""
        rater, assignment = self.access.rater(request), number_in(request.query, "assignment")
        talk = await asyncio.to_thread(self._live.talking.own, rater, assignment)
        return web.json_response(
            {"waiting": talk is not None and talk.waiting, "slow": talk is not None and talk.slow}
        )

    async def _search(self, request: web.Request) -> web.Response:
        """
        Search the study's passages: a page of its own, of which the screen's script takes what was found.

        It is there for whoever has a screen with an index open, and for nobody before their talk is over.
        """
        index = await asyncio.to_thread(self._flow.index, self.access.rater(request))
        if index is None:
            raise web.HTTPNotFound(reason="there is nothing to search now; go back to your task")
        words, page = request.query.get("words", "").strip()[:500], request.query.get("page", "1")
        found = await asyncio.to_thread(
            self._flow.store.index.search,
            words,
            of=index.conversation,
            page=int(page) if page.isascii() and page.isdecimal() and len(page) < 7 else 1,
        )
        return html(self._page("search.html", index=index, words=words, found=found))
