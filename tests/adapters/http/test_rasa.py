"""The ``rasa`` adapter, against a server that answers as Rasa's REST channel does."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from replay import AdapterRefusedError, AdapterReplyError, ChatReply, Passage
from replay.testing import entered
from replay_adapters.http.rasa import RasaAdapter
from tests.adapters.asking import EMPTY, FIRST, exchange
from tests.adapters.servers import answering


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
    bodies = []

    async def webhook(request: web.Request) -> web.Response:
        bodies.append(await request.json())
        return web.json_response(MESSAGES)

    async with answering(webhook) as address:
        adapter = RasaAdapter(base_url=address, metadata={"id": "x", "docs": "{{passages}}"})
        async with entered(adapter):
            for _ in range(2):
                async with adapter.session(EMPTY) as session:
                    await session.ask(FIRST)
                    await session.ask(FIRST)

    one, again, other, last = (body["sender"] for body in bodies)
    assert (one, other) == (again, last)
    assert one != other
    assert bodies[0]["metadata"] == {"id": "x", "docs": []}


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
