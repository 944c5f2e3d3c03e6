"""By which address people reach a study."""

from __future__ import annotations

import re
import socket
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from replay.core.errors import InputError
from replay.core.server_access import is_loopback

_ROOT = re.compile(r"(?:/[A-Za-z0-9._~-]+)*")
EVERYWHERE = ("0.0.0.0", "::")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a study's pages are, as far as that isn't the address that the server is bound to."""

    root: str = ""
    """The path before all of theirs."""
    origin: str | None = None
    """Scheme, host and port of the proxy before the server."""
    names: tuple[str, ...] = ()
    """By which it may be called."""


def address_of(url: str | None, host: str, allowed: Collection[str] = ()) -> Address:
    """
    Where people reach a server bound to *host*: by *url*, where that is given, or by a name in *allowed*.

    Raises:
        InputError: *url* is no address of pages.
    """
    names = (host, socket.gethostname(), *allowed)
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
    """The address *bound*, such as ``http://0.0.0.0:8770``, as another machine can call it."""
    parts = urlsplit(bound)
    return f"http://{socket.gethostname()}:{parts.port}" if parts.hostname in EVERYWHERE else bound


def explain_bind_address(host: str, address: Address) -> str | None:
    """What to say before listening on *host*; None where nobody but this machine reaches it."""
    if is_loopback(host):
        return None
    said = (
        f"--host {host}: everyone who reaches this machine by its network reaches this study. A link is a "
        "key: whoever has it is that rater, and the owner's sees all that was said and can erase it."
    )
    if address.origin is None or not address.origin.startswith("https://"):
        said += (
            " What is sent can be read on its way: put a server with TLS before this one, keep --host as it "
            "is left out, and give the address that people see as --url https://... (docs/studies.md)"
        )
    return said
