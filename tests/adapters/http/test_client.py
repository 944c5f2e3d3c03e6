"""What goes wrong on the wire, one fault at a time, over real sockets."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from aiohttp import web

from replay import (
    AdapterConnectionError,
    AdapterError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    AdapterReplyError,
)
from replay_adapters.http.client import HttpClient, StreamEnd
from replay_adapters.http.reply import Secrets, excerpt, retry_after_s, shown_url
from tests.adapters.servers import answering, http, listening, playing, unused_address
from tests.waiting import PATIENCE_S

KEY = "sk-0123456789"


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    async with client:
        yield client


async def _failure(
    server: AbstractAsyncContextManager[str], path: str = "/ask", **settings: int
) -> AdapterError:
    """The error that asking *server* for JSON ends in."""
    client = HttpClient(headers={"Authorization": f"Bearer {KEY}"}, unauthorized="set NAME", **settings)
    async with server as address, client:
        with pytest.raises(AdapterError) as caught:
            async with asyncio.timeout(PATIENCE_S):
                (await client.request("POST", address + path, {"q": 1})).json()
    assert KEY not in str(caught.value)
    assert f"POST {address}/ask" in str(caught.value)
    return caught.value


async def test_a_refused_connection_was_not_reached_and_may_be_tried_again() -> None:
    address = await unused_address()
    client = HttpClient()
    async with client:
        with pytest.raises(AdapterConnectionError, match="check that the server runs") as caught:
            await client.request("GET", address)

    assert caught.value.retryable
    assert not caught.value.reached


async def test_a_name_that_does_not_resolve_was_not_reached(client: HttpClient) -> None:
    with pytest.raises(AdapterConnectionError) as caught:
        await client.request("GET", "http://no-such-host.invalid/")

    assert not caught.value.reached


@pytest.mark.parametrize(
    "server",
    [
        pytest.param(lambda: playing(), id="closed before the headers"),
        pytest.param(lambda: playing(reset=True), id="reset before the headers"),
        pytest.param(lambda: playing(b"HTTP/1.1 200 OK\r\nContent-Le"), id="closed in the headers"),
        pytest.param(lambda: playing(http(b'{"a":', length=100)), id="closed in the body"),
        pytest.param(lambda: playing(http(b'{"a":', length=100), reset=True), id="reset in the body"),
        pytest.param(
            lambda: playing(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":'),
            id="closed in a chunk",
        ),
    ],
)
async def test_a_broken_connection_may_have_reached_the_system(server) -> None:
    error = await _failure(server())

    assert isinstance(error, AdapterConnectionError)
    assert error.retryable
    assert error.reached


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (http(b"<html>welcome</html>", headers="Content-Type: text/html\r\n"), "text/html"),
        (http(b'{"a": '), "can't be read as JSON"),
        (http(b""), "an empty body"),
        (http(b"\xff\xfe\x00"), "can't be read as JSON"),
        (http(b"[" * 200_000), "nested too deeply"),
        (http(b"nothing zipped", headers="Content-Encoding: gzip\r\n"), "can't be decompressed"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 abc\r\n\r\n", "not HTTP"),
    ],
)
async def test_a_reply_that_cannot_be_read_is_a_bad_reply(reply: bytes, said: str) -> None:
    error = await _failure(playing(reply))

    assert isinstance(error, AdapterReplyError)
    assert said in str(error)
    assert not error.retryable


async def test_a_reply_may_be_json_whatever_it_calls_itself(client: HttpClient) -> None:
    async with playing(http(b"[1]", headers="Content-Type: text/plain\r\n")) as address:
        assert (await client.request("GET", address)).json() == [1]


async def test_a_huge_reply_is_given_up_as_soon_as_it_is_too_much() -> None:
    """The server would go on for as long as one listens."""
    endless = http(b"x" * 4096, length=10**12)
    error = await _failure(playing(endless, stay=True), max_reply_bytes=4000)

    assert isinstance(error, AdapterReplyError)
    assert "more than 4000 bytes; raise max_reply_bytes" in str(error)


async def test_the_limit_counts_what_is_unpacked() -> None:
    bomb = gzip.compress(b" " * 10_000_000)
    error = await _failure(playing(http(bomb, headers="Content-Encoding: gzip\r\n")), max_reply_bytes=100_000)

    assert isinstance(error, AdapterReplyError)


@pytest.mark.parametrize("status", [400, 404, 413, 499])
async def test_a_client_error_is_a_refusal_for_good(status: int) -> None:
    error = await _failure(playing(http(b'{"error": "because"}', status=f"{status} No")))

    assert isinstance(error, AdapterRefusedError)
    assert error.status == status
    assert not error.retryable
    assert f"answered {status}" in str(error)
    assert "because" in str(error)


@pytest.mark.parametrize("status", [408, 409, 500, 529])
async def test_a_passing_fault_is_a_refusal_that_may_be_tried_again(status: int) -> None:
    error = await _failure(playing(http(b"later", status=f"{status} No", headers="Retry-After: 3\r\n")))

    assert isinstance(error, AdapterRefusedError)
    assert error.retryable
    assert error.retry_after_s == 3.0


@pytest.mark.parametrize("status", [401, 403])
async def test_a_missing_key_names_the_next_step(status: int) -> None:
    assert "; set NAME" in str(await _failure(playing(http(b"", status=f"{status} No"))))


async def test_a_refusal_that_never_ends_is_cut_short() -> None:
    error = await _failure(playing(http(b"x" * 100_000, status="500 No", length=10**12), stay=True))

    assert isinstance(error, AdapterRefusedError)
    assert len(str(error)) < 500


async def test_a_redirect_is_a_refusal_that_names_the_place() -> None:
    location = "Location: https://me:pw@elsewhere.example/v2?key=secret\r\n"
    error = await _failure(playing(http(b"", status="307 Temporary Redirect", headers=location)))

    assert isinstance(error, AdapterRefusedError)
    assert "https://elsewhere.example/v2?..." in str(error)
    assert "secret" not in str(error)


async def test_a_query_is_not_shown() -> None:
    assert "secret" not in str(await _failure(playing(http(b"", status="400 No")), "/ask?key=secret"))
    assert "secret" not in str(await _failure(playing(b"HTTP/1.1 abc\r\n\r\n"), "/ask?key=secret"))


DATE = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
DATE_IN_30_S = format_datetime(DATE + timedelta(seconds=30), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": " 0.25 "}, 0.25),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": DATE_IN_30_S}, 30.0),
        ({"Retry-After": format_datetime(DATE - timedelta(days=1), usegmt=True)}, 0.0),
        # Their clock is a year behind: what counts is how long they ask for.
        (
            {
                "Retry-After": format_datetime(DATE - timedelta(days=365, seconds=-5), usegmt=True),
                "Date": format_datetime(DATE - timedelta(days=365), usegmt=True),
            },
            5.0,
        ),
        ({"Retry-After": DATE_IN_30_S, "Date": "yesterday"}, 30.0),
    ],
)
def test_retry_after_is_read_in_both_forms(headers: Mapping[str, str], wait_s: float | None) -> None:
    assert retry_after_s(headers, DATE) == wait_s


@pytest.mark.parametrize(("header", "wait_s"), [("7", 7.0), (DATE_IN_30_S, 30.0)])
async def test_a_rate_limit_says_when_to_come_back(header: str, wait_s: float) -> None:
    headers = f"Retry-After: {header}\r\nDate: {format_datetime(DATE, usegmt=True)}\r\n"
    error = await _failure(playing(http(b"slow down", status="429 Too Many Requests", headers=headers)))

    assert isinstance(error, AdapterRateLimitedError)
    assert error.retry_after_s == wait_s
    assert error.retryable
    assert not error.reached


@pytest.mark.parametrize("url", ["ftp://localhost/", "http://", "http://h:99999/", "nonsense", "http://a b/"])
async def test_an_address_that_is_none_is_a_refusal_of_ours(client: HttpClient, url: str) -> None:
    with pytest.raises(AdapterError) as caught:
        await client.request("GET", url)

    assert not caught.value.reached


async def test_credentials_in_an_address_are_refused_and_not_shown(client: HttpClient) -> None:
    with pytest.raises(AdapterRefusedError) as caught:
        await client.request("GET", "http://me:secret@localhost/")

    assert "secret" not in str(caught.value)


async def test_a_body_that_is_not_json_is_not_sent(client: HttpClient) -> None:
    with pytest.raises(AdapterRefusedError, match="check its template"):
        await client.request("POST", "http://localhost/", {"q": object()})


@pytest.mark.parametrize("stream", [None, StreamEnd()])
async def test_what_a_used_connection_ends_under_is_sent_again_over_a_new_one(
    client: HttpClient, stream
) -> None:
    requests = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = len(requests)
        try:
            for answers in (True, False):
                await reader.readuntil(b"\r\n\r\n{}")
                requests.append(connection)
                if answers:
                    writer.write(http(b"1"))
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    async with listening(serve) as address, asyncio.timeout(PATIENCE_S):
        for _ in range(2):
            assert (await client.request("POST", address, {}, stream=stream)).json() == 1

    assert requests == [0, 0, 2]


async def test_a_stream_is_given_read_by_read_with_the_moment_of_each(client: HttpClient) -> None:
    arrived: asyncio.Queue[None] = asyncio.Queue()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for part in (b"one", b"two", b"three"):
            await response.write(part)
            await arrived.get()
        return response

    def ended(reads: Sequence[bytes]) -> bool:
        arrived.put_nowait(None)
        return False

    async with answering(handler) as address:
        reply = await client.request("POST", address, {}, stream=StreamEnd(ended=ended))

    assert reply.reads == [b"one", b"two", b"three"]
    assert len(reply.read_at) == 3
    assert reply.read_at == sorted(reply.read_at)
    assert reply.sent < reply.first_byte <= reply.read_at[0]
    assert reply.broken is None


async def test_a_body_says_that_it_is_json_and_nothing_says_nothing() -> None:
    kinds = []

    async def handler(request: web.Request) -> web.Response:
        kinds.append(request.headers.get("Content-Type"))
        return web.json_response(1)

    own = {"content-type": "application/vnd.api+json"}
    async with answering(handler) as address:
        for client in (HttpClient(), HttpClient(headers=own)):
            async with client:
                await client.request("GET", address)
                await client.request("POST", address, {})

    assert kinds == [None, "application/json", own["content-type"], own["content-type"]]


async def test_more_than_a_hundred_asks_are_under_way_at_a_time(client: HttpClient) -> None:
    """The library's own limit of 100 connections would make a stress test measure its queue."""
    arrived = 0
    all_there = asyncio.Event()

    async def handler(request: web.Request) -> web.Response:
        nonlocal arrived
        arrived += 1
        if arrived == 150:
            all_there.set()
        await all_there.wait()
        return web.json_response(arrived)

    async with answering(handler) as address, asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(client.request("GET", address) for _ in range(150)))


async def test_a_client_is_entered_once_at_a_time(client: HttpClient) -> None:
    with pytest.raises(RuntimeError, match="in use already"):
        await client.__aenter__()


def test_a_url_is_shown_without_what_may_be_secret() -> None:
    assert shown_url("https://u:p@h:1/a/b?k=v#f") == "https://h:1/a/b?..."
    assert shown_url("/relative?k=v") == "/relative?..."
    assert shown_url("http://[") == "(not a URL)"


def test_an_excerpt_is_one_short_line_without_half_a_key() -> None:
    secrets = Secrets({"X-Key": "k" * 300, "Accept": "application/json"})

    shown = excerpt(b"application/json \n\n " + b"x" * 150 + b"k" * 300 + b"end", secrets)

    assert shown == '"application/json ' + "x" * 150 + '***end"'
    assert len(excerpt(b"y" * 1000, secrets)) == 205
