"""
The answer of an asynchronous job: submitted, then asked for until it is done, or read from its event stream.

The caller's deadline is the only one. The ask's latency runs from sending the job to the reply that has its
answer, so it is exact to the interval of the polls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar
from urllib.parse import urljoin, urlsplit

from msgspec.structs import replace

from replay import AdapterError, AdapterRefusedError, AdapterReplyError, TextTemplate, redact
from replay_adapters.http.reply import HttpReply, retry_after_s
from replay_adapters.json_reply import ReplyPath
from replay_adapters.setting_checks import check_seconds, check_variables, filled_address

FAILURES_IN_A_ROW = 3
"""So many polls may fail one after the other where the server doesn't say when to come again."""

Get = Callable[[str], Awaitable[HttpReply]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """How a job is waited for."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    until: str | None = None
    """JMESPath that is true in the reply of a job that is done. A job whose answer is streamed has none."""
    url: str | None = None
    """Template of the job's address; ``{{submitted}}`` is the reply to its submission."""
    url_from: str | None = None
    """JMESPath of the job's address in the reply to its submission. Without either it is the ``Location``
    header of that reply."""
    result_url: str | None = None
    """Template of the address where a job that is done has its answer, where that isn't its own; it knows
    ``{{submitted}}`` too."""
    failed: str | None = None
    """JMESPath that is true, or says why, in the reply of a job that failed."""
    every_s: float | None = None
    """Between polls, 1 s when left out; longer where a reply has a ``Retry-After``."""


class Poller:
    """Waits for the jobs of one system."""

    def __init__(self, settings: Poll, *, streams: bool) -> None:
        """
        *streams* is whether a job's address is that of a stream, which is read once.

        Raises:
            ValueError: a setting is wrong.
        """
        for name in ("until", "failed", "every_s", "result_url"):
            if streams and getattr(settings, name) is not None:
                raise ValueError(
                    f"poll.{name}: a job's stream is read once; leave it out, or leave out stream"
                )
        if not streams and settings.until is None:
            raise ValueError(
                "poll.until is missing: the JMESPath that is true in the reply of a job that is done"
            )
        check_seconds("poll.every_s", settings.every_s)
        if settings.url is not None and settings.url_from is not None:
            raise ValueError("poll: both url and url_from are set; the job has one address")
        self._streams = streams
        self._every_s = 1.0 if settings.every_s is None else settings.every_s
        self._until = ReplyPath(settings.until, "poll.until")
        self._failed = ReplyPath(settings.failed or None, "poll.failed")
        self._url_from = ReplyPath(settings.url_from or None, "poll.url_from")
        self._url, self._result_url = (
            TextTemplate(filled_address(url, f"poll.{name}")) if url else None
            for name, url in (("url", settings.url), ("result_url", settings.result_url))
        )
        for name in ("url", "result_url"):
            check_variables(getattr(settings, name), f"poll.{name}", more=("submitted",))

    async def wait_for_answer(
        self, submitted: HttpReply, address: str, variables: Mapping[str, Any], get: Get
    ) -> tuple[HttpReply, Any]:
        """
        Return the reply with the answer to *submitted*, a job that was sent to *address*, as if it were the
        reply to the job itself; and the JSON of the submission's reply.

        *get* fetches an address with all that the system wants to see in a request.

        Raises:
            AdapterError: the job failed, or can't be asked for.
        """
        try:
            first = submitted.json() if submitted.raw.strip() else None
            if self._streams:
                reply = await get(self._address(submitted, first, address, variables))
            else:
                reply = await self._done(submitted, first, address, variables, get)
        except AdapterError as error:
            error.reached = True  # by the submission, whatever became of the requests after it
            raise
        return replace(reply, sent=submitted.sent), first

    async def _done(
        self, submitted: HttpReply, first: Any, address: str, variables: Mapping[str, Any], get: Get
    ) -> HttpReply:
        # Many servers answer at once what they can; then there is nothing to wait for.
        reply, value = submitted, first
        url: str | None = None
        while not self._is_done(reply, value):
            if url is None:
                url = self._address(submitted, first, address, variables)
            reply = await self._next(url, get, _after(reply))
            value = reply.json()
        if self._result_url is None:
            return reply
        return await get(_filled_in(self._result_url, "poll.result_url", submitted, first, variables))

    def _is_done(self, reply: HttpReply, value: Any) -> bool:
        """
        Raises:
            AdapterRefusedError: the job failed.
        """
        if told := self._failed.find(reply, value):
            why = f' ("{redact(told)[:200]}")' if isinstance(told, str) else ""
            raise AdapterRefusedError(
                f"{reply.place} tells that the job failed{why}: {reply.excerpt()}; "
                "the fault is on the system's side; its log may say more",
                status=reply.status,
            )
        return bool(self._until.find(reply, value))

    async def _next(self, url: str, get: Get, first_wait_s: float) -> HttpReply:
        wait_s, failures = max(self._every_s, first_wait_s), 0
        while True:
            try:
                await asyncio.sleep(wait_s)
            except asyncio.CancelledError as error:
                if wait_s > self._every_s:
                    error.add_note(f"it had asked to be left alone for {wait_s:.10g} s")
                raise
            try:
                return await get(url)
            except AdapterError as error:
                if not error.retryable:
                    raise
                # Who says when to come again is alive; others get a few more chances.
                failures += error.retry_after_s is None
                if failures >= FAILURES_IN_A_ROW:
                    raise
                wait_s = max(self._every_s * 2**failures, error.retry_after_s or 0.0)

    def _address(self, reply: HttpReply, value: Any, submitted_to: str, variables: Mapping[str, Any]) -> str:
        """
        Raises:
            AdapterError: the reply doesn't say where the job is, or leads elsewhere.
        """
        if self._url is not None:
            return _filled_in(self._url, "poll.url", reply, value, variables)
        if self._url_from.expression is not None:
            found = self._url_from.text(reply, value)
        else:
            found = reply.headers.get("Location", "")
            if not found:
                raise AdapterReplyError(
                    f"{reply.place} answered {reply.status} without a Location header; set poll.url or "
                    f"poll.url_from to say where its job is: {reply.excerpt()}",
                    status=reply.status,
                )
        try:
            url = urljoin(submitted_to, found)
            elsewhere = urlsplit(url)[:2] != urlsplit(submitted_to)[:2]
        except ValueError as error:
            raise AdapterReplyError(
                f"{reply.place} answered {reply.status} with a job at what is no address ({error}); "
                "the system's log may say why",
                status=reply.status,
            ) from error
        if elsewhere:
            # It would be sent our keys.
            raise AdapterReplyError(
                f"{reply.place} answered {reply.status} with a job on another host "
                f"({urlsplit(url).netloc}); set poll.url if that is right",
                status=reply.status,
            )
        return url


def _filled_in(
    template: TextTemplate, setting: str, submitted: HttpReply, value: Any, variables: Mapping[str, Any]
) -> str:
    """
    Raises:
        AdapterReplyError: *template* wants something that *value*, the reply to the submission, hasn't.
    """
    try:
        return template.render({**variables, "submitted": value})
    except ValueError as error:
        raise submitted.unusable(
            f", but {setting} can't be made of it ({error})", "check the template against this reply"
        ) from error


def _after(reply: HttpReply) -> float:
    """Seconds that a reply of a job under way asks to wait; 0 for nothing."""
    return retry_after_s(reply.headers, datetime.now(UTC)) or 0.0
