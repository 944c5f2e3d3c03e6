"""What the ``http`` adapter sends beside JSON bodies: queries, forms, and the cookies of a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace

from replay import AdapterRefusedError, ChatRequest, Conversation, Exchange, Passage
from replay.testing import FAIL, HANG, AdapterContract
from replay_adapters.http.adapter import HttpAdapter
from tests.adapters.asking import exchange, session_of
from tests.adapters.servers import answering

TALK = Conversation(id="c", turns=(), passages=(Passage(id="1", text="One."), Passage(id="2", text="Two.")))
HARD = "Où & why=\U0001f600? 1+1 #end"
REQUEST = ChatRequest(question=HARD, history=(Exchange(question="A?", answer="A."),), depth=2)


async def _search(request: web.Request) -> web.Response:
    """A search service that is asked by GET and remembers nothing."""
    if request.query["q"] == HANG:
        await asyncio.Event().wait()
    if request.query["q"] == FAIL:
        return web.Response(status=422)
    before = len(request.query.getall("asked", []))
    return web.json_response({"text": f"{request.query['of']}: {before} before"})


class TestAskedByGet(AdapterContract):
    @pytest.fixture
    async def adapter(self) -> AsyncIterator[HttpAdapter]:
        params = {
            "q": "{{question}}",
            "of": "{{conversation.id}}",
            "asked": "{{history | map(attribute='question') | list}}",
        }
        async with answering(_search) as address:
            yield HttpAdapter(url=address, method="GET", answer="text", params=params)


async def _counter(request: web.Request) -> web.Response:
    """A shop of the old kind, whose sessions are cookies."""
    form = await request.post()
    if form["q"] == HANG:
        await asyncio.Event().wait()
    if form["q"] == FAIL:
        return web.Response(status=422)
    before = int(request.cookies.get("before", "0"))
    reply = web.json_response({"text": f"{form['of']}: {before} before"})
    reply.set_cookie("before", str(before + 1))
    return reply


FORM = {"q": "{{question}}", "of": "{{conversation.id}}"}


class TestWithCookiesAndForms(AdapterContract):
    @pytest.fixture
    async def adapter(self) -> AsyncIterator[HttpAdapter]:
        async with answering(_counter) as address:
            yield HttpAdapter(url=address, answer="text", form=FORM, history="server", cookies="session")


async def _sent(*, at: str = "/ask", question: ChatRequest = REQUEST, **settings: Any) -> web.Request:
    """The request that *question* became, its body read."""
    settings = {"answer": "text", **settings}
    _, sent = await exchange(
        lambda address: HttpAdapter(url=address + at, **settings), {"text": "Yes."}, question, TALK
    )
    return sent.request


async def test_query_fields_come_through_as_they_are() -> None:
    request = await _sent(
        method="GET",
        at="/ask?fixed=1",
        params={"q": "{{question}}", "n": "{{depth}}", "p": "{{passages | map(attribute='id') | list}}"},
    )

    assert list(request.query.items()) == [("fixed", "1"), ("q", HARD), ("n", "2"), ("p", "1"), ("p", "2")]
    assert request.method == "GET"
    assert "Content-Type" not in request.headers


async def test_fields_that_are_nothing_are_left_out() -> None:
    request = await _sent(method="GET", params={"sid": "{{seed}}", "on": True, "q": ["a", None, 0.5]})

    assert list(request.query.items()) == [("on", "true"), ("q", "a"), ("q", "0.5")]


async def test_form_fields_come_through_as_they_are() -> None:
    request = await _sent(form={"q": "{{question}}", "lang": "en"}, headers={"X-Own": "1"})

    assert request.content_type == "application/x-www-form-urlencoded"
    assert dict(await request.post()) == {"q": HARD, "lang": "en"}
    assert request.headers["X-Own"] == "1"


async def test_a_lone_surrogate_in_a_field_is_sent_as_its_bytes() -> None:
    """Data sets hold them, and a question that can't be sent would be lost."""
    request = await _sent(form={"q": "{{question}}"}, question=replace(REQUEST, question="a\ud800"))

    assert await request.read() == b"q=a%ED%A0%80"


async def test_an_object_is_no_field() -> None:
    with pytest.raises(AdapterRefusedError, match=r"params\.who is an object") as caught:
        await _sent(method="GET", params={"who": "{{conversation}}"})
    assert not caught.value.reached


async def test_conversations_have_cookies_of_their_own() -> None:
    async with (
        answering(_counter) as address,
        HttpAdapter(url=address, answer="text", form=FORM, cookies="session") as adapter,
        adapter.session(TALK) as one,
        adapter.session(TALK) as other,
    ):
        texts = [(await session.ask(REQUEST)).text for session in (one, one, other, one)]

    assert texts == ["c: 0 before", "c: 1 before", "c: 0 before", "c: 2 before"]


async def test_without_being_asked_for_no_cookies_are_kept() -> None:
    async with (
        answering(_counter) as address,
        session_of(HttpAdapter(url=address, answer="text", form=FORM), TALK) as session,
    ):
        texts = [(await session.ask(REQUEST)).text for _ in range(2)]

    assert texts == ["c: 0 before"] * 2
