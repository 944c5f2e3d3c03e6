"""
Who may ask a server of ours: whoever has its token, under a name of its own, from no page but its own.

Every program and every user of a machine reaches its loopback, and so does every page in a browser there.
A token keeps out whoever wasn't given it. The name keeps out a page elsewhere whose own name was pointed at
this machine ("DNS rebinding"): a browser says in ``Host`` by which name it came. Nothing that a proxy adds
(``X-Forwarded-*``) is read, since anybody can add it.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
from collections.abc import Collection
from urllib.parse import urlsplit

from replay.core.errors import InputError
from replay.core.safety.redaction import keep_secret

SHORTEST_TOKEN = 16


def new_token() -> str:
    """A token that nobody guesses: 256 random bits."""
    return secrets.token_urlsafe(32)


def token_from(variable: str) -> str:
    """
    The token in the environment variable *variable*; it is shown nowhere.

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
    """The token in the value of a header ``Authorization``; None where it holds none."""
    scheme, _, token = (authorization or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def is_loopback(host: str) -> bool:
    """Return whether *host* is this machine's own address, or the name for it."""
    address = _address(host)
    return host.lower() == "localhost" or (address is not None and address.is_loopback)


def is_own_name(host: str, reached: tuple[str, int], more: Collection[str] = ()) -> bool:
    """
    Whether *host*, of a request's header, is a name of the server that was *reached* at an address and port.

    Its names are that address, those of loopback, and *more*, which may have any port. A server that others
    reach has all addresses in numbers, too: none is the name of a page elsewhere.
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
