"""By which address and names people reach a server."""

from __future__ import annotations

import re
import socket
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from replay.core.errors import InputError
from replay.web.access import is_loopback

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
