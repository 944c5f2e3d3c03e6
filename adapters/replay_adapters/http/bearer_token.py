"""A bearer token that a server hands out: it fits into a header, is hidden from now on, and lasts so long."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from replay import AdapterReplyError, keep_secret
from replay_adapters.http.reply import HttpReply

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
