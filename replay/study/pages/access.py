"""
Who may see and do what: each rater by a link of their own, the study's owner by another.

The token of a link is computed from the study's secret, so that the owner's page can show links again, and
goes into a cookie that scripts can't read and that is sent to that part of the pages alone. Forms come from
our own pages only: browsers say where a POST comes from (``Origin``), send the cookie with none that another
site makes (``SameSite``), and each form carries a token of its own.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Literal

from aiohttp import web

from replay.study.store import StudyStore
from replay.study.tasks import Rater
from replay.web.access import RequestRateLimit, cookie_of, is_token, token_to_cookie
from replay.web.app import body_in_time

Part = Literal["rate", "owner"]
"""Of the pages: those of raters, and the owner's."""
_RATER_TOKEN = re.compile(r"([1-9][0-9]{0,8})-[-\w]{43}", re.ASCII)
WHO_REACHES = (
    "reaches this study. A link is a key: whoever has it is that rater, and the owner's sees all that was "
    "said and can erase it"
)
"""What it means to bind to an address that others reach."""
_CLICK = re.compile(r"[-\w]{1,64}", re.ASCII)


class Access:
    """The tokens of one study, whose pages are below the path *root*."""

    def __init__(self, store: StudyStore, *, root: str = "", secure: bool = False) -> None:
        """*secure* says that people reach it by HTTPS."""
        self._store = store
        self._secret = bytes.fromhex(store.fact("secret"))
        # Kept here, too: every request of an owner asks, on the event loop.
        self._owners: Mapping[int, str] = {
            int(number): name for number, name in (store.fact("owners") or {}).items()
        }
        self._root = root
        self._secure = secure
        self._work = RequestRateLimit(at_once=120, per_s=20)
        self._wrong_links = RequestRateLimit(at_once=20, per_s=1 / 6)

    def _token_for(self, what: str) -> str:
        digest = hmac.digest(self._secret, what.encode(), hashlib.sha256)
        return urlsafe_b64encode(digest).decode().rstrip("=")

    @property
    def owner_token(self) -> str:
        return self._token_for("owner")

    @property
    def owners(self) -> Mapping[int, str]:
        """The names of further owners, by number."""
        return self._owners

    def further_owner_token(self, number: int) -> str:
        return f"{number}-{self._token_for(f'owner {number}')}"

    def add_owner(self, name: str) -> None:
        """Make a link of their own for a further owner; the first one's stays as it is."""
        # Numbers are never used again: the link of somebody who was taken away opens nothing.
        number = (self._store.fact("owner_number") or 0) + 1
        with self._store.writing():
            self._store.keep_fact("owner_number", number)
            self._keep_owners({**self._owners, number: name})

    def remove_owner(self, number: int) -> None:
        """Invalidate the link of that further owner."""
        self._keep_owners({one: name for one, name in self._owners.items() if one != number})

    def _keep_owners(self, owners: Mapping[int, str]) -> None:
        self._store.keep_fact("owners", owners)
        self._owners = owners

    def rater_token(self, rater: int) -> str:
        return f"{rater}-{self._token_for(f'rater {rater}')}"

    @property
    def entry_key(self) -> str:
        """Of the link by which all people of a platform come."""
        return self._token_for("entry")[:22]

    def check_entry(self, request: web.Request) -> None:
        """
        Check that *request* is for the link by which people of a platform come.

        Raises:
            web.HTTPException: it is not.
        """
        if not is_token(request.match_info["key"], self.entry_key):
            raise self._wrong(request, "this link is not valid; look at the platform for the right one")

    def form_token(self, request: web.Request) -> str:
        """Return the token that a form on a page for the sender of *request* has to carry."""
        return self._token_for(f"form {request.cookies.get(self._cookie(request), '')}")

    def rater_of(self, token: str | None) -> Rater | None:
        """Return the rater whose *token* it is, or None, in a time that doesn't depend on the token."""
        named = _RATER_TOKEN.fullmatch(token or "")
        number = int(named[1]) if named else 0
        return self._store.rater(number) if is_token(token, self.rater_token(number)) else None

    def is_owner(self, token: str | None) -> bool:
        return any(
            is_token(token, one)
            for one in (self.owner_token, *(self.further_owner_token(number) for number in self._owners))
        )

    def part(self, request: web.Request) -> Part:
        below = request.path.removeprefix(self._root)
        return "owner" if below == "/owner" or below.startswith("/owner/") else "rate"

    def token_to_cookie(self, request: web.Request) -> web.Response | None:
        """
        Return a redirect that moves the token from the link's address into a cookie; None without a token.

        Raises:
            web.HTTPException: the token is not valid.
        """
        token = request.query.get("token")
        if token is None:
            return None
        part = self.part(request)
        if not (self.is_owner(token) if part == "owner" else self.rater_of(token)):
            raise self._wrong(request, "this link is not valid; ask for a new one")
        return self.let_in(request, token)

    def let_in(self, request: web.Request, token: str) -> web.Response:
        """Lead whoever sent *request* to their part of the pages, with *token* in a cookie."""
        part = self.part(request)
        return token_to_cookie(
            self._cookie(request),
            token,
            there := f"{self._root}/{part}",
            path=there,
            secure=self._secure,
            max_age_s=180 * 24 * 3600,  # a person comes back tomorrow
        )

    def rater(self, request: web.Request) -> Rater:
        """
        Return the rater who sent *request*.

        Raises:
            web.HTTPException: the request has no valid token, or there were too many requests.
        """
        token = self._cookie_token(request)
        rater = self.rater_of(token)
        if rater is None:
            raise self._wrong(request, "open the personal link that you were given", token)
        self._count(f"rater {rater.id}")
        return rater

    def check_owner(self, request: web.Request) -> None:
        """
        Check that the study's owner sent *request*.

        Raises:
            web.HTTPException: somebody else did, or they ask too often.
        """
        token = self._cookie_token(request)
        if not self.is_owner(token):
            raise self._wrong(request, "open the owner's link that replay study serve printed", token)
        self._count("owner")

    async def form(self, request: web.Request) -> dict[str, str]:
        """
        Return the fields of a form of our pages; of a field that is sent twice, the last.

        Raises:
            web.HTTPException: it is not one of our pages', or can't be read.
        """
        if request.content_type != "application/x-www-form-urlencoded":
            raise web.HTTPUnsupportedMediaType(reason="this is not how our pages send their forms")
        try:
            async with body_in_time():
                form = {key: str(value) for key, value in (await request.post()).items()}
        except (ValueError, LookupError) as error:  # not UTF-8, or in a charset that there isn't
            raise web.HTTPBadRequest(reason="the form can't be read; load the page anew") from error
        if not is_token(form.get("form_token"), self.form_token(request)):
            raise web.HTTPForbidden(reason="this form is not from this page any more; load the page anew")
        # Without an id of its own a click could not be told from one that was kept before.
        if not _CLICK.fullmatch(form.get("click", "")):
            raise web.HTTPBadRequest(reason="this form lacks the mark of its click; load the page anew")
        return form

    def _cookie_token(self, request: web.Request) -> str | None:
        """Return the token in the cookie of the part that *request* asks for."""
        return request.cookies.get(self._cookie(request))

    def _wrong(self, request: web.Request, reason: str, token: str | None = "") -> web.HTTPException:
        """Return the error for a request without a valid token; only those with a wrong one are counted."""
        # Only wrong ones are counted by address: behind a proxy, everybody comes from the same.
        wait_s = 0.0 if token is None else self._wrong_links.wait_s(request.remote or "")
        return (
            _too_many(wait_s, "links that are not valid") if wait_s else web.HTTPUnauthorized(reason=reason)
        )

    def _count(self, who: str) -> None:
        if wait_s := self._work.wait_s(who):
            raise _too_many(wait_s, "requests")

    def _cookie(self, request: web.Request) -> str:
        return cookie_of(request, f"replay-study-{self.part(request)}")


def _too_many(wait_s: float, what: str) -> web.HTTPException:
    seconds = math.ceil(wait_s)
    return web.HTTPTooManyRequests(
        reason=f"too many {what} in a short time; try again in {seconds} s, nothing is lost",
        headers={"Retry-After": str(seconds)},
    )


def number_in(form: Mapping[str, str], name: str) -> int:
    """
    Return the whole number that *form* has under *name*; 0, which is the number of nothing, without one.
    """
    text = form.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
