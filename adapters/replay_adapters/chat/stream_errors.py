"""Errors that a system tells in the middle of a stream, where no HTTP status can any more."""

from __future__ import annotations

from typing import Any

from replay import AdapterError
from replay_adapters.http.failures import next_step, refused
from replay_adapters.http.reply import HttpReply
from replay_adapters.json_bytes import encode_json

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
    """Return *error*, an object or a text, as its code says."""
    status = None
    if isinstance(error, dict):
        status = next(filter(None, (_status(error.get(key)) for key in _CODES)), None)
    said = reply.excerpt(encode_json(error))
    step = next_step(status or 400, {}, "check the key it wants")
    return refused(status, f"{reply.place} told of an error in its reply: {said}; {step}", reached=True)


def _status(code: Any) -> int | None:
    if isinstance(code, str):
        if code in STATUSES:
            return STATUSES[code]
        code = int(code) if code.isascii() and code.isdigit() and len(code) == 3 else None
    return code if type(code) is int and 400 <= code < 600 else None
