"""
Who may see and do what: each rater by a link of their own, the study's owner by another.

The token of a link is computed from the study's secret, so that the owner's page can show links again, and
goes into a cookie that scripts can't read. Forms come from our own pages only: browsers say where a POST
comes from (``Origin``), send the cookie with none that another site makes (``SameSite``), and each form
carries a token of its own.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Collection

from aiohttp import web

from replay.core.server_access import is_own_name, is_token
from replay.study.store import StudyStore
from replay.study.tasks import Rater


class Access:
    """The tokens of one study."""

    def __init__(self, store: StudyStore, names: Collection[str] = ()) -> None:
        """*names* are the server's beside its address."""
        self._store = store
        self._secret = bytes.fromhex(store.fact("secret"))
        self._names = names
        self._tokens: dict[int, str] = {}

    def _made(self, what: str) -> str:
        digest = hmac.digest(self._secret, what.encode(), hashlib.sha256)
        return urlsafe_b64encode(digest).decode().rstrip("=")

    @property
    def owner_token(self) -> str:
        return self._made("owner")

    def rater_token(self, rater: int) -> str:
        return self._tokens.setdefault(rater, self._made(f"rater {rater}"))

    def form_token(self, request: web.Request) -> str:
        """What a form of whoever sent *request* has to carry."""
        return self._made(f"form {request.cookies.get(self._cookie(request), '')}")

    def rater_of(self, token: str | None) -> Rater | None:
        """Whose *token* it is, in a time that tells nothing of how near it came."""
        found = None
        for rater in self._store.raters():
            if is_token(token, self.rater_token(rater.id)):
                found = rater
        return found

    def is_owner(self, token: str | None) -> bool:
        return is_token(token, self.owner_token)

    def check_came_here(self, request: web.Request) -> None:
        """
        Look at whom *request* is for and where it comes from.

        Raises:
            web.HTTPException: it isn't for us, or comes from another site's page.
        """
        transport = request.transport
        reached = transport.get_extra_info("sockname")[:2] if transport is not None else ("", 0)
        if not is_own_name(request.host, reached, self._names):
            raise web.HTTPMisdirectedRequest(
                reason=f"this server is not called {request.host!r}; its owner can allow that (--allow-host)"
            )
        origin = request.headers.get("Origin")
        if origin is not None and not is_own_name(origin.partition("://")[2], reached, self._names):
            raise web.HTTPForbidden(reason="this form came from another site's page")

    def given_token(self, request: web.Request) -> str | None:
        """The token in the cookie of the part that *request* asks for."""
        return request.cookies.get(self._cookie(request))

    def keep_token(self, request: web.Request, response: web.Response, token: str) -> None:
        response.set_cookie(self._cookie(request), token, httponly=True, samesite="Lax", path="/")

    @staticmethod
    def _cookie(request: web.Request) -> str:
        # With the port, since browsers send a machine's cookies to all of its ports.
        transport = request.transport
        port = transport.get_extra_info("sockname")[1] if transport is not None else 0
        part = "owner" if "/owner" in request.path else "rater"
        return f"replay-study-{part}-{port}"
