"""
Every fault at the wire that is tried, and what has to come of it.

``docs/reliability.md`` shows this table; ``test_reliability_page.py`` keeps the two alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from replay.core.record import Outcome
from tests.adapters.servers import event
from tests.faults.dialects import JSON, MAX_REPLY_BYTES, Dialect
from tests.faults.fault_server import Script, chunk, close, drip, endless, head, reply, reset, send, stay

Where = Literal["http", "nobody", "no name", "tls", "wrong name", "http on tls", "tls on http"]
"""What is at the address; all but ``http`` fail before anything is asked."""

PIECE = "Mira wrote"
ANSWER = "Mira wrote Stone Garden."
ITSELF = "check that the address is that of the endpoint itself"
LOG = "the system's log may say why"
SENT = "check what is sent"
LARGER = "raise max_reply_bytes if that is right"
LONGER = "raise timeout_s if it may take longer"
HTML = b"<!doctype html><title>Welcome</title>"
GONE_BY = "Sun, 06 Nov 1994 08:49:37 GMT"
THIRTY_LATER = "Sun, 06 Nov 1994 08:50:07 GMT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One row."""

    what: str
    """What happens, in the words of the documentation."""
    script: Callable[[Dialect], Script] | None = None
    """What the server does with each request; None where ``where`` or a test of its own says."""
    outcome: Outcome
    retryable: bool = False
    reached: bool = True
    says: str | Mapping[str, str] = ""
    """The next step that the message names; by adapter where they differ."""
    step: str = ""
    """The same for the documentation, where the message's own words aren't to be quoted."""
    where: Where = "http"
    replies: Literal["any", "whole", "stream"] = "any"
    """Which kind of reply can fail like this."""
    retry_after_s: float | None = None
    """What the system asks for."""
    status: int | None = None
    partial: str | None = None
    timeout_s: float = 20.0
    fails_fast: bool = False
    """Ends the run where nothing was answered before."""
    own_test: bool = False
    """Needs more than one question or another process, and so a test of its own."""

    def says_to(self, dialect: Dialect) -> str:
        if self.fails_fast:
            return dialect.next_step_of_keys
        return self.says if isinstance(self.says, str) else self.says[dialect.adapter]

    def fits(self, dialect: Dialect) -> bool:
        return self.replies == "any" or dialect.streams == (self.replies == "stream")

    @property
    def asked_again(self) -> str:
        """Whether, in the words of the documentation."""
        if self.outcome == "answered":
            return ""
        if not self.retryable:
            return "no, and the run stops if nothing was answered before" if self.fails_fast else "no"
        when = "" if self.retry_after_s is None else ", after that time"
        return f"yes{when}" + (", unless the system keeps the history" if self.reached else "")

    @property
    def shown_step(self) -> str:
        """The next step, in the words of the documentation."""
        return self.step or (
            self.says if isinstance(self.says, str) else "; ".join(dict.fromkeys(self.says.values()))
        )


def _whole(body: bytes, **more: str) -> Callable[[Dialect], Script]:
    return lambda dialect: [reply(body, **{"kind": dialect.kind, **more})]


def _status(
    status: int,
    phrase: str,
    says: str,
    *,
    retryable: bool = False,
    reached: bool = True,
    more: str = "",
    **rest: object,
) -> Fault:
    what = rest.pop("what", f"status {status} {phrase}")
    return Fault(  # type: ignore[arg-type]
        what=what,
        script=lambda _: [reply(b'{"error": "because"}', f"{status} {phrase}", more=more)],
        outcome="rate-limited" if status == 429 else "refused",
        retryable=retryable,
        reached=reached,
        says=says,
        status=status,
        **rest,
    )


def _begun(text: str, *then: object) -> Callable[[Dialect], Script]:
    """A reply that begins well, with *text*, and then does something else."""
    return lambda d: [send(head(kind=d.kind) + chunk(d.begun(text))), *then]  # type: ignore[list-item]


BUSY = "ask less often, or fewer conversations at a time"
FEWER = "ask fewer conversations at a time if that happens often"
THEIRS = "the fault is on the system's side; its log may say more"
REDIRECT = "Location: https://elsewhere.example/v2?key=k\r\n"
OTHER_SHAPE = {
    "openai": "check that base_url ends before",
    "anthropic": "check that base_url ends before",
    "http": "check the path against this reply",
}
EMPTY = {
    "openai": "check the model's token limit and stop words",
    "anthropic": "check the model's token limit and stop words",
    "http": "check the path against this reply",
}
EMPTY_STEP = "check the model's token limit and stop words, or the path against the reply"

FAULTS: Sequence[Fault] = (
    # Before anything is asked.
    Fault(
        what="nobody listens: connection refused",
        where="nobody", outcome="connection-failed", retryable=True, reached=False,
        says="check that the server runs there",
    ),
    Fault(
        what="the host's name can't be resolved",
        where="no name", outcome="connection-failed", retryable=True, reached=False, says="check the address",
    ),
    Fault(
        what="TLS: a certificate that nobody vouches for",
        where="tls", outcome="connection-failed", reached=False,
        says="check the host's name, or set SSL_CERT_FILE to the certificates to trust",
    ),
    Fault(
        what="TLS: a certificate for another host",
        where="wrong name", outcome="connection-failed", reached=False, own_test=True,
        says="check the host's name, or set SSL_CERT_FILE to the certificates to trust",
    ),
    Fault(
        what="TLS: `https` where the server speaks `http`",
        where="tls on http", outcome="connection-failed", retryable=True, reached=False,
        says="check the port, and whether the address begins with https though the server speaks http there",
    ),
    Fault(
        what="TLS: `http` where the server speaks `https`, and hangs up",
        where="http on tls", outcome="connection-failed", retryable=True,
        says=f"{LOG}, unless it speaks https there",
    ),
    # Connections that break.
    Fault(
        what="connection closed before a reply",
        script=lambda _: [close], outcome="connection-failed", retryable=True, says=LOG,
    ),
    Fault(
        what="connection reset before a reply",
        script=lambda _: [reset], outcome="connection-failed", retryable=True, says=LOG,
    ),
    Fault(
        what="connection reset in the middle of the headers",
        script=lambda _: [send(b"HTTP/1.1 200 OK\r\nContent-Ty"), reset],
        outcome="connection-failed", retryable=True, says=LOG,
    ),
    Fault(
        what="connection reset in the middle of the body",
        script=_begun(PIECE, reset), replies="whole",
        outcome="connection-failed", retryable=True, says=LOG,
    ),
    Fault(
        what="connection closed in the middle of the body",
        script=_begun(PIECE, close), replies="whole",
        outcome="connection-failed", retryable=True, says=LOG,
    ),
    Fault(
        what="connection reset in the middle of a stream, before any text",
        script=_begun("", reset), replies="stream",
        outcome="connection-failed", retryable=True, says=LOG,
    ),
    Fault(
        what="connection reset in the middle of a stream, after some text",
        script=_begun(PIECE, reset), replies="stream",
        outcome="cut-off", retryable=True, says=LOG, partial=PIECE, status=200,
    ),
    Fault(
        what="a stream that ends without its last event",
        script=_begun(PIECE, send(chunk(b""))), replies="stream",
        outcome="cut-off", retryable=True, says=LOG, partial=PIECE, status=200,
    ),
    Fault(
        what="a stream that ends before any text",
        script=_begun("", send(chunk(b""))), replies="stream",
        outcome="connection-failed", retryable=True, says=LOG, status=200,
    ),
    Fault(
        what="a kept connection, closed by the server between two turns",
        outcome="answered", own_test=True,
    ),
    Fault(
        what="a kept connection, closed by the server while the next question is on its way",
        outcome="answered", own_test=True,
    ),
    # Slow and endless ones.
    Fault(
        what="no reply at all", script=lambda _: [stay], outcome="timed-out", says=LONGER, timeout_s=0.1,
    ),
    Fault(
        what="headers that drip in, byte by byte",
        script=lambda _: [send(b"HTTP/1.1 200 OK\r\n"), drip(b"X-A: b\r\n")],
        outcome="timed-out", says=LONGER, timeout_s=0.1,
    ),
    Fault(
        what="a body that drips in",
        script=lambda d: [send(head(kind=d.kind, length=10**6)), drip(b" ")], replies="whole",
        outcome="timed-out", says=LONGER, timeout_s=0.1,
    ),
    Fault(
        what="a stream that drips in",
        script=lambda d: [send(head(kind=d.kind) + chunk(d.begun(PIECE))), drip(chunk(b": wait\n\n"), 0.002)],
        replies="stream", outcome="timed-out", says=LONGER, timeout_s=0.1,
    ),
    Fault(
        what="headers without end",
        script=lambda _: [send(b"HTTP/1.1 200 OK\r\n"), endless(b"X-A: " + b"b" * 4000 + b"\r\n")],
        outcome="bad-reply", says="check host and port",
    ),
    Fault(
        what="a body without end",
        script=lambda d: [send(head(kind=d.kind)), endless(chunk(b" " * 65536))], replies="whole",
        outcome="bad-reply", says=LARGER, status=200,
    ),
    Fault(
        what="a stream without end",
        script=lambda d: [send(head(kind=d.kind)), endless(chunk(d.begun(PIECE) * 500))], replies="stream",
        outcome="bad-reply", says=LARGER, status=200,
    ),
    Fault(
        what="a reply larger than `max_reply_bytes`",
        script=lambda d: [reply(d.answer("x" * MAX_REPLY_BYTES), kind=d.kind)],
        outcome="bad-reply", says=LARGER, status=200,
    ),
    Fault(
        what="a huge reply, but not larger than that",
        script=lambda d: [reply(d.answer("x" * (MAX_REPLY_BYTES - 1024)), kind=d.kind)], outcome="answered",
    ),
    # Replies of no use.
    Fault(
        what="something else than HTTP",
        script=lambda _: [send(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")],
        outcome="bad-reply", says="check host and port",
    ),
    Fault(
        what="a page of HTML, status 200",
        script=_whole(HTML, kind="text/html"), outcome="bad-reply", says=ITSELF, status=200,
    ),
    Fault(
        what="a good reply of the wrong content type",
        script=lambda d: [reply(d.answer(ANSWER), kind="text/html")], outcome="answered",
    ),
    Fault(
        what="invalid JSON",
        script=_whole(b'{"choices": [{"mess'), replies="whole", outcome="bad-reply", says=ITSELF, status=200,
    ),
    Fault(
        what="invalid JSON in an event of a stream",
        script=lambda d: [reply(d.begun(PIECE) + b"data: {{\n\n", kind=d.kind)],
        replies="stream", outcome="bad-reply", says=LOG, status=200,
    ),
    Fault(
        what="JSON of another shape",
        script=_whole(b'{"detail": [1, 2]}'), replies="whole", outcome="bad-reply", says=OTHER_SHAPE,
        step="check `base_url`, or the path against the reply", status=200,
    ),
    Fault(
        what="JSON of another shape, where a stream was asked for",
        script=_whole(b'{"detail": [1, 2]}', kind=JSON), replies="stream", outcome="bad-reply",
        says={**OTHER_SHAPE, "http": ITSELF}, step="check `base_url`, or the address", status=200,
    ),
    Fault(
        what="events of another shape in a stream",
        script=lambda d: [reply(event({"detail": [1, 2]}) + d.answer(""), kind=d.kind)], replies="stream",
        outcome="bad-reply", says=EMPTY, step=EMPTY_STEP, status=200,
    ),
    Fault(
        what="an empty answer",
        script=lambda d: [reply(d.answer(""), kind=d.kind)], outcome="bad-reply", says=EMPTY,
        step=EMPTY_STEP, status=200,
    ),
    Fault(
        what="an empty body",
        script=_whole(b""), replies="whole", outcome="bad-reply", says=ITSELF, status=200,
    ),
    Fault(
        what="an empty stream",
        script=_whole(b""), replies="stream",
        outcome="connection-failed", retryable=True, says=LOG, status=200,
    ),
    Fault(
        what="an error that the system tells in the middle of a stream (here: its own)",
        script=lambda d: [reply(d.begun(PIECE) + d.failed, kind=d.kind)], replies="stream",
        outcome="refused", retryable=True, says=THEIRS, status=500,
    ),
    Fault(
        what="a body that can't be decompressed",
        script=_whole(b"nothing zipped", more="Content-Encoding: gzip\r\n"), replies="whole",
        outcome="bad-reply", says="check the system, or the proxy that compressed it",
    ),
    # Statuses.
    _status(301, "Moved Permanently", "set the address to https://elsewhere.example/v2?...", more=REDIRECT,
            what="redirect 301 Moved Permanently", step="set the address to the one that it names"),
    _status(302, "Found", "set the address to https://elsewhere.example/v2?...", more=REDIRECT,
            what="redirect 302 Found", step="set the address to the one that it names"),
    _status(307, "Temporary Redirect", "set the address to https://elsewhere.example/v2?...", more=REDIRECT,
            what="redirect 307 Temporary Redirect", step="set the address to the one that it names"),
    _status(308, "Permanent Redirect", "set the address to https://elsewhere.example/v2?...", more=REDIRECT,
            what="redirect 308 Permanent Redirect", step="set the address to the one that it names"),
    _status(400, "Bad Request", SENT),
    _status(401, "Unauthorized", "", fails_fast=True, step="set the key; the setting or variable is named"),
    _status(403, "Forbidden", "", fails_fast=True, step="set the key; the setting or variable is named"),
    _status(404, "Not Found", "check the address, and the model's name if one is sent"),
    _status(408, "Request Timeout", FEWER, retryable=True),
    _status(409, "Conflict", SENT, retryable=True),
    _status(413, "Content Too Large", "show it a shorter history or shorter passages"),
    _status(422, "Unprocessable Content", SENT),
    _status(429, "Too Many Requests", BUSY, retryable=True, reached=False),
    _status(429, "Too Many Requests", BUSY, retryable=True, reached=False, more="Retry-After: 7\r\n",
            what="status 429 with `Retry-After` in seconds", retry_after_s=7.0),
    _status(429, "Too Many Requests", BUSY, retryable=True, reached=False,
            more=f"Date: {GONE_BY}\r\nRetry-After: {THIRTY_LATER}\r\n",
            what="status 429 with `Retry-After` as a date", retry_after_s=30.0),
    _status(500, "Internal Server Error", THEIRS, retryable=True),
    _status(502, "Bad Gateway", THEIRS, retryable=True),
    _status(503, "Service Unavailable", THEIRS, retryable=True),
    _status(503, "Service Unavailable", THEIRS, retryable=True, more="Retry-After: 7\r\n",
            what="status 503 with `Retry-After` in seconds", retry_after_s=7.0),
    _status(504, "Gateway Timeout", THEIRS, retryable=True),
)  # fmt: skip
