"""Asynchronous jobs: submitted, then polled until they are done."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise
from time import perf_counter
from typing import Any

import pytest
from aiohttp import web

from replay import (
    AdapterConnectionError,
    AdapterError,
    AdapterRefusedError,
    AdapterReplyError,
    AdapterTimeoutError,
    ChatReply,
)
from replay.core.asking.retries import Deadlines, ask_within
from replay.testing import FAIL, HANG, AdapterContract
from replay_adapters.http.adapter import HttpAdapter
from replay_adapters.http.polling import Poll
from tests.adapters.asking import EMPTY, FIRST, reply_of, session_of
from tests.adapters.servers import answering, unused_address

EVERY_S = 0.01
BODY = {"q": "{{question}}", "id": "{{conversation.id}}", "log": "{{history}}"}


class Queue:
    """A service that takes jobs and works at them for two polls."""

    def __init__(self) -> None:
        self.jobs: list[dict[str, Any]] = []
        self.polls: dict[int, int] = {}

    async def handle(self, request: web.Request) -> web.Response:
        if request.method == "POST":
            job = await request.json()
            self.jobs.append(job)
            number = len(self.jobs)
            return web.json_response(
                {"job": {"id": number}}, status=202, headers={"Location": f"/jobs/{number}"}
            )
        number = int(request.path.rpartition("/")[2])
        job = self.jobs[number - 1]
        self.polls[number] = self.polls.get(number, 0) + 1
        if job["q"] == FAIL:
            return web.json_response({"state": "failed", "why": "out of paper"})
        if job["q"] == HANG or self.polls[number] < 3:
            return web.json_response({"state": "working"})
        return web.json_response({"state": "done", "text": f"{job['id']}: {len(job['log'])} before"})


class TestPolled(AdapterContract):
    @pytest.fixture(params=["Location", "url", "url_from"])
    async def adapter(self, request: pytest.FixtureRequest) -> AsyncIterator[HttpAdapter]:
        async with answering(Queue().handle) as address:
            where: dict[str, Any] = {
                "Location": {},
                "url": {"url": f"{address}/jobs/{{{{submitted.job.id}}}}"},
                "url_from": {"url_from": "job.id && join('', ['/jobs/', to_string(job.id)])"},
            }[request.param]
            poll = Poll(until="state == 'done'", failed="state == 'failed' && why", every_s=EVERY_S, **where)
            yield HttpAdapter(url=f"{address}/jobs", answer="text", body=BODY, poll=poll)


async def _ask(*answers: Any, **settings: Any) -> tuple[ChatReply, list[float]]:
    """The reply, and the moments of all requests; *answers* are what the server says to one after another."""
    at: list[float] = []
    left = list(answers)

    async def handler(request: web.Request) -> web.StreamResponse:
        at.append(perf_counter())
        status, body, headers = (*left.pop(0), {})[:3]
        return web.json_response(body, status=status, headers=headers)

    poll = {"until": "done", "every_s": EVERY_S, **settings.pop("poll", {})}
    async with answering(handler) as address:
        reply = await reply_of(
            HttpAdapter(url=f"{address}/jobs", answer="text", poll=Poll(**poll), **settings)
        )
    assert not left
    return reply, at


STARTED = (202, {}, {"Location": "/jobs/1"})
DONE = (200, {"done": True, "text": "Yes."})


async def test_the_latency_is_from_submission_to_the_last_reply() -> None:
    reply, at = await _ask(STARTED, (200, {}), DONE)

    assert reply.text == "Yes."
    assert reply.times is not None
    assert reply.times.sent <= at[0]
    assert at[-1] <= reply.times.done
    assert all(later - earlier >= EVERY_S for earlier, later in pairwise(at))


async def test_a_job_that_is_done_at_once_is_not_polled() -> None:
    _, at = await _ask(DONE)

    assert len(at) == 1


@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_server_is_asked_again_when_it_says(status: int) -> None:
    busy = (status, {}, {"Retry-After": "0.05"})

    _, at = await _ask(STARTED, busy, busy, busy, busy, DONE)

    assert at[-1] - at[1] >= 4 * 0.05


async def test_a_job_under_way_says_when_to_come_again() -> None:
    _, at = await _ask((202, {}, {"Location": "/jobs/1", "Retry-After": "0.2"}), DONE)

    assert at[1] - at[0] >= 0.2


async def test_who_asks_for_more_than_the_deadline_is_named_in_the_record() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.json_response({}, headers={"Location": "/jobs/1", "Retry-After": "86400"})

    async with (
        answering(handler) as address,
        session_of(
            HttpAdapter(url=f"{address}/jobs", answer="text", poll=Poll(until="done")), EMPTY
        ) as session,
    ):
        with pytest.raises(AdapterTimeoutError, match="it had asked to be left alone for 86400 s"):
            await ask_within(session, FIRST, Deadlines(0.2))


async def test_polls_that_fail_one_after_the_other_end_it() -> None:
    with pytest.raises(AdapterRefusedError, match="503") as caught:
        await _ask(STARTED, (503, {}), (502, {}), (503, {}))
    assert caught.value.reached


async def test_a_single_failing_poll_is_passed_over() -> None:
    reply, _ = await _ask(STARTED, (503, {}), DONE)

    assert reply.text == "Yes."


@pytest.mark.parametrize(
    ("answers", "poll", "kind", "says"),
    [
        ([(202, {})], {}, AdapterReplyError, "without a Location header; set poll.url"),
        ([STARTED, (404, {})], {}, AdapterRefusedError, "404"),
        ([STARTED, (200, {"oops": "no paper"})], {"failed": "oops"}, AdapterRefusedError, '"no paper"'),
        (
            [(202, {}, {"Location": "http://elsewhere.example/1"})],
            {},
            AdapterReplyError,
            r"another host \(elsewhere\.example\)",
        ),
        ([(202, {"at": 7})], {"url_from": "where"}, AdapterReplyError, "poll.url_from"),
        ([(202, {})], {"url": "http://h/{{submitted.id}}"}, AdapterReplyError, "poll.url can't be made"),
        ([STARTED, (200, {"done": True})], {}, AdapterReplyError, 'answer "text" gives nothing'),
        (
            [DONE],
            {"result_url": "http://h/{{submitted.id}}"},
            AdapterReplyError,
            "poll.result_url can't be made",
        ),
    ],
)
async def test_what_went_wrong_is_told(
    answers: list[Any], poll: dict[str, Any], kind: type[AdapterError], says: str
) -> None:
    with pytest.raises(kind, match=says):
        await _ask(*answers, poll=poll)


async def test_an_answer_may_stand_elsewhere_than_its_job() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        paths.append(request.path)
        said = {"/jobs": {"id": 7}, "/jobs/7": {"done": True}, "/answers/7": {"text": "Yes."}}
        return web.json_response(said[request.path])

    paths: list[str] = []
    async with answering(handler) as address:
        poll = Poll(
            url=address + "/jobs/{{submitted.id}}",
            until="done",
            result_url=address + "/answers/{{submitted.id}}",
            every_s=EVERY_S,
        )
        assert (await reply_of(HttpAdapter(url=f"{address}/jobs", answer="text", poll=poll))).text == "Yes."

    assert paths == ["/jobs", "/jobs/7", "/answers/7"]


async def test_a_server_that_is_gone_when_polled_is_a_failed_connection() -> None:
    with pytest.raises(AdapterConnectionError, match="check that the server runs"):
        await _ask(STARTED, poll={"url": f"{await unused_address()}/jobs/1"})
