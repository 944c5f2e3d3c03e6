"""The ``http`` adapter: templates out, JMESPaths in, and who keeps the history."""

from __future__ import annotations

import json
import math
from typing import Any
from uuid import UUID

import pytest
from aiohttp import web

from replay import (
    AdapterError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
    Exchange,
    Passage,
)
from replay_adapters.http.adapter import HttpAdapter
from tests.adapters.asking import FIRST, exchange, session_of
from tests.adapters.servers import answering

TALK = Conversation(id="c", turns=(), passages=(Passage(id="1", text="One.", title="T"),))
REQUEST = ChatRequest(question="Q?", history=(Exchange(question="A?", answer="A."),), depth=2)


async def _ask(replied: Any, **settings: Any) -> tuple[ChatReply, web.Request, str]:
    """The reply to REQUEST, with what the server was sent."""

    def adapter(address: str) -> HttpAdapter:
        url = settings.pop("url", "HOST/ask").replace("HOST", address)
        return HttpAdapter(**{"url": url, "answer": "text", **settings})

    reply, sent = await exchange(adapter, replied, REQUEST, TALK)
    return reply, sent.request, sent.content.decode()


async def test_a_body_keeps_the_types_of_what_is_put_into_it() -> None:
    names = {"q": "question", "id": "conversation.id", "log": "history", "docs": "passages"}
    _, _, body = await _ask({"text": "Yes."}, body={key: f"{{{{{name}}}}}" for key, name in names.items()})

    assert json.loads(body) == {
        "q": "Q?",
        "id": "c",
        "log": [{"question": "A?", "answer": "A."}],
        "docs": [{"id": "1", "title": "T", "text": "One."}],
    }


async def test_a_get_puts_the_question_into_the_address() -> None:
    _, request, body = await _ask(
        {"text": "Yes."},
        method="GET",
        url="HOST/ask/{{conversation.id}}?q={{question|urlencode}}&n={{depth}}",
    )

    assert (request.method, request.path_qs, body) == ("GET", "/ask/c?q=Q?&n=2", "")
    assert dict(request.query) == {"q": "Q?", "n": "2"}


async def test_headers_take_their_secrets_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHOLE", "Bearer one")
    monkeypatch.setenv("PART", "two")
    _, request, _ = await _ask(
        {"text": "Yes."},
        headers={"X-Plain": "three"},
        headers_env={"Authorization": "WHOLE", "X-Key": "key=${PART}"},
    )

    sent = [request.headers[name] for name in ("Authorization", "X-Key", "X-Plain")]
    assert sent == ["Bearer one", "key=two", "three"]


@pytest.mark.parametrize(
    ("found", "passages"),
    [
        (None, ()),
        (["One.", "Two."], (Passage(id="1", text="One."), Passage(id="2", text="Two."))),
        ([{"id": 5, "text": "Five."}], (Passage(id="5", text="Five."),)),
        ([{"title": "T", "url": "u"}], (Passage(id="1", text="", title="T"),)),
    ],
)
async def test_passages_are_texts_or_objects(found: Any, passages: tuple[Passage, ...]) -> None:
    reply, _, _ = await _ask({"text": "Yes.", "docs": found}, passages="docs")

    assert reply.passages == passages


@pytest.mark.parametrize("found", ["One.", {"id": "1"}, [1], [{"url": "u"}], [{"id": [1]}], [None]])
async def test_other_passages_are_a_bad_reply(found: Any) -> None:
    with pytest.raises(AdapterReplyError, match='passages "docs" gives'):
        await _ask({"text": "Yes.", "docs": found}, passages="docs")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({}, 'answer "text" gives nothing'),
        ({"text": None}, "nothing"),
        ({"text": " "}, "an empty text"),
        ({"text": ["Yes."]}, "a list, not a text"),
        ({"text": {"a": 1}}, "an object, not a text"),
        ({"text": True}, "true or false"),
        ({"text": math.nan}, "nan, which is no number"),
        ({"text": -math.inf}, "-inf, which is no number"),
        ("Yes.", "nothing"),
    ],
)
async def test_an_answer_that_is_not_where_it_should_be_is_a_bad_reply(answer: Any, said: str) -> None:
    with pytest.raises(AdapterReplyError, match="check the path") as caught:
        await _ask(answer)

    assert said in str(caught.value)


@pytest.mark.parametrize(("answer", "text"), [(42, "42"), (-0.5, "-0.5"), ("NaN", "NaN")])
async def test_a_number_is_an_answer_whatever_stands_beside_it(answer: Any, text: str) -> None:
    reply, _, _ = await _ask({"text": answer, "score": math.nan})

    assert reply.text == text


async def test_a_path_that_fails_on_a_reply_is_a_bad_reply() -> None:
    with pytest.raises(AdapterReplyError, match="can't be evaluated"):
        await _ask({"text": 5}, answer="join(', ', text)")


async def test_no_session_id_in_the_first_reply_is_a_bad_reply() -> None:
    with pytest.raises(AdapterReplyError, match="no session id in the session's first reply"):
        await _ask({"text": "Yes."}, session_id="sid")


async def test_a_session_goes_on_with_the_newest_id_it_was_given() -> None:
    """Some systems give every reply an id that stands for all before it."""
    sent = []

    async def handler(request: web.Request) -> web.Response:
        sent.append((await request.json())["previous"])
        # The second reply has an id but no answer, the third no id.
        replies = [{"id": "a", "text": "1"}, {"id": 2}, {"text": "3"}, {"text": "4"}]
        return web.json_response(replies[len(sent) - 1])

    request = FIRST
    async with (
        answering(handler) as address,
        session_of(
            HttpAdapter(url=address, answer="text", session_id="id", body={"previous": "{{session_id}}"}),
            TALK,
        ) as session,
    ):
        await session.ask(request)
        with pytest.raises(AdapterReplyError):
            await session.ask(request)
        await session.ask(request)
        await session.ask(request)

    assert sent == [None, "a", "2", "2"]


async def test_where_the_system_keeps_the_history_none_is_sent() -> None:
    _, _, body = await _ask(
        {"text": "Yes.", "sid": "s"}, session_id="sid", body=["{{history}}", "{{messages|length}}"]
    )

    assert body == "[[],1]"


async def test_messages_are_sent_in_a_shape_of_the_systems_own() -> None:
    each = {"who": "{{message.role}}", "of": "{{message.tool_call_id}}", "say": ["{{message.content}}"]}
    _, _, body = await _ask({"text": "Yes."}, body={"m": {"each": each}, "session": "{{session_id}}"})

    sent = json.loads(body)
    assert [message.keys() for message in sent["m"]] == [{"who", "say"}] * len(sent["m"])
    assert [message["say"][0] for message in sent["m"]][-1] == REQUEST.question
    assert str(UUID(sent["session"])) == sent["session"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 429, "message": "later"}, AdapterRateLimitedError),
        ({"code": -32603, "message": "later"}, AdapterRefusedError),
        ("later", AdapterRefusedError),
    ],
)
async def test_an_error_in_a_reply_of_success_is_told_as_one(error: Any, kind: type[AdapterError]) -> None:
    """As of JSON-RPC, whose replies have a status of 200 whatever came of it."""
    with pytest.raises(kind, match=r"told of an error in its reply: .*later"):
        await _ask({"error": error}, error="error")

    with pytest.raises(kind, match=r"told of an error in its reply: .*later"):
        await _ask({"error": error}, error="error", stream="sse", piece="text")

    reply, _, _ = await _ask({"text": "Yes.", "error": None}, error="error")
    assert reply.text == "Yes."


def test_a_session_id_means_that_the_system_keeps_the_history() -> None:
    settings = {"url": "http://localhost/", "answer": "a"}
    assert HttpAdapter(**settings).history == "client"
    assert HttpAdapter(**settings, session_id="sid").history == "server"
