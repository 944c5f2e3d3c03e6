"""
A system's reply: all that was read, with the moment of each read; decoded, quoted, its faults made errors.

JSON is read and written by msgspec; by the standard library where msgspec is stricter than servers and data
are: texts of data sets and systems may hold lone surrogates, which travel as JSON escapes.

Under all that is read from a system lies a net: what our own code stumbles over is that ask's outcome. Each
field is checked where it is read. What nobody thought of when writing that must not end a run, and each
resume of it, since a server may send it again and again. Only what a built-in adapter does with a reply
stands under this net: the bug of a plug-in's author goes through, and stops the run with its name.
"""

from __future__ import annotations

import codecs
import json
import re
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import msgspec

from replay import AdapterError, AdapterReplyError, WireTimes, redact

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def encode_json(value: Any) -> bytes:
    """
    Return *value* as JSON in UTF-8.

    Raises:
        TypeError, ValueError: *value* is not JSON.
    """
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def decode_json(content: bytes) -> Any:
    """
    Return the value of the JSON *content*.

    Raises:
        ValueError: *content* is not JSON, or nested too deeply.
    """
    try:
        return _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def whole_text(pieces: Sequence[str]) -> str:
    """Return *pieces* together; halves of a character that came in two of them are one again."""
    text = "".join(pieces)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


STUMBLES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What Python raises over a value that isn't as it should be."""


class parse_errors_as_bad_reply:
    """
    Within it, something that *place* sent is read; *place* is fit to be shown.

    Raises:
        AdapterReplyError: something stumbled over it; the message says what, and at which line of ours.
        AdapterError: as raised within.
    """

    __slots__ = ("_place",)  # every reply is read under it: a generator would take three times as long

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, STUMBLES) and not isinstance(error, AdapterError):
            frame = traceback.extract_tb(trace)[-1]
            line = f"{Path(frame.filename).name}:{frame.lineno}"
            raise AdapterReplyError(
                f"{self._place} answered what can't be read ({bad_reply_error(error)}, at {line}); check the "
                "system's reply, and report this if it is as it should be"
            ) from error


def bad_reply_error(error: Exception) -> str:
    """Return *error* on one line, without secrets."""
    return f"{type(error).__name__}: {' '.join(redact(str(error)).split())[:200]}"


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

    def redact(self, text: str, *, cut: bool = False) -> str:
        """Return *text* with secrets replaced by asterisks; if *cut*, also half a secret at its end."""
        return redact(text, self._parts, cut=cut)


def excerpt(content: bytes, secrets: Secrets) -> str:
    """Return the first characters of *content* on one line, quoted, with nothing of *secrets*."""
    # Hidden before it is cut: half a key is still none of a log's business.
    examined = content[:EXAMINED].decode("utf-8", "replace")
    text = " ".join(secrets.redact(examined, cut=len(content) > EXAMINED).split())
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


ALL_BYTES = bytes(range(256))


@lru_cache(maxsize=64)
def _charset(named: str) -> str:
    try:
        name = codecs.lookup(named).name
        # Python has codecs that no text comes in: "rot13", "undefined", "punycode" (and that quadratic).
        ALL_BYTES.decode(name, "replace")
    except (LookupError, ValueError):
        name = "utf-8"
    return "utf-8-sig" if name == "utf-8" else name  # without its byte order mark


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedText:
    """A text that came all at once and not as an HTTP reply: a frame of a WebSocket, or a program's line."""

    place: str
    """Whom it came from, fit to be shown."""
    content: bytes
    at: float
    """When it was there, by ``time.perf_counter``."""
    secrets: Secrets

    @property
    def status(self) -> None:
        return None

    def excerpt(self) -> str:
        """Return its beginning, without secrets."""
        return excerpt(self.content, self.secrets)


class HttpReply(msgspec.Struct, frozen=True, kw_only=True):
    """
    A reply as it came: in one piece, or as a stream, read by read.

    Nothing in a stream is looked at while it comes: what one conversation's events cost to decode would
    stand in the times of all others.
    """

    place: str
    """Method and URL, fit to be shown."""
    status: int
    headers: Mapping[str, str]
    reads: list[bytes]
    read_at: list[float]
    """Moments of ``time.perf_counter``, one for each read."""
    sent: float
    first_byte: float
    broken: AdapterError | None = None
    """What ended a stream before its end; None where the server ended it."""
    secrets: Secrets

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "")

    @property
    def done(self) -> float:
        """The moment of the last byte."""
        return self.read_at[-1] if self.read_at else self.first_byte

    @property
    def times(self) -> WireTimes:
        """The moments of a reply in one piece."""
        return WireTimes(sent=self.sent, first_byte=self.first_byte, done=self.done)

    @property
    def raw(self) -> bytes:
        """All that came of the body."""
        return b"".join(self.reads)

    def excerpt(self, part: bytes | None = None) -> str:
        """Return the beginning of *part*, or of all that came, without secrets."""
        return excerpt(self.raw if part is None else part, self.secrets)

    @property
    def charset(self) -> str:
        """The encoding of a text, as Python calls it; UTF-8 where none is named that there is."""
        named = Message()
        named["Content-Type"] = self.content_type
        return _charset(named.get_content_charset("utf-8"))

    def text(self) -> str:
        """Return the body as a text, with marks for what can't be read in its encoding."""
        return self.raw.decode(self.charset, "replace")

    def json(self) -> Any:
        """
        Return the body as a JSON value.

        Raises:
            AdapterReplyError: it is none. The content type isn't asked, since many servers get it wrong.
        """
        try:
            return decode_json(self.raw)
        except ValueError as error:
            raise self.unusable(
                f" with {self.content_type or 'no content type'}, which can't be read as JSON ({error})",
                "check that the address is that of the endpoint itself",
            ) from error

    def unusable(self, why: str, step: str = "") -> AdapterReplyError:
        """Return an error that says why the reply is unusable, with its beginning and the next step."""
        message = f"{self.place} answered {self.status}{why}: {self.excerpt()}"
        return AdapterReplyError(f"{message}; {step}" if step else message, status=self.status)
