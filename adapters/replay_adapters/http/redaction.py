"""How HTTP is put into messages (without its secrets), and what a reply's ``Retry-After`` asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from replay import redact
from replay_adapters.reply_errors import STUMBLES

EXCERPT = 200
"""Characters of a reply shown in a message."""

EXAMINED = 64 * 1024
"""Bytes of a reply that are looked at for it."""

_PUBLIC_HEADERS = frozenset({"accept", "accept-language", "content-type", "user-agent"})
_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")

LONGEST_PAUSE_S = 10.0**9
"""What a ``Retry-After`` beyond all reason (30 years and more) counts as, which nobody waits for."""


def shown_url(url: str) -> str:
    """Return *url* without keys, user, password, query and fragment, any of which may be secret."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "(not a URL)"
    start = f"{parts.scheme}://{host}" if parts.scheme or host else ""
    return redact(start + parts.path) + ("?..." if parts.query else "")


class Secrets:
    """What must not be shown: the values of all headers but well-known harmless ones."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        values = [value for name, value in headers.items() if name.lower() not in _PUBLIC_HEADERS]
        # "Bearer sk-..." must not get by when a server repeats the key alone.
        self._parts = [part for value in values for part in (value, *value.split()) if len(part) > 6]

    def hidden(self, text: str, *, cut: bool = False) -> str:
        """Return *text* with secrets replaced by asterisks; if *cut*, also half a secret at its end."""
        return redact(text, self._parts, cut=cut)


def excerpt(content: bytes, secrets: Secrets) -> str:
    """Return the first characters of *content* on one line, quoted, with nothing of *secrets*."""
    # Hidden before it is cut: half a key is still none of a log's business.
    examined = content[:EXAMINED].decode("utf-8", "replace")
    text = " ".join(secrets.hidden(examined, cut=len(content) > EXAMINED).split())
    if not text:
        return "(an empty body)"
    return f'"{text}"' if len(text) <= EXCERPT else f'"{text[:EXCERPT]}..."'


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """
    Return the pause that ``Retry-After`` asks for, in seconds of 0 or more; None if there is none readable.

    A date (RFC 9110, section 10.2.3) is counted from the reply's own ``Date``, so that a wrong clock, the
    server's or ours, doesn't matter; from *now* if the reply has none. At most ``LONGEST_PAUSE_S``.
    """
    asked = headers.get("Retry-After", "").strip()
    if _SECONDS.fullmatch(asked):
        return min(float(asked), LONGEST_PAUSE_S)
    until = _date(asked)
    if until is None:
        return None
    since = _date(headers.get("Date", "")) or now
    return min(max(0.0, (until - since).total_seconds()), LONGEST_PAUSE_S)


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except STUMBLES:  # OverflowError for a year that no clock has
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
