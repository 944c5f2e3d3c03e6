"""What one conversation adds to its requests: headers of its own, and the cookies that it was given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import aiohttp
from yarl import URL

from replay import ChatRequest


class Cookies:
    """The cookies of one conversation, kept and sent as RFC 6265 says."""

    __slots__ = ("_jar",)

    def __init__(self) -> None:
        # Called unsafe since it takes cookies of hosts that have no name, such as 127.0.0.1.
        self._jar = aiohttp.CookieJar(unsafe=True)

    def header(self, url: URL) -> dict[str, str]:
        """Return the ``Cookie`` header for *url*; empty if no cookie is for it."""
        found = self._jar.filter_cookies(url)
        if not found:
            return {}
        return {"Cookie": "; ".join(f"{one.key}={one.coded_value}" for one in found.values())}

    def take(self, response: aiohttp.ClientResponse) -> None:
        """Keep what *response* sets, and drop what it takes back."""
        set_by = response.headers.getall("Set-Cookie", ())
        if set_by:
            self._jar.update_cookies_from_headers(set_by, response.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What goes with one request and no other."""

    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: Cookies | None = None


def trace_headers(traceparent: str | None) -> dict[str, str]:
    """Return the header by which a server's own trace joins ours; empty if there is no trace."""
    return {} if traceparent is None else {"traceparent": traceparent}


def trace_extras(request: ChatRequest) -> Extras | None:
    """Return the trace header of *request* as extras; None without a trace."""
    return None if request.traceparent is None else Extras(headers=trace_headers(request.traceparent))
