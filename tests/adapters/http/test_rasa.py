"""The ``rasa`` adapter, against a server that answers as Rasa's REST channel does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from replay import (
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    Passage,
)
from replay.testing import FAIL, HANG, entered
from replay_adapters.http.rasa import RasaAdapter
from tests.adapters.asking import EMPTY, FIRST, exchange
from tests.adapters.servers import answering, running


class Rasa:
    """A tracker for each sender, and the two ways to keep others out (``rasa/server.py``)."""

    def __init__(self, token: str | None = None) -> None:
        self.token = token
        self.trackers: dict[str, list[str]] = {}
        self.bodies: list[dict[str, Any]] = []

    async def webhook(self, request: web.Request) -> web.Response:
        if self.token not in (None, request.query.get("token")):
            return web.json_response({"status": "failure", "reason": "NotAuthenticated"}, status=401)
        body = await request.json()
        self.bodies.append(body)
        if body["message"] == HANG:
            await asyncio.Event().wait()
        if body["message"] == FAIL:
            return web.json_response({"status": "failure"}, status=500)
        tracker = self.trackers.setdefault(body["sender"], [])
        tracker.append(body["message"])
        recipient = {"recipient_id": body["sender"]}
        said = {"text": f"{body['metadata']['id']}: {len(tracker) - 1} before"}
        return web.json_response([recipient | said, recipient | {"image": "http://h/i.png"}])

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_post("/webhooks/rest/webhook", self.webhook)
        async with running(app) as address:
            yield address


async def _ask(replied: Any, **settings: Any) -> tuple[ChatReply, web.Request, Any]:
    reply, sent = await exchange(lambda address: RasaAdapter(base_url=address, **settings), replied)
    return reply, sent.request, sent.body


MESSAGES = [
    {"recipient_id": "s", "text": "Hey! "},
    {"recipient_id": "s", "image": "http://h/i.png"},
    {
        "recipient_id": "s",
        "text": "Which one?",
        "buttons": [{"title": "Red", "payload": "/r"}, {"title": "Blue"}],
    },
    {"recipient_id": "s", "custom": {"sources": ["One."]}},
]


async def test_messages_are_parts_of_one_answer() -> None:
    reply, request, body = await _ask(MESSAGES)

    assert reply.text == "Hey!\n\nWhich one?"
    assert request.path_qs == "/webhooks/rest/webhook"
    assert set(body) == {"sender", "message"}
    assert body["message"] == "Q?"


async def test_buttons_and_passages_are_taken_where_they_are_wanted() -> None:
    reply, request, _ = await _ask(MESSAGES, buttons=True, passages="[].custom.sources[]", channel="my rest")

    assert reply.text == "Hey!\n\nWhich one?\nRed\nBlue"
    assert reply.passages == (Passage(id="1", text="One."),)
    assert request.path == "/webhooks/my rest/webhook"


async def test_each_session_is_a_sender_of_its_own() -> None:
    rasa = Rasa()
    async with rasa.running() as address:
        adapter = RasaAdapter(base_url=address, metadata={"id": "x", "docs": "{{passages}}"})
        async with entered(adapter):
            for _ in range(2):
                async with adapter.session(EMPTY) as session:
                    await session.ask(FIRST)
                    await session.ask(FIRST)

    assert [len(tracker) for tracker in rasa.trackers.values()] == [2, 2]
    assert rasa.bodies[0]["metadata"] == {"id": "x", "docs": []}


async def test_tokens_come_from_the_environment_and_are_shown_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RASA_TOKEN", "very secret/token")
    monkeypatch.setenv("RASA_JWT", "eyJ.very.secret")
    _, request, _ = await _ask(MESSAGES, token_env="RASA_TOKEN", jwt_env="RASA_JWT")
    assert request.query == {"token": "very secret/token"}
    assert request.headers["Authorization"] == "Bearer eyJ.very.secret"

    async def repeat(request: web.Request) -> web.Response:
        return web.Response(status=403, text=f"{request.query} {request.headers['Authorization']}")

    async with answering(repeat) as address:
        adapter = RasaAdapter(base_url=address, token_env="RASA_TOKEN", jwt_env="RASA_JWT")
        async with entered(adapter), adapter.session(EMPTY) as session:
            with pytest.raises(AdapterRefusedError, match="set by RASA_TOKEN and RASA_JWT") as caught:
                await session.ask(FIRST)
    assert "secret" not in str(caught.value)
    assert "?..." in str(caught.value)


@pytest.mark.parametrize(
    ("replied", "said"),
    [
        ([], "an empty list: the assistant said nothing.*action server"),
        ([{"recipient_id": "s", "image": "i", "custom": {}}], r"without a text \(custom, image\)"),
        ([{"recipient_id": "s", "text": "  "}], r"without a text \(text\)"),
        ({"text": "Hey!"}, "not with a list of messages.*check that the address"),
        (["Hey!"], "not with a list of messages"),
        (None, "not with a list of messages"),
    ],
)
async def test_a_reply_that_says_nothing_is_a_bad_reply(replied: Any, said: str) -> None:
    with pytest.raises(AdapterReplyError, match=said) as caught:
        await _ask(replied)

    assert (caught.value.retryable, caught.value.reached) == (False, True)
