"""What comes back over HTTP with a status of 2xx: in one piece, or as a stream, read by read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay import AdapterError, AdapterReplyError, WireTimes
from replay_adapters.http.redaction import Secrets, excerpt
from replay_adapters.json_bytes import decode_json


class HttpPlace:
    """A method and an address; spelt out, fit to be shown, only where somebody wants to read it."""

    __slots__ = ("_method", "_shown")

    def __init__(self, method: str, shown: str) -> None:
        self._method = method
        self._shown = shown

    def __str__(self) -> str:
        return f"{self._method} {self._shown}"


class HttpReply:
    """A reply, read to its end."""

    __slots__ = ("_place", "_secrets", "body", "headers", "status", "times")

    def __init__(
        self,
        *,
        place: HttpPlace,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        times: WireTimes,
        secrets: Secrets,
    ) -> None:
        self._place = place
        self.status = status
        self.headers = headers
        self.body = body
        self.times = times
        self._secrets = secrets

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "")

    @property
    def place(self) -> str:
        """Method and URL, fit to be shown."""
        return str(self._place)

    @property
    def raw(self) -> bytes:
        """All that came of the body."""
        return self.body

    def excerpt(self, part: bytes | None = None) -> str:
        """The beginning of *part*, or of the body, fit to be shown."""
        return excerpt(self.body if part is None else part, self._secrets)

    def json(self) -> Any:
        """
        The body as a JSON value.

        Raises:
            AdapterReplyError: it is none. The content type isn't asked, since many servers get it wrong.
        """
        try:
            return decode_json(self.body)
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise AdapterReplyError(
                f"{self.place} answered {self.status} with {self.content_type or 'no content type'}, which "
                f"can't be read as JSON ({reason}): {self.excerpt()}; "
                "check that the address is that of the endpoint itself",
                status=self.status,
            ) from error


class StreamedReply:
    """
    A reply as it came, read by read, with the moment of each.

    Nothing in it is looked at while it comes: what one conversation's events cost to decode would stand
    in the times of all others.
    """

    __slots__ = (
        "_place", "_secrets", "broken", "first_byte", "headers", "read_at", "reads", "sent", "status",
    )  # fmt: skip

    def __init__(
        self,
        *,
        place: HttpPlace,
        status: int,
        headers: Mapping[str, str],
        reads: list[bytes],
        read_at: list[float],
        sent: float,
        first_byte: float,
        broken: AdapterError | None,
        secrets: Secrets,
    ) -> None:
        self._place = place
        self._secrets = secrets
        self.status = status
        self.headers = headers
        self.reads = reads
        self.read_at = read_at
        """Moments of ``time.perf_counter``, one for each read."""
        self.sent = sent
        self.first_byte = first_byte
        self.broken = broken
        """What ended the stream before its end; None where the server ended it."""

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "")

    @property
    def place(self) -> str:
        """Method and URL, fit to be shown."""
        return str(self._place)

    @property
    def done(self) -> float:
        """The moment of the last byte."""
        return self.read_at[-1] if self.read_at else self.first_byte

    def whole(self) -> HttpReply:
        """The same as a reply in one piece, for a server that doesn't stream though it was asked to."""
        return HttpReply(
            place=self._place,
            status=self.status,
            headers=self.headers,
            body=b"".join(self.reads),
            times=WireTimes(sent=self.sent, first_byte=self.first_byte, done=self.done),
            secrets=self._secrets,
        )

    @property
    def raw(self) -> bytes:
        """All that came of the body."""
        return b"".join(self.reads)

    def excerpt(self, part: bytes | None = None) -> str:
        """The beginning of *part*, or of all that came, fit to be shown."""
        return excerpt(b"".join(self.reads) if part is None else part, self._secrets)
