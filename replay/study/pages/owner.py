"""The pages of a study's owner: where it stands, what raters part on, who takes part."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from aiohttp import web

from replay.core.errors import InputError
from replay.study.pages.access import Access, number_in
from replay.study.running.export import export_study
from replay.study.running.flow import Flow
from replay.study.running.numbers import study_numbers
from replay.study.running.overview import RelativeTime, display_value, overview_of
from replay.study.running.participation import (
    LONGEST_NAME,
    add_items,
    add_raters,
    discard_all,
    end_pilot,
    give_to,
    give_to_others,
    is_pilot,
    leave,
    let_back,
    phase_of,
    set_phase,
)
from replay.study.running.study_file import PlatformSection
from replay.study.running.task_screens import steps_of, steps_of_task
from replay.study.tasks import Rater
from replay.web.app import html

FEW = 10
"""Rows of a long list, as long as nobody asks for all."""


class OwnerPages:
    """What is below ``/owner``."""

    def __init__(
        self, flow: Flow, access: Access, page: Callable[..., str], *, origin: str | None = None
    ) -> None:
        """*page* renders a template; *origin* is what stands before the path in raters' links."""
        self._flow = flow
        self._store = flow.store
        self._access = access
        self._page = page
        self._origin = origin
        self._root = ""

    def add_to(self, app: web.Application, root: str) -> None:
        """Add the addresses below *root*."""
        self._root = root
        for path, show in (
            ("", self._standing),
            ("/numbers", self._numbers),
            (r"/task/{id:[0-9]{1,9}}", self._task),
            ("/export", self._export),
        ):
            app.router.add_get(f"{root}/owner{path}", show, allow_head=False)
        for name, click in (
            ("add", lambda form: self._store.add_rater(_name(form, "a rater's"))),
            ("add-raters", lambda form: add_raters(self._store, form.get("csv", ""))),
            ("add-items", lambda form: add_items(self._flow.file, self._store, form.get("csv", ""))),
            ("leave", lambda form: leave(self._store, self._chosen_rater(form).id)),
            ("discard", self._discard),
            ("reassign", lambda form: give_to_others(self._store, number_in(form, "assignment"))),
            ("give", lambda form: give_to(self._store, number_in(form, "task"), self._chosen_rater(form))),
            ("add-owner", lambda form: self._access.add_owner(_name(form, "an owner's"))),
            ("remove-owner", lambda form: self._access.remove_owner(number_in(form, "owner"))),
            ("phase", lambda form: set_phase(self._store, form.get("phase", ""))),
            ("main", lambda form: end_pilot(self._store)),
            ("return", lambda form: let_back(self._store, self._chosen_rater(form).id)),
            ("withdraw", self._withdraw),
        ):
            app.router.add_post(f"{root}/owner/{name}", self._does(click))

    # What is shown -----------------------------------------------------------------------------------

    async def _standing(self, request: web.Request) -> web.StreamResponse:
        if response := self._access.token_to_cookie(request):
            return response
        self._access.check_owner(request)
        return await self._show_standing(request)

    async def _show_standing(self, request: web.Request, fault: str = "") -> web.Response:
        def page() -> str:
            state = self._store.state()
            overview = overview_of(self._flow.file, state, self._store.last_seen())
            start = (self._origin or f"{request.scheme}://{request.host}") + self._root
            return self._page(
                "owner.html",
                overview=overview,
                links={
                    one.rater.id: f"{start}/rate?token={self._access.rater_token(one.rater.id)}"
                    for one in overview.raters
                },
                takes_items=(row := self._flow.file.preset.added_item) is not None,
                added_columns="" if row is None else ", ".join(row.__struct_fields__),
                phase=phase_of(self._store),
                pilot=is_pilot(self._flow.file, self._store),
                owners=[
                    (number, name, f"{start}/owner?token={self._access.further_owner_token(number)}")
                    for number, name in self._access.owners.items()
                ],
                entry=entry_link(self._flow.file.study.platform, start, self._access),
                ago=RelativeTime(self._store.now()),
                shown=display_value,
                study=self._flow.file.study,
                limits=self._flow.file.study.limits,
                most=None if "all" in request.query else FEW,
                fault=fault,
                form_token=self._access.form_token(request),
                click=uuid4().hex,
            )

        return html(await asyncio.to_thread(page), 422 if fault else 200)

    async def _numbers(self, request: web.Request) -> web.Response:
        self._access.check_owner(request)

        def page() -> str:
            people = study_numbers(self._flow.file, self._store.state())
            return self._page("owner_numbers.html", people=people, shown=display_value)

        return html(await asyncio.to_thread(page))

    async def _task(self, request: web.Request) -> web.Response:
        """Respond with one task and what all raters answered."""
        self._access.check_owner(request)
        id = int(request.match_info["id"])

        def page() -> str | None:
            state = self._store.state()
            task = state.tasks.get(id)
            if task is None:
                return None
            names = state.names
            given = [
                (names[one.rater], one, steps_of(self._flow.file, state, one), state.answers.get(one.id, {}))
                for one in state.assignments
                if one.task == id
            ]
            fallback = steps_of_task(self._flow.file, task, (), {}) if not given else ()
            return self._page(
                "owner_task.html",
                task=task,
                given=given,
                steps=fallback,
                option_label=option_label,
                ago=RelativeTime(self._store.now()),
                raters=[one for one in state.raters if one.takes_part],
                form_token=self._access.form_token(request),
                click=uuid4().hex,
            )

        text = await asyncio.to_thread(page)
        if text is None:
            raise web.HTTPNotFound(reason="there is no such task; it may have been erased")
        return html(text)

    async def _export(self, request: web.Request) -> web.Response:
        """Respond with what ``replay study export`` writes, as one ZIP file."""
        self._access.check_owner(request)

        def archive() -> bytes:
            with tempfile.TemporaryDirectory() as aside:
                folder = Path(aside) / "study"
                export_study(self._store.path, folder, with_pseudonyms="pseudonyms" in request.query)
                return Path(shutil.make_archive(str(folder), "zip", aside, "study")).read_bytes()

        headers = {"Content-Disposition": 'attachment; filename="study.zip"'}
        body = await asyncio.to_thread(archive)
        return web.Response(body=body, content_type="application/zip", headers=headers)

    # What clicks do ----------------------------------------------------------------------------------

    def _does(self, click: Callable[[dict[str, str]], object]) -> Callable[[web.Request], Any]:
        async def handler(request: web.Request) -> web.Response:
            self._access.check_owner(request)
            form = await self._access.form(request)
            try:
                await asyncio.to_thread(click, form)
            except InputError as error:
                return await self._show_standing(request, str(error))
            raise web.HTTPSeeOther(f"{self._root}/owner")

        return handler

    def _discard(self, form: dict[str, str]) -> None:
        rater = self._chosen_rater(form)
        discard_all(self._store, rater.id)
        leave(self._store, rater.id)

    def _withdraw(self, form: dict[str, str]) -> None:
        rater = self._chosen_rater(form)
        if form.get("name", "").strip() != rater.name.strip():
            raise InputError(
                f'to erase what "{rater.name}" did, type the name just as it stands here; nothing was erased'
            )
        _, is_clean = self._store.erase_rater(rater.id)
        if not is_clean:
            raise InputError(
                "It is erased. Another program is reading the database, and its log still holds what was "
                "there: end that program, and then this server (Ctrl-C), which empties the log"
            )

    def _chosen_rater(self, form: dict[str, str]) -> Rater:
        rater = self._store.rater(number_in(form, "rater"))
        if rater is None or rater.withdrawn_at is not None:
            raise InputError("there is no such rater any more; look at the page anew")
        return rater


def _name(form: Mapping[str, str], whose: str) -> str:
    name = " ".join(form.get("name", "").split())
    if not name or len(name) > LONGEST_NAME:
        raise InputError(f"{whose} name has 1 to {LONGEST_NAME} characters; nobody was added")
    return name


def entry_link(platform: PlatformSection | None, start: str, access: Access) -> str | None:
    """
    Return the link by which all people of *platform* come, with the place of their ids as Prolific writes it.
    """
    if platform is None:
        return None
    return f"{start}/join/{access.entry_key}?{platform.id}={{{{%{platform.id}%}}}}"


def option_label(field: Any, value: object) -> str:
    """Return *value* as the option of *field* is called."""
    return next((option.label for option in field.options if option.value == value), str(value))
