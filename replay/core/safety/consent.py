"""
What has to be allowed before code runs, somebody else's run goes on, or load is sent.

**Code**, ``file.py:attribute`` and ``module:attribute``: looking never runs anything. So the gate is closed
for whatever is built by name, and whoever plays or scores opens it for as long as that takes; see
docs/security.md. What is installed under an entry point's name is no such code, nor is what this process has
been given as an object. A program that makes an adapter itself says itself what is to run.

**Runs** that this user began on this machine are remembered by id in the user's state folder. Beside the id
is a digest of what the run may make us do, its scenario and its scorers. So a folder that somebody else sent
isn't known here, and neither is one whose database was changed since. Such a run names code, hosts and
variables, as a scenario of somebody else's does, so going on with it is asked about first.

**Hosts** that are neither this machine nor in a private network: load on somebody else's machine is an
attack, if only by a slip of the pen. So such a host has to be confirmed by name, by whoever starts the run.
In doubt it is: what is read here one way and by an HTTP client another way must not pass. Only settings are
looked at, so an adapter that runs code of its own, or an endpoint that sends one on to elsewhere, is beyond
what can be seen here; a name is looked up once, when the run starts.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Any

from replay.core.errors import CodeNotRunError, InputError, RunError

_open: ContextVar[bool | None] = ContextVar("code_gate_open", default=None)
"""None outside of whatever is built by name."""


@contextmanager
def code_may_run() -> Iterator[None]:
    """Open the gate for the block, in this task or thread and those that it starts."""
    before = _open.set(True)
    try:
        yield
    finally:
        _open.reset(before)


@contextmanager
def code_forbidden() -> Iterator[None]:
    """Forbid running code while something is built by name, unless ``code_may_run`` surrounds the block."""
    before = _open.set(code_runs())
    try:
        yield
    finally:
        _open.reset(before)


def require_code_allowed(target: str) -> None:
    """
    Make sure that the code called *target* may run here.

    Raises:
        CodeNotRunError: it may not: it is named by something that is neither played nor scored.
    """
    if _open.get() is False:
        raise CodeNotRunError(target)


def code_runs() -> bool:
    """Return whether the gate is open here."""
    return bool(_open.get())


FACTS = ("id", "scenario", "begun", "scorers")
"""What of a run's facts is remembered; ``scorers`` are there once it is scored."""


def remember(facts: Mapping[str, Any]) -> None:
    """Remember the run with these *facts*, where this user has a folder in which that can be kept."""
    path = _path(facts["id"])
    if path is not None:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(path, "a", opener=partial(os.open, mode=0o600)) as file:
                file.write(f"{_digest(facts)}\n")


def created_by_this_user(fact: Callable[[str], Any]) -> bool:
    """Return whether this user began the run with the facts that *fact* gives, and nobody changed them."""
    facts = {name: fact(name) for name in FACTS}
    path = _path(facts["id"])
    try:
        return path is not None and _digest(facts) in path.read_text().split()
    except (OSError, ValueError, KeyError, TypeError):  # unknown, or facts of a shape that is none of ours
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class UntrustedActions:
    """What going on with a run that somebody else began would do here."""

    folder: Path
    start: Path
    """From where its relative paths lead."""
    lines: Sequence[str]

    def text(self) -> str:
        """Return all of it, to be asked about."""
        listed = "\n".join(f"  {line}" for line in self.lines)
        return (
            f'the run in "{self.folder}" was not begun by you on this machine, and this is what going on '
            f'with it does (its paths start from "{self.start}"):\n{listed}'
        )


def check_consent(
    actions: UntrustedActions | None, *, allow_code: bool, say: str = "allow_code=True"
) -> None:
    """
    Make sure that the caller allows *actions*, if there are any.

    Args:
        actions: What the run would do; None for nothing.
        allow_code: Whether the caller allows it.
        say: How to allow it, for the message.

    Raises:
        RunError: *actions* are not allowed.
    """
    if actions and not allow_code:
        raise RunError(f"{actions.text()}\nif you trust where it came from, say {say}")


def _digest(facts: Mapping[str, Any]) -> str:
    scorers = [[one["name"], one["settings"]] for one in facts.get("scorers") or []]
    content = json.dumps([facts["scenario"], facts["begun"], scorers], sort_keys=True)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def _path(run_id: object) -> Path | None:
    """Return the file of a run; None for what is no id, or where there is no folder for it."""
    home = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_STATE_HOME")
    if not isinstance(run_id, str) or not re.fullmatch("[0-9a-f]{32}", run_id):
        return None
    with suppress(RuntimeError):  # a user without a home
        return (Path(home) if home else Path.home() / ".local" / "state") / "convreplay" / "runs" / run_id
    return None


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
