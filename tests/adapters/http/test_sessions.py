"""The ``http`` adapter with ``open`` and ``close``: sessions made, and ended, by requests of their own."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

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
from replay.core.asking.retries import RetryingClient, RetryPolicy
from replay.core.safety.consent import hosts_to_confirm
from replay.testing import HANG
from replay_adapters.http import adapter as session_module
from replay_adapters.http.adapter import HttpAdapter
from replay_adapters.http.request import SessionRequest
from tests.adapters.asking import EMPTY, FIRST, reply_of, session_of
from tests.adapters.servers import answering, unused_address


class Server:
    """Says what it is told to say to each kind of request, and counts them."""

    def __init__(self, **replies: web.Response | str) -> None:
        self.replies = replies
        self.got: list[str] = []
        self.bodies: list[Any] = []
        self.reached = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        kind = request.path.strip("/").partition("/")[0]
        self.got.append(f"{request.method} {request.path_qs}")
        self.bodies.append(await request.json() if request.can_read_body else None)
        reply = self.replies.get(kind, '{"id": "s1", "text": "Yes."}')
        if reply == HANG:
            self.reached.set()
            await asyncio.Event().wait()
        if isinstance(reply, web.Response):
            return reply
        assert isinstance(reply, str)
        return web.Response(text=reply)


def _adapter(address: str, **settings: Any) -> HttpAdapter:
    return HttpAdapter(
        **{
            "url": f"{address}/ask/{{{{session_id}}}}",
            "answer": "text",
            "open": SessionRequest(url=f"{address}/open"),
            "close": SessionRequest(url=f"{address}/close/{{{{session_id}}}}"),
            "session_id": "id",
            **settings,
        }
    )


class Endpoint:
    """What a question is put to."""

    name = "bot"
    limit = None

    def __init__(self, adapter: HttpAdapter) -> None:
        self.adapter = adapter


async def _played(server: Server, questions: int = 1, **settings: Any) -> list[AdapterError | str]:
    """
    What *questions* of one conversation came to, and what its end did.

    Of *settings* those that need the server's address are made of it.
    """
    async with answering(server.handle) as address:
        settings = {name: make(address) if callable(make) else make for name, make in settings.items()}
        return await _conversation(_adapter(address, **settings), questions)


async def _conversation(adapter: HttpAdapter, questions: int) -> list[AdapterError | str]:
    came: list[AdapterError | str] = []
    async with adapter:
        try:
            async with adapter.session(EMPTY) as session:
                for _ in range(questions):
                    try:
                        came.append((await session.ask(FIRST)).text)
                    except AdapterError as error:
                        came.append(error)
        except AdapterError as error:
            came.append(error)
    return came


@pytest.mark.parametrize(
    ("reply", "kind", "said", "retryable"),
    [
        (lambda: web.Response(status=503), AdapterRefusedError, "answered 503", True),
        (lambda: web.Response(status=401), AdapterRefusedError, "check the key it wants", False),
        (lambda: '{"name": "s1"}', AdapterReplyError, 'session_id "id" gives no session id', False),
        (lambda: '{"id": ""}', AdapterReplyError, "gives no session id", False),
        (lambda: "welcome", AdapterReplyError, "can't be read as JSON", False),
        (lambda: "", AdapterReplyError, "can't be read as JSON", False),
    ],
)
async def test_a_session_that_cannot_be_opened_fails_the_question_before_it_is_asked(
    reply: Any, kind: type[AdapterError], said: str, retryable: bool
) -> None:
    server = Server(open=reply())

    came = await _played(server)

    assert server.got == ["POST /open"]  # neither asked nor closed
    assert len(came) == 1
    error = came[0]
    assert isinstance(error, kind)
    assert str(error).startswith("the session could not be opened: POST http://127.0.0.1")
    assert said in str(error)
    assert error.retryable == retryable
    assert not error.reached  # so that a system that keeps the history may be asked again


async def test_a_server_that_is_not_there_cannot_open_a_session() -> None:
    with pytest.raises(AdapterConnectionError, match=r"could not be opened.*check that the server runs"):
        await reply_of(_adapter(await unused_address()))


async def test_what_could_not_be_opened_is_opened_with_the_next_question() -> None:
    server = Server(open=web.Response(status=503))
    async with answering(server.handle) as address, session_of(_adapter(address)) as session:
        with pytest.raises(AdapterRefusedError):
            await session.ask(FIRST)
        del server.replies["open"]
        for _ in range(2):
            assert (await session.ask(FIRST)).text == "Yes."

    assert server.got == ["POST /open", "POST /open", "POST /ask/s1", "POST /ask/s1", "DELETE /close/s1"]


async def test_opening_is_tried_again_within_a_question_though_the_system_keeps_the_history() -> None:
    """It hasn't heard the question then; one that may have reached it is not asked twice."""
    server = Server()

    async def busy(request: web.Request) -> web.StreamResponse:
        times = sum(got == f"{request.method} {request.path}" for got in server.got)
        reply = await server.handle(request)
        return web.Response(status=503) if times < 2 and request.path != "/close/s1" else reply

    async with answering(busy) as address, _adapter(address) as adapter, adapter.session(EMPTY) as session:
        system = Endpoint(adapter)
        asker = RetryingClient(RetryPolicy(backoff_s=0))
        came = [
            await asker.ask(system, session, FIRST, place=(depth,), session_remembers=True)
            for depth in range(1, 4)
        ]

    assert [attempts for _, attempts, _, _ in came] == [3, 1, 1]
    assert server.got[:4] == ["POST /open"] * 3 + ["POST /ask/s1"]
    kinds = [type(reply) for reply, *_ in came]
    assert kinds == [AdapterRefusedError, AdapterRefusedError, ChatReply]


async def test_opening_may_be_cancelled() -> None:
    server = Server(open=HANG)
    async with answering(server.handle) as address, session_of(_adapter(address)) as session:
        ask = asyncio.create_task(session.ask(FIRST))
        await server.reached.wait()
        ask.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ask
        del server.replies["open"]
        assert (await session.ask(FIRST)).text == "Yes."


async def test_closing_that_fails_is_told() -> None:
    came = await _played(Server(close=web.Response(status=500, text="jammed")))

    assert came[0] == "Yes."
    assert isinstance(came[1], AdapterRefusedError)
    assert str(came[1]).startswith("the session could not be closed: DELETE http://127.0.0.1")
    assert "jammed" in str(came[1])


async def test_closing_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "CLOSED_WITHIN_S", 0.01)

    came = await _played(Server(close=HANG))

    assert came[0] == "Yes."
    assert isinstance(came[1], AdapterTimeoutError)
    assert "no reply to DELETE within 0.01 s" in str(came[1])


async def test_a_session_without_an_id_of_the_system_has_one_of_ours() -> None:
    server = Server()
    came = await _played(
        server,
        questions=2,
        session_id=None,
        open=lambda address: SessionRequest(
            url=f"{address}/open", method="PUT", body={"id": "{{session_id}}"}
        ),
    )
    ours = server.bodies[0]["id"]

    assert came == ["Yes.", "Yes."]
    assert str(UUID(ours)) == ours
    assert server.got == ["PUT /open", *[f"POST /ask/{ours}"] * 2, f"DELETE /close/{ours}"]


async def test_a_session_that_was_not_opened_is_not_closed() -> None:
    """It is with the first question, whose deadline and retries count for it."""
    refusing, unasked = Server(open=web.Response(status=503)), Server()

    assert len(await _played(refusing, session_id=None)) == 1
    assert await _played(unasked, questions=0) == []
    assert (refusing.got, unasked.got) == (["POST /open"], [])


async def test_a_session_is_closed_after_a_failed_question_too() -> None:
    server = Server(ask=web.Response(status=422))

    (failed,) = await _played(server)
    assert isinstance(failed, AdapterRefusedError)
    assert server.got == ["POST /open", "POST /ask/s1", "DELETE /close/s1"]


async def test_ids_in_answers_are_not_the_sessions_that_was_opened() -> None:
    """A run has an id as well, and by the same name."""
    server = Server(ask='{"id": "run_1", "text": "Yes."}')

    assert await _played(server, questions=2) == ["Yes.", "Yes."]
    assert server.got == ["POST /open", "POST /ask/s1", "POST /ask/s1", "DELETE /close/s1"]


async def test_a_session_whose_id_stands_in_the_first_reply_can_be_closed() -> None:
    server = Server()

    assert await _played(server, open=None, url=lambda address: f"{address}/ask") == ["Yes."]
    assert server.got == ["POST /ask", "DELETE /close/s1"]


async def test_a_session_that_got_no_id_is_not_closed() -> None:
    server = Server(ask='{"text": "Yes."}')

    came = await _played(server, open=None, url=lambda address: f"{address}/ask")

    assert isinstance(came[0], AdapterReplyError)
    assert server.got == ["POST /ask"]


async def test_keys_do_not_get_into_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_TOKEN", "sk-4f1d0c7be2a9")
    keyed = {"headers_env": {"Authorization": "Bearer ${BOT_TOKEN}"}}
    echo = web.Response(status=500, text="not sk-4f1d0c7be2a9 again")
    for name in ("open", "close"):
        error = (await _played(Server(**{name: echo}), **keyed))[-1]
        assert isinstance(error, AdapterError)
        assert "not *** again" in str(error)
        assert "sk-4f" not in str(error)
        echo = web.Response(status=500, text="not sk-4f1d0c7be2a9 again")


def test_load_on_whoever_opens_or_closes_sessions_is_to_be_confirmed() -> None:
    settings = {
        "url": "http://127.0.0.1/",
        "open": {"url": "http://192.0.2.1/"},
        "close": {"url": "http://192.0.2.2"},
    }

    assert hosts_to_confirm([settings]) == ["192.0.2.1", "192.0.2.2"]
