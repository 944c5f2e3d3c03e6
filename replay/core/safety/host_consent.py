"""
Which hosts a load run would reach that are neither this machine nor in a private network.

Load on somebody else's machine is an attack, if only by a slip of the pen. So such a host has to be
confirmed by name, by whoever starts the run. In doubt it is: what is read here one way and by an HTTP
client another way must not pass. Only settings are looked at, so an adapter that runs code of its own, or an
endpoint that sends one on to elsewhere, is beyond what can be seen here; a name is looked up once, when the
run starts.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from replay.core.errors import InputError

_OWN_NETWORKS = tuple(
    ip_network(network)
    for network in (
        "127.0.0.0/8",  # loopback (RFC 1122)
        "::1/128",  # loopback (RFC 4291)
        "10.0.0.0/8",  # private (RFC 1918)
        "172.16.0.0/12",
        "192.168.0.0/16",
        "fc00::/7",  # private (RFC 4193)
        "169.254.0.0/16",  # link-local (RFC 3927)
        "fe80::/10",  # link-local (RFC 4291)
    )
)
"""Written out, since ``is_private`` also says yes to networks that may well be reached from here."""

_URL = re.compile(
    r"(?:https?|wss?)://(?P<authority>(?:\{\{.*?\}\}|\[[^\]\s]*\]|[^/?#\s\"'<>`,;)\]\[])*)", re.I | re.S
)
_WHOLE = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+.-]*):)?//(?P<authority>(?:\{\{.*?\}\}|[^/?#])*)", re.I | re.S
)
"""A text that is a URL, with whatever stands where a host should."""
_ADDRESS_KEY = re.compile(r"(?:.*_)?(?:url|uri|host|hostname|endpoint|server|address)", re.I)
_NO_NETWORK = ("file", "unix", "data")

_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?:\.(?!-)[a-z0-9_-]{1,63})*")
_LIKE_A_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")
"""A name whose last part looks like this is an IPv4 address to some programs (inet_aton(3)): 127.1,
0x7f000001, 2130706433, 0177.0.0.1, the last one read in two ways."""


def addresses_of(name: str) -> list[str]:
    """Return all addresses of the host *name*; none if it is unknown."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(address[4][0]) for address in found]


def hosts_to_confirm(
    settings: Iterable[Mapping[str, Any]], *, resolve: Callable[[str], Iterable[str]] = addresses_of
) -> list[str]:
    """
    Return the hosts in *settings* that need confirmation, each once, in the form to confirm.

    A host is found in every text that is or holds a URL, and in those that are called url, host or
    the like. It needs no confirmation if it is an address of this machine or of a private or
    link-local network, localhost or below, or a name all of whose addresses are such. A name that
    nobody knows and a host that a template fills in need one.
    """
    to_confirm: dict[str, None] = {}
    for each in settings:
        for text, key in _texts(each):
            for authority in _authorities(text, is_address=bool(_ADDRESS_KEY.fullmatch(key))):
                host = _host(authority)
                if host is None:
                    to_confirm[canonical(authority)] = None
                elif not _is_own(host, resolve):
                    to_confirm[host] = None
    return list(to_confirm)


def addresses_in(settings: Any) -> Iterator[str]:
    """
    Yield the hosts in *settings* as written there, with ports if given.

    They are found where a text is a URL or is called url, host or the like, and not within other texts.
    """
    for text, key in _texts(settings):
        for authority in _addresses(text.strip(), is_address=bool(_ADDRESS_KEY.fullmatch(key))):
            yield authority.rpartition("@")[2]


def check_confirmed(hosts: Iterable[str], confirmed: Iterable[str]) -> None:
    """
    Make sure that *hosts*, from ``hosts_to_confirm``, are all among the *confirmed*.

    Raises:
        InputError: one is not; names it, and how to confirm it.
    """
    known = {canonical(host) for host in confirmed}
    missing = [host for host in hosts if canonical(host) not in known]
    if not missing:
        return
    named = [f'"{host}"' if not host or set(host) & set(" {}$") else host for host in missing]
    flags = " ".join(f"--allow-host {host}" for host in named)
    listed = ", ".join(f'"{host}"' for host in missing)
    subject = "that is" if len(named) == 1 else "these are"
    raise InputError(
        f"this run would put load on {' and '.join(named)}, and {subject} neither this machine nor surely "
        f"in a private network; if you may do that, say `replay stress SCENARIO {flags}`, or in a program "
        f"replay.run(..., may_load=[{listed}])"
    )


def canonical(host: str) -> str:
    """Return *host* in its canonical form: lower case, no brackets or last dot, in ASCII (IDNA)."""
    text = host.strip().lower()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    if text.endswith(".") and not _LIKE_A_NUMBER.fullmatch(text[:-1].rpartition(".")[2]):
        text = text[:-1]
    try:
        return text if text.isascii() else text.encode("idna").decode()
    except UnicodeError:
        return text


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield all texts in *value*, each with the name of its setting."""
    if isinstance(value, str):
        yield value, key
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(name, str):
                yield name, ""
            yield from _texts(item, str(name))
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _texts(item, key)


def _authorities(text: str, *, is_address: bool) -> Iterator[str]:
    """Yield the parts of *text* that are, or could be, a host, with user and port if given."""
    stripped = text.strip()
    yield from _addresses(stripped, is_address=is_address)
    for url in _URL.finditer(stripped):
        if url.start() > 0:
            yield url["authority"]


def _addresses(text: str, *, is_address: bool) -> Iterator[str]:
    """Yield the host of *text*, if it is an address as a whole."""
    whole = _WHOLE.match(text) if is_address or _URL.match(text) else None
    if whole:
        if (whole["scheme"] or "").lower() not in _NO_NETWORK:
            yield whole["authority"]
    elif is_address and text and not text.startswith("/"):
        yield text if "{" in text else re.split(r"[/?#]", text, maxsplit=1)[0]


def _host(authority: str) -> str | None:
    """Return the host in *authority* in canonical form; None if programs could disagree on it."""
    if not authority.isascii() or re.search(r"[\\\s\x00-\x1f\x7f]", authority) or authority.count("@") > 1:
        return None
    found = re.fullmatch(r"(?:[^@]*@)?(\[[^\[\]]+\]|[^:\[\]]+)(?::[0-9]*)?", authority)
    return canonical(found[1]) if found else None


def _is_own(host: str, resolve: Callable[[str], Iterable[str]]) -> bool:
    address = _address(host)
    if address is not None:
        return _is_own_address(address)
    if not _NAME.fullmatch(host) or _LIKE_A_NUMBER.fullmatch(host.rpartition(".")[2]):
        return False
    if host == "localhost" or host.endswith(".localhost"):  # loopback by RFC 6761, section 6.3
        return True
    found = [_address(text) for text in resolve(host)]
    return bool(found) and all(address is not None and _is_own_address(address) for address in found)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _is_own_address(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return any(address in network for network in _OWN_NETWORKS)
