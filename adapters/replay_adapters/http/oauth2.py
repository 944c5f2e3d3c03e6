"""
Bearer tokens that a server hands out, and those of OAuth 2.0 client credentials (RFC 6749, section 4.4).

One token serves all conversations of a process. It is fetched once, renewed before it runs out, and once more
when the system refuses it all the same (401), since tokens can be taken back.
"""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import isfinite
from time import monotonic
from typing import Any, ClassVar, Literal, TypeVar
from urllib.parse import quote_plus, urlencode

from replay import AdapterError, AdapterRefusedError, AdapterReplyError, keep_secret
from replay_adapters.http.client import HttpClient
from replay_adapters.http.reply import HttpReply, parse_errors_as_bad_reply
from replay_adapters.http.request import FORM
from replay_adapters.setting_checks import check_address, filled_address, from_environment

_TOKEN = re.compile(r"[!-~]+(?: +[!-~]+)*")
"""Visible ASCII: what RFC 6749, appendix A.12, lets an access token be made of."""


def bearer_token(reply: HttpReply, value: Any, name: str, step: str) -> str:
    """
    Return the token called *name* in *value*, the JSON of *reply*.

    *step* is the advice to give if there is none.

    Raises:
        AdapterReplyError: there is none, or it holds what no header can.
    """
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, str) or not found:
        raise AdapterReplyError(
            f'{reply.place} answered {reply.status} without "{name}"; {step}', status=reply.status
        )
    keep_secret(found)
    if not _TOKEN.fullmatch(found):
        raise AdapterReplyError(
            f'{reply.place} answered {reply.status} with a "{name}" that no header can hold, since there is '
            "something else in it than visible ASCII characters; the server's log may say why",
            status=reply.status,
        )
    return found


def lifetime_s(told: Any) -> float | None:
    """Return the seconds that ``expires_in`` tells; None if no token can last for that."""
    if isinstance(told, bool) or not isinstance(told, int | float | str):
        return None
    try:
        seconds = float(told)
    except (ValueError, OverflowError):
        return None
    return seconds if isfinite(seconds) and seconds > 0 else None


T = TypeVar("T")

RENEWED_BEFORE_S = 60.0
"""So long before its end a token is renewed, or a tenth of its life, whichever is shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCredentials:
    """Where a token is to be had, and for whom."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    token_url: str
    client_id_env: str
    """The environment variable that holds the client's id."""
    client_secret_env: str
    scope: str | None = None
    """Scopes, with spaces between them."""
    audience: str | None = None
    """What the token is for, where the server asks for that."""
    credentials_in: Literal["header", "body"] = "header"
    """Where id and secret are sent: in an ``Authorization: Basic`` header, which every server must take, or
    as fields of the form."""


@dataclass(frozen=True, slots=True)
class _AccessToken:
    value: str
    renew_at: float | None
    """A moment of the clock; None where the server doesn't say how long it lives."""


class AccessTokens:
    """The token of one system; an async context manager."""

    def __init__(self, settings: ClientCredentials, *, clock: Callable[[], float] = monotonic) -> None:
        """
        Raises:
            ValueError: a setting is wrong, or an environment variable isn't set.
        """
        check_address(settings.token_url, "oauth2.token_url")
        name = from_environment(settings.client_id_env, "oauth2.client_id_env")
        secret = from_environment(settings.client_secret_env, "oauth2.client_secret_env")
        fields = {"grant_type": "client_credentials", "scope": settings.scope, "audience": settings.audience}
        self._headers = dict(FORM)
        if settings.credentials_in == "header":
            basic = b64encode(f"{quote_plus(name)}:{quote_plus(secret)}".encode()).decode()
            keep_secret(basic)
            self._headers["Authorization"] = f"Basic {basic}"
        else:
            fields |= {"client_id": name, "client_secret": secret}
        self._body = urlencode({key: value for key, value in fields.items() if value}).encode()
        self._url = filled_address(settings.token_url, "oauth2.token_url")
        variables = f"{settings.client_id_env} and {settings.client_secret_env}"
        self._next_step = f"check client id and secret (set by {variables}), the scope and the token_url"
        self._client = HttpClient(unauthorized=self._next_step)
        self._clock = clock
        self._token: _AccessToken | None = None
        self._fetching = asyncio.Lock()

    async def __aenter__(self) -> None:
        self._fetching = asyncio.Lock()  # of the loop that we are used in
        await self._client.__aenter__()

    async def __aexit__(self, *_: object) -> None:
        await self._client.__aexit__()

    async def send_authorized(self, send: Callable[[dict[str, str]], Awaitable[T]]) -> T:
        """
        Return the result of *send*, called with the token's header; after a 401 once more with a new token.

        Raises:
            AdapterError: there is no token, or *send* raised it.
        """
        token = await self._current()
        try:
            return await send({"Authorization": f"Bearer {token}"})
        except AdapterRefusedError as error:
            if error.status != 401:
                raise
        if self._token is not None and self._token.value == token:  # else somebody has renewed it already
            self._token = None
        return await send({"Authorization": f"Bearer {await self._current()}"})

    async def _current(self) -> str:
        token = self._token
        if token is None or (token.renew_at is not None and self._clock() >= token.renew_at):
            async with self._fetching:  # one fetches, and all others wait for it
                if self._token is token:
                    self._token = await self._fetch_token()
                assert self._token is not None
                token = self._token
        return token.value

    async def _fetch_token(self) -> _AccessToken:
        asked_at = self._clock()
        try:
            reply = await self._client.request("POST", self._url, body=self._body, headers=self._headers)
            with parse_errors_as_bad_reply(reply.place):
                return self._token_in(reply, asked_at)
        except AdapterReplyError as error:
            raise AdapterRefusedError(
                f"no access token: {error}", reached=False, status=error.status
            ) from error
        except AdapterError as error:
            hint = f"; {self._next_step}" if error.status == 400 else ""
            raise type(error)(
                f"no access token: {error}{hint}",
                retryable=error.retryable,
                reached=False,  # the question has not been sent yet
                retry_after_s=error.retry_after_s,
                status=error.status,
            ) from error

    def _token_in(self, reply: HttpReply, asked_at: float) -> _AccessToken:
        """
        Raises:
            AdapterReplyError: there is no token that we can use.
        """
        value = reply.json()
        found = bearer_token(reply, value, "access_token", self._next_step)
        kind = value.get("token_type", "Bearer")
        if str(kind).lower() != "bearer":
            raise AdapterReplyError(
                f'{reply.place} gave a token of the kind "{kind}", and only "Bearer" can be sent',
                status=reply.status,
            )
        lives_s = lifetime_s(value.get("expires_in"))
        if lives_s is None:
            return _AccessToken(found, None)
        return _AccessToken(found, asked_at + lives_s - min(RENEWED_BEFORE_S, lives_s / 10))
