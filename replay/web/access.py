"""
By which names and addresses a server of ours is reached, who may ask it, and how often.

Every program and every user of a machine reaches its loopback, and so does every page in a browser there.
A token keeps out whoever wasn't given it. The name keeps out a page elsewhere whose own name was pointed at
this machine ("DNS rebinding"): a browser says in ``Host`` by which name it came. Nothing that a proxy adds
(``X-Forwarded-*``) is read, since anybody can add it.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
import secrets
import socket
from collections.abc import Callable, Collection
from dataclasses import dataclass
from time import monotonic
from urllib.parse import urlsplit

from aiohttp import web

from replay.core.errors import InputError
from replay.core.safety.redaction import keep_secret

SHORTEST_TOKEN = 16
MOST_KEYS = 10_000


def new_token() -> str:
    """Return a token that nobody guesses: 256 random bits."""
    return secrets.token_urlsafe(32)


def token_from(variable: str) -> str:
    """
    Return the token in the environment variable *variable*; it is shown nowhere.

    Raises:
        InputError: there is none that can be sent and isn't guessed.
    """
    token = os.environ.get(variable, "").strip()
    how = f"export {variable}=$(openssl rand -hex 32)"
    if not token:
        raise InputError(f"--token-env: the environment variable {variable} is not set; {how}")
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"--token-env: {variable} holds no token: {SHORTEST_TOKEN} or more ASCII characters without "
            f"spaces; {how}"
        )
    keep_secret(token)
    return token


def is_token(given: str | None, token: str) -> bool:
    """Return whether *given* is *token*, in a time that tells nothing of where they differ."""
    return hmac.compare_digest((given or "").encode("utf-8", "surrogateescape"), token.encode())


def bearer(authorization: str | None) -> str | None:
    """Return the token in the value of a header ``Authorization``; None where it holds none."""
    scheme, _, token = (authorization or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def is_loopback(host: str) -> bool:
    """Return whether *host* is this machine's own address, or the name for it."""
    address = _address(host)
    return host.lower() == "localhost" or (address is not None and address.is_loopback)


def is_own_name(host: str, reached: tuple[str, int], more: Collection[str] = ()) -> bool:
    """
    Return whether *host* is a name of the server that the request reached.

    The server's names are that address, those of loopback, and *more*. A server that is reached from other
    machines accepts every numeric address as well, since none of those is the name of somebody else's page.

    Args:
        host: The request's ``Host`` header, with or without a port.
        reached: The address and port that the request came in on.
        more: Further names, which may have any port.
    """
    try:
        parts = urlsplit(f"//{host}")
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.netloc != host or parts.username is not None:
        return False
    if name in more:
        return True
    address, at = reached
    known = name == address or is_loopback(name) or (not is_loopback(address) and _address(name) is not None)
    return known and (80 if port is None else port) == at


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def check_host_and_origin(request: web.Request, names: Collection[str], hint: str = "") -> None:
    """
    Look at whom *request* is for, and from which page it comes.

    *names* are the server's beside its address, in small letters; *hint* says how to add one.

    Raises:
        web.HTTPException: it isn't for us, or comes from another site's page.
    """
    reached = _own_address(request)
    if not is_own_name(request.host, reached, names):
        raise web.HTTPMisdirectedRequest(reason=f"this server is not called {request.host!r}{hint}")
    origin = request.headers.get("Origin")
    if origin is not None and not is_own_name(origin.partition("://")[2], reached, names):
        raise web.HTTPForbidden(reason=f"pages of {origin!r} may not ask here")


def cookie_of(request: web.Request, name: str) -> str:
    """Return *name* with the server's port, since browsers send a machine's cookies to all of its ports."""
    return f"{name}-{_own_address(request)[1]}"


def token_to_cookie(
    cookie: str,
    token: str,
    location: str,
    *,
    path: str = "/",
    secure: bool = False,
    max_age_s: int | None = None,
) -> web.Response:
    """
    Lead a browser to *location* with *token* in a cookie that scripts can't read, and not in the address.

    There it would be seen over a shoulder and kept in the browser's history. ``Lax`` and not strict, since a
    link is opened out of a mail, or of a terminal in a browser.
    """
    response = web.Response(status=303, headers={"Location": location})
    response.set_cookie(
        cookie, token, httponly=True, samesite="Lax", secure=secure, path=path, max_age=max_age_s
    )
    return response


def let_in_by_token(request: web.Request, token: str | None, cookie: str, reason: str) -> web.Response | None:
    """
    Return what *request* gets in place of a page; None where it may have that.

    Args:
        request: What was asked.
        token: What has to be shown: in the address, then in a cookie or a header; None lets everybody in.
        cookie: The cookie's name, without the server's port.
        reason: What whoever doesn't show it is told.

    Raises:
        web.HTTPUnauthorized: it may have nothing.
    """
    if token is None:
        return None
    name = cookie_of(request, cookie)
    if "token" in request.query:
        if is_token(request.query["token"], token):
            rest = [(key, value) for key, value in request.query.items() if key != "token"]
            # One slash: with two it would lead to another host.
            return token_to_cookie(name, token, "/" + str(request.rel_url.with_query(rest)).lstrip("/\\"))
    elif is_token(request.cookies.get(name), token) or is_token(
        bearer(request.headers.get("Authorization")), token
    ):
        return None
    raise web.HTTPUnauthorized(reason=reason)


def _own_address(request: web.Request) -> tuple[str, int]:
    """Return the address and port at which *request* came."""
    transport = request.transport
    reached: tuple[str, int] = transport.get_extra_info("sockname")[:2] if transport is not None else ("", 0)
    return reached


class RequestRateLimit:
    """So much at once, and then so much a second, for each key: a rater's work, an address's wrong links."""

    def __init__(self, *, at_once: int, per_s: float, clock: Callable[[], float] = monotonic) -> None:
        self._ahead_s = at_once / per_s
        self._each_s = 1 / per_s
        self._clock = clock
        # When what a key has asked for would be over, had it come evenly ("virtual scheduling").
        self._over_at: dict[str, float] = {}

    def wait_s(self, key: str) -> float:
        """Return the seconds until *key* may ask again; 0 if it may now, and count that request."""
        now = self._clock()
        over_at = max(now, self._over_at.get(key, now)) + self._each_s
        if over_at - now > self._ahead_s:
            return over_at - now - self._ahead_s
        if len(self._over_at) >= MOST_KEYS:
            # Whoever sends from ever new addresses can't fill the memory, at the price of one more try each.
            kept = {one: at for one, at in self._over_at.items() if at > now}
            self._over_at = kept if len(kept) < MOST_KEYS else {}
        self._over_at[key] = over_at
        return 0.0


_ROOT = re.compile(r"(?:/[A-Za-z0-9._~-]+)*")
EVERYWHERE = ("0.0.0.0", "::")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server's pages are, as far as that isn't the address that the server is bound to."""

    root: str = ""
    """The path before all of theirs."""
    origin: str | None = None
    """Scheme, host and port of the proxy before the server."""
    names: tuple[str, ...] = ()
    """By which it may be called."""


def own_names(host: str, allowed: Collection[str]) -> tuple[str, ...]:
    """Return by which names a server bound to *host* may be called: beside its address those *allowed*."""
    return (host, socket.gethostname(), *allowed)


def address_of(url: str | None, host: str, allowed: Collection[str] = ()) -> Address:
    """
    Return the address at which people reach a server that is bound to *host*.

    Args:
        url: The public URL of the pages, such as that of a proxy.
        allowed: Further host names.

    Raises:
        InputError: *url* is no address of pages.
    """
    names = own_names(host, allowed)
    if url is None:
        return Address(names=names)
    try:
        parts = urlsplit(url)
        name, _ = parts.hostname, parts.port
    except ValueError:
        name = None
    if name is None or parts.scheme not in ("http", "https") or parts.query or parts.fragment or "@" in url:
        raise InputError(f'--url "{url}" is not an address such as https://lab.example.org/study')
    root = parts.path.rstrip("/")
    if not _ROOT.fullmatch(root) or {".", ".."} & set(root.split("/")):
        raise InputError(
            f'--url "{url}": the path "{parts.path}" is to have letters, digits, "-", "_", "." and "~" only'
        )
    return Address(root=root, origin=f"{parts.scheme}://{parts.netloc.lower()}", names=(*names, name))


def shown_origin(bound: str) -> str:
    """Return the address *bound*, such as ``http://0.0.0.0:8770``, as another machine can call it."""
    parts = urlsplit(bound)
    return f"http://{socket.gethostname()}:{parts.port}" if parts.hostname in EVERYWHERE else bound


def explain_bind_address(host: str, who: str, address: Address | None = None) -> str | None:
    """
    Say what binding to *host* means; None where nobody but this machine reaches it.

    *who* is what they may then do, as in "may ask"; of a server that has an *address*, that may see to TLS.
    """
    if is_loopback(host):
        return None
    text = f"--host {host}: everyone who reaches this machine by its network {who}."
    if address is None or address.origin is None or not address.origin.startswith("https://"):
        text += (
            " What is sent can be read on its way: put a server with TLS before this one, keep --host as it "
            "is left out"
        )
        if address is None:
            text += "."
        else:
            text += ", and give the address that people see as --url https://... (docs/studies.md)"
    return text
