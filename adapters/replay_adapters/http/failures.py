"""What a status that is no success, an exception of the HTTP library, or an error in a stream means to us."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from http.client import responses
from typing import Any

import aiohttp

from replay import (
    AdapterConnectionError,
    AdapterError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    AdapterReplyError,
)
from replay_adapters.http.reply import HttpReply, Secrets, encode_json, excerpt, retry_after_s, shown_url

SPELL_OUT_ADDRESS = (aiohttp.ClientResponseError, aiohttp.InvalidURL)
"""Exceptions whose text holds the address as it was sent, with a key that may stand in it."""


def refusal(
    place: str, status: int, headers: Mapping[str, str], content: bytes, secrets: Secrets, key_hint: str
) -> AdapterError:
    """
    Return the error for a reply with *status*, none of 2xx.

    *key_hint* is the next step after a 401 or 403.
    """
    wait_s = retry_after_s(headers, datetime.now(UTC))
    said = excerpt(content, secrets)
    step = next_step(status, headers, key_hint)
    return status_error(
        status,
        f"{place} answered {status} {responses.get(status, '(a status of its own)')}: {said}; {step}",
        wait_s,
    )


def status_error(
    status: int | None, message: str, retry_after_s: float | None = None, *, reached: bool = False
) -> AdapterError:
    """
    Return an error by *status*.

    *reached* is whether a 429 may have come after the question was taken in.
    """
    if status == 429:
        # Usually turned away at the door, so that the question is in nobody's history.
        return AdapterRateLimitedError(
            message, retryable=True, reached=reached, retry_after_s=retry_after_s, status=status
        )
    passing = status is not None and (status in (408, 409) or status >= 500)
    return AdapterRefusedError(message, retryable=passing, retry_after_s=retry_after_s, status=status)


def next_step(status: int, headers: Mapping[str, str], key_hint: str) -> str:
    """Return advice on a reply whose *status* is not 2xx; for 401 and 403 that is *key_hint*."""
    if 300 <= status < 400:
        location = headers.get("Location")
        if not location:
            return "redirects are not followed; ask for the address behind it"
        return f"redirects are not followed: set the address to {shown_url(location)} if that is right"
    if status in (401, 403):
        return key_hint
    if status in (404, 405):
        return "check the address, and the model's name if one is sent"
    if status == 408:
        return "the system gave up waiting; ask fewer conversations at a time if that happens often"
    if status == 413:
        return "show it a shorter history or shorter passages"
    if status == 429:
        return "ask less often, or fewer conversations at a time"
    if status >= 500:
        return "the fault is on the system's side; its log may say more"
    return "check what is sent: the system's own words are above"


def library_error(error: Exception, place: str, secrets: Secrets) -> AdapterError:
    """
    Return the adapter error for *error* of the HTTP library.

    Args:
        error: The exception.
        place: The address, for the message.
        secrets: Replaced by asterisks in the message.
    """
    # A ClientResponseError spells out the URL, query and all.
    text = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    reason = " ".join(secrets.redact(text or type(error).__name__).split())
    match error:
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            return AdapterRefusedError(f"{place}: not an http(s) URL; check its template", reached=False)
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ServerFingerprintMismatch():
            return AdapterConnectionError(
                f"{place}: the server's certificate is not trusted ({reason}); "
                "check the host's name, or set SSL_CERT_FILE to the certificates to trust",
                reached=False,
            )
        case aiohttp.ClientConnectorSSLError():
            return AdapterConnectionError(
                f"{place}: no TLS connection ({reason}); check the port, and whether the address begins with "
                "https though the server speaks http there",
                retryable=True,
                reached=False,
            )
        case aiohttp.ClientConnectorDNSError():
            message = f"{place}: the host's name can't be resolved ({reason}); check the address"
            return AdapterConnectionError(message, retryable=True, reached=False)
        case aiohttp.ClientConnectorError():
            message = f"{place}: no connection ({reason}); check that the server runs there"
            return AdapterConnectionError(message, retryable=True, reached=False)
        case aiohttp.ClientResponseError():
            return AdapterReplyError(f"{place}: the reply is not HTTP ({reason}); check host and port")
        case aiohttp.ClientPayloadError() if isinstance(
            error.__cause__, aiohttp.http_exceptions.ContentEncodingError
        ):
            return AdapterReplyError(
                f"{place}: the reply can't be decompressed ({reason}); "
                "check the system, or the proxy that compressed it"
            )
        case ValueError():
            message = f"{place}: can't be sent ({reason}); check address and headers"
            return AdapterRefusedError(message, reached=False)
    hung_up = isinstance(error, aiohttp.ServerDisconnectedError) and " http://" in place
    return AdapterConnectionError(
        f"{place}: the connection broke before the reply was complete ({reason}); "
        f"the system's log may say why{', unless it speaks https there' if hung_up else ''}",
        retryable=True,
    )


STATUSES = {
    "api_error": 500,
    "authentication_error": 401,
    "billing_error": 402,
    "insufficient_quota": 429,
    "invalid_request_error": 400,
    "internal_error": 500,
    "internal_server_error": 500,
    "not_found_error": 404,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "request_too_large": 413,
    "server_error": 500,
    "service_unavailable": 503,
    "timeout_error": 504,
    "vector_store_timeout": 504,
}
"""By what OpenAI (https://platform.openai.com/docs/guides/error-codes) and Anthropic
(https://docs.anthropic.com/en/api/errors) call an error, the status that it has outside of a stream."""


_CODES = ("code", "status", "status_code", "type")


def stream_error(reply: HttpReply, error: Any) -> AdapterError:
    """Return *error*, an object or a text in a reply whose status was a success, as its code says."""
    status = None
    if isinstance(error, dict):
        status = next(filter(None, (_status(error.get(key)) for key in _CODES)), None)
    said = reply.excerpt(encode_json(error))
    step = next_step(status or 400, {}, "check the key it wants")
    return status_error(status, f"{reply.place} told of an error in its reply: {said}; {step}", reached=True)


def _status(code: Any) -> int | None:
    if isinstance(code, str):
        if code in STATUSES:
            return STATUSES[code]
        code = int(code) if code.isascii() and code.isdigit() and len(code) == 3 else None
    return code if type(code) is int and 400 <= code < 600 else None
