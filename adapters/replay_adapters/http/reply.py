"""What comes back over HTTP with a status of 2xx: all that was read, with the moment of each read."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from functools import lru_cache
from typing import Any

import msgspec

from replay import AdapterError, AdapterReplyError, WireTimes
from replay_adapters.http.redaction import Secrets, excerpt
from replay_adapters.json_bytes import decode_json

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
