"""
The viewer: pages of any number of runs on this machine, computed in the background while they go on.

For one's own eyes: it binds to loopback, answers whoever has its token under its own name, changes nothing,
and lets no script in but its own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import quote

from aiohttp import web

from replay.core.errors import InputError, ReplayError
from replay.viewer import pages
from replay.viewer.conversation_index import ListQuery
from replay.viewer.conversation_view import address_in_viewer, conversation_view
from replay.viewer.difference_views import CompareView, comparisons_of
from replay.viewer.live_run import LiveRun, RunIndex
from replay.viewer.pages import VIEWS, render
from replay.viewer.run_numbers import BackgroundTask, Computing, GateResult, gate_of, numbers_of
from replay.viewer.turn_view import interventions_view
from replay.web.access import is_loopback, let_in_by_token
from replay.web.app import Failure, Handler, add_assets, html, new_app, serve

PAGE_ROWS = 50
RESAMPLES = 1000
AFTER_FAILURE_S = 15.0
"""Until numbers that could not be computed are tried again."""
_NUMBER = re.compile("[0-9]{1,9}")
"""Python takes more for digits than it makes a number of."""
STATIC = "/static/"
"""Below it is what comes with every installation, and nothing of a run."""


def check_loopback(host: str) -> None:
    """
    Make sure that *host* is this machine's loopback.

    Raises:
        InputError: it is not.
    """
    if not is_loopback(host):
        raise InputError(
            f"--host {host} is not loopback: the pages show all that was said, to anyone who can reach them; "
            "from another machine, use a tunnel (ssh -L 8765:127.0.0.1:8765)"
        )


async def serve_pages(
    folders: Sequence[Path],
    below: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """
    Serve the runs in *folders*, or all *below* a folder, until cancelled; *ready* is told the address.

    Whoever wants to see them has to show *token*; None lets in everybody who reaches the address.

    Raises:
        InputError: *host* is not loopback, nobody can listen there, or there is no run.
    """
    check_loopback(host)
    pages.plotly()
    index = RunIndex(folders, below)
    runs = await asyncio.to_thread(index.refresh)
    if folders and not runs:
        raise InputError("; ".join(index.problems.values()))
    viewer = Viewer(index, token)
    await serve(
        viewer.app(), host, port, ready=None if ready is None else lambda address: ready(f"{address}/")
    )


class Viewer:
    """The web application over the runs of an index."""

    def __init__(self, index: RunIndex, token: str | None) -> None:
        self._index = index
        self._token = token
        self._computer = Computing()
        self._warmed: set[str] = set()
        self._background = BackgroundTask()
        self._compared: dict[tuple[object, ...], list[CompareView]] = {}

    def app(self) -> web.Application:
        app = new_app(error=_error, policy=pages.policy_for_server(), let_in=self._let_in)
        app.cleanup_ctx.append(self._lifetime)
        get = app.router.add_get
        get("/", self._runs)
        get("/compare", self._compare)
        add_assets(app, "", pages.find)
        for name in VIEWS:
            get(f"/run/{{key}}/{'' if name == 'overview' else name}", self._of_numbers(name))
        get("/run/{key}/interventions", self._interventions)
        get("/run/{key}/conversations", self._conversations)
        get("/run/{key}/conversation", self._conversation)
        get("/run/{key}/state", self._state)
        return app

    async def _lifetime(self, app: web.Application) -> AsyncIterator[None]:
        yield
        await self._background.stop()
        await asyncio.to_thread(self._computer.close)
        self._index.close()

    def _let_in(self, request: web.Request) -> web.Response | None:
        """
        Return what *request* gets in place of a page; None where it may have that.

        Raises:
            web.HTTPUnauthorized: it may have nothing.
        """
        if request.path.startswith(STATIC):
            return None
        return let_in_by_token(
            request,
            self._token,
            "replay-view",
            "open the link that replay view printed: it holds the token to see the runs",
        )

    async def _runs(self, request: web.Request) -> web.Response:
        rows = await asyncio.to_thread(lambda: [one.row() for one in self._index.refresh()])
        if waiting := [row.watched for row in rows if row.gate is None]:
            self._background.start("gates", lambda: self._gates(waiting))
        return html(
            render(
                "runs.html",
                rows=rows,
                waiting=bool(waiting),
                problems=self._index.problems,
                **_page_context(None, ""),
            )
        )

    async def _gates(self, runs: Sequence[LiveRun]) -> None:
        """One after the other, so that whoever opens a run waits for one of them at most."""
        for watched in runs:
            stamp = await asyncio.to_thread(watched.stamp)
            try:
                gate = await self._computer.call(gate_of, watched.run.folder)
            except ReplayError as error:
                gate = GateResult(results=(), problem=str(error))
            watched.keep_gate(gate, stamp)

    def _of_numbers(self, name: str) -> Handler:
        """Return the handler of a page on a run's numbers, which says so while they are being computed."""

        def page(watched: LiveRun) -> str:
            numbers = watched.numbers
            view = None if numbers is None else VIEWS[name](watched.run, numbers, address_in_viewer)
            return self._page(name, watched, **{name: view})

        async def handler(request: web.Request) -> web.Response:
            return await self._show(request, page, numbers=True)

        return handler

    async def _interventions(self, request: web.Request) -> web.Response:
        reason, number = request.query.get("reason", ""), _page_number(request)

        def page(watched: LiveRun) -> str:
            view = interventions_view(
                watched.browser,
                address_in_viewer,
                occasion=reason,
                first=(number - 1) * PAGE_ROWS,
                count=PAGE_ROWS,
            )
            return self._page("interventions", watched, interventions=view, number=number, in_viewer=True)

        return await self._show(request, page)

    async def _conversations(self, request: web.Request) -> web.Response:
        query = request.query
        listed = ListQuery(
            text=query.get("q", "")[:500],
            order=query.get("sort", ""),
            system=query.get("system", ""),
            policy=query.get("policy", ""),
            only=query.get("only", ""),
        )
        number = _page_number(request)

        def page(watched: LiveRun) -> str:
            rules = watched.broken_rules
            broken = next((one for one in rules if one.id == listed.only), None)
            with watched.looking:
                index = watched.index()
                found = index.page(listed, broken=broken, first=(number - 1) * PAGE_ROWS, count=PAGE_ROWS)
                groups = index.groups
            return self._page(
                "conversations",
                watched,
                page=found,
                question=listed,
                number=number,
                last=max(1, -(-found.found // PAGE_ROWS)),
                units=watched.score_kinds().units,
                groups=groups,
                rules=rules,
                broken=broken,
                computing=bool(listed.only) and not listed.kind and watched.numbers is None,
            )

        return await self._show(request, page, numbers=bool(listed.only) and not listed.kind)

    async def _conversation(self, request: web.Request) -> web.Response:
        id, only = request.query.get("id", ""), request.query.get("only", "")

        def page(watched: LiveRun) -> str:
            view = conversation_view(watched.browser, id, watched.score_kinds(), broken=watched.broken_rules)
            if view is None:
                raise web.HTTPNotFound(reason="there is no such conversation in this run")
            return self._page("conversation", watched, view=view, back=f"conversations?only={quote(only)}")

        return await self._show(request, page)

    async def _run_by_key(self, key: str) -> LiveRun:
        try:
            return await asyncio.to_thread(self._index.get, key)
        except KeyError:
            raise web.HTTPNotFound(reason="there is no such run") from None

    async def _show(
        self, request: web.Request, page: Callable[[LiveRun], str], *, numbers: bool = False
    ) -> web.Response:
        watched = await self._run_by_key(request.match_info["key"])
        if numbers:
            await self._compute_numbers(watched)
        text = await asyncio.to_thread(page, watched)
        if watched.key not in self._warmed:
            # The list will be wanted next; only now, so that the first page doesn't wait for it.
            self._warmed.add(watched.key)
            self._background.start(("list", watched.key), lambda: asyncio.to_thread(watched.warm_up))
        return html(text)

    def _page(self, name: str, watched: LiveRun, **content: Any) -> str:
        return render(
            "page.html",
            part=f"{name}.html",
            facts=watched.facts(),
            failed=self._background.failed.get(watched.key),
            list_at="conversations",
            has_load=watched.is_load,
            has_people=watched.has_people,
            has_recorded=watched.has_recorded,
            has_user=watched.has_user,
            **content,
            **_page_context(watched, name),
        )

    # What takes long ---------------------------------------------------------------------------------

    async def _compute_numbers(self, watched: LiveRun) -> None:
        if watched.key not in self._background and await asyncio.to_thread(watched.wants_numbers):
            self._background.start(watched.key, lambda: self._numbers(watched))

    async def _numbers(self, watched: LiveRun) -> None:
        stamp, began = await asyncio.to_thread(watched.stamp), monotonic()
        watched.postpone(AFTER_FAILURE_S)
        numbers = await self._computer.call(numbers_of, watched.run.folder, RESAMPLES)
        await asyncio.to_thread(watched.keep, numbers, stamp, took_s=monotonic() - began)

    async def _state(self, request: web.Request) -> web.Response:
        """Respond to a page's poll with the run's state: a small JSON body, or 304 if nothing has changed."""
        watched = await self._run_by_key(request.match_info["key"])
        if request.query.get("numbers"):
            await self._compute_numbers(watched)

        def state() -> dict[str, Any]:
            progress = watched.progress()
            return {
                "turns": progress.turns,
                "conversations": progress.conversations,
                "state": watched.state(progress),
                "numbers": watched.numbers_stamp,
                "computing": watched.key in self._background,
            }

        response = web.json_response(await asyncio.to_thread(state))
        tag = sha256(response.body or b"").hexdigest()[:16]  # type: ignore[arg-type]
        headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache"}
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return web.Response(status=304, headers=headers)
        response.headers.update(headers)
        return response

    async def _compare(self, request: web.Request) -> web.Response:
        keys = list(dict.fromkeys(request.query.getall("run", [])))
        runs = await asyncio.to_thread(self._index.refresh)
        chosen = [await self._run_by_key(key) for key in keys]
        views, failed = None, None
        if len(chosen) >= 2:
            stamps = await asyncio.to_thread(lambda: [one.stamp() for one in chosen])
            what: tuple[object, ...] = (*keys, *stamps)
            views, failed = self._compared.get(what), self._background.failed.get(what)
            if views is None and failed is None:
                self._background.start(what, lambda: self._compare_runs(what, chosen))
        text = render(
            "compare.html",
            runs=runs,
            chosen=chosen,
            views=views,
            failed=failed,
            **_page_context(None, "compare"),
        )
        return html(text)

    async def _compare_runs(self, what: tuple[object, ...], chosen: Sequence[LiveRun]) -> None:
        views = await self._computer.call(comparisons_of, [(one.key, one.run.folder) for one in chosen])
        if len(self._compared) >= 8:
            self._compared.pop(next(iter(self._compared)))
        self._compared[what] = views


def _page_number(request: web.Request) -> int:
    """Return the page of a list that is wanted, from 1."""
    text = request.query.get("page", "")
    return max(1, int(text)) if _NUMBER.fullmatch(text) else 1


def _page_context(watched: LiveRun | None, view: str) -> dict[str, Any]:
    """Return the template variables that every page needs."""
    return {
        "watched": watched,
        "stamp": pages.stamp(),
        "plotly_stamp": pages.plotly().version,
        "scripts": (*pages.SCRIPTS, "live.js"),
        "numbers_stamp": watched.numbers_stamp if watched else "",
        "current": view,
    }


def _error(failure: Failure) -> web.Response:
    content = {"status": failure.status, "message": failure.message, **_page_context(None, "")}
    return html(render("error.html", **content), failure.status, failure.headers)
