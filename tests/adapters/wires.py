"""Ways to talk to a chat system over HTTP, and one server for all: what the conformance table is run over."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from replay.core.adapter import Adapter
from replay.testing import FAIL, HANG
from replay_adapters.http.adapter import HttpAdapter
from replay_adapters.http.rasa import RasaAdapter
from tests.adapters.chat.speaking import (
    MESSAGE_START,
    MESSAGE_STOP,
    RESPONSE_START,
    adapter_of,
    named,
    response,
)
from tests.adapters.servers import completion, delta, event, streamed

DONE = event("[DONE]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One adapter with one kind of answer; a stream is *before*, a *piece* for each text, and *after*."""

    name: str
    make: Callable[..., Adapter]
    """Takes the server's address, and settings that go before its own."""
    asked: Callable[[Any], tuple[str, Sequence[str] | str | None, str]]
    """From what was sent: the conversation's id, the questions before or the session (None for a new one
    of the system's), and the question."""
    key: Mapping[str, Any]
    """Settings that send the key in the variable BOT_KEY."""
    unfit: Mapping[str, Any] = field(default_factory=dict)
    """Settings with a template that the conversation doesn't fill."""
    whole: Callable[[str], Any] | None = None
    """The reply as JSON; None for a stream."""
    before: tuple[bytes, ...] = ()
    piece: Callable[[str], bytes] = str.encode
    after: tuple[bytes, ...] = ()
    complete: int = 1
    """After so many events of *after* nothing is missing."""

    def events(self, *texts: str) -> list[bytes]:
        return [*self.before, *map(self.piece, texts), *self.after]


class System:
    """Answers over any wire as the adapter contract says, and counts the questions of sessions."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.sessions: dict[str, int] = {}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        wire = self.wire
        id, before, question = wire.asked(await request.json())
        before = f"s{len(self.sessions)}" if before is None else before
        if question == FAIL:
            return web.json_response({"error": {"message": "no"}}, status=400)
        if isinstance(before, str):
            number = self.sessions[before] = self.sessions.get(before, -1) + 1
        else:
            number = len(before)
        texts = f"{id}, ", f"{number} before"
        if wire.whole is not None:
            if question == HANG:
                await asyncio.Event().wait()
            whole = wire.whole("".join(texts))
            return web.json_response(whole | {"sid": before} if isinstance(whole, dict) else whole)
        if question == HANG:
            await streamed(request, *wire.before, wire.piece(texts[0]))
            await asyncio.Event().wait()
        return await streamed(request, *wire.events(*texts))


def _of_messages(list_name: str, id: Callable[[Any], str]) -> Callable[[Any], tuple[str, list[str], str]]:
    def asked(body: Any) -> tuple[str, list[str], str]:
        *before, last = [message["content"] for message in body[list_name] if message["role"] == "user"]
        return id(body), before, last

    return asked


def _api(name: str, extra: Mapping[str, Any], **more: Any) -> Wire:
    streams = "whole" not in more

    def make(address: str, **settings: Any) -> Adapter:
        return adapter_of(name, address, stream=streams, **{"extra": extra, **settings})

    return Wire(
        name=f"{name}, streamed" if streams else name,
        make=make,
        key={"api_key_env": "BOT_KEY"},
        unfit={"system": "{{passages[5].text}}"},
        **more,
    )


def _http(name: str, own: Mapping[str, Any], **more: Any) -> Wire:
    body = {"q": "{{question}}", "id": "{{conversation.id}}", "log": "{{history}}"}

    def make(address: str, **settings: Any) -> Adapter:
        return HttpAdapter(**{"url": address, "body": body, **own, **settings})

    return Wire(
        name=name,
        make=make,
        asked=lambda body: (body["id"], body["log"] if "log" in body else body["session"], body["q"]),
        key={"headers_env": {"Authorization": "Bearer ${BOT_KEY}"}},
        unfit={"body": "{{passages[3].text}}"},
        **more,
    )


def line(value: Any) -> bytes:
    """A JSON line."""
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


USER = {"user": "{{conversation.id}}"}
CHAT = {"asked": _of_messages("messages", lambda body: body["user"])}
RESPONSES = {"asked": _of_messages("input", lambda body: body["user"])}
ANTHROPIC = {"asked": _of_messages("messages", lambda body: body["metadata"]["user_id"])}
USER_ID = {"metadata": {"user_id": "{{conversation.id}}"}}
SESSION = {"q": "{{question}}", "id": "{{conversation.id}}", "session": "{{session_id}}"}
LANGSERVE = {
    "stream": "sse-named",
    "piece": "event == 'data' && data",
    "until": "event == 'end'",
    "error": "event == 'error' && data",
}

WHOLE_WIRES = (
    _api("chat", USER, **CHAT, whole=completion),
    _api("responses", USER, **RESPONSES, whole=response),
    _api("anthropic", USER_ID, **ANTHROPIC, whole=lambda text: {"content": [{"type": "text", "text": text}]}),
    _http("http", {"answer": "text"}, whole=lambda text: {"text": text}),
    *(
        _http(name, {"answer": "text", "body": SESSION, **own}, whole=lambda text: {"text": text})
        for name, own in (
            ("http, id of ours", {"history": "server"}),
            ("http, id of the reply", {"session_id": "sid"}),
        )
    ),
    Wire(
        name="rasa",
        make=lambda address, **settings: RasaAdapter(
            **{"base_url": address + "/", "metadata": {"id": "{{conversation.id}}"}, **settings}
        ),
        asked=lambda body: (body["metadata"]["id"], body["sender"], body["message"]),
        key={"jwt_env": "BOT_KEY"},
        unfit={"metadata": {"a": "{{passages[3].text}}"}},
        whole=lambda text: [
            {"recipient_id": "s", "text": text},
            {"recipient_id": "s", "image": "http://h/i"},
        ],
    ),
)
STREAMED_WIRES = (
    _api("chat", USER, **CHAT, piece=delta, after=(delta(None, "stop"), DONE)),
    _api(
        "responses",
        USER,
        **RESPONSES,
        before=(RESPONSE_START,),
        piece=lambda text: named("response.output_text.delta", delta=text),
        after=(named("response.completed", response=response("-")),),
    ),
    _api(
        "anthropic",
        USER_ID,
        **ANTHROPIC,
        before=MESSAGE_START,
        piece=lambda text: named("content_block_delta", index=0, delta={"type": "text_delta", "text": text}),
        after=MESSAGE_STOP,
        complete=2,
    ),
    _http(
        "http, sse",
        {"stream": "sse", "piece": "text", "until": "[DONE]"},
        piece=lambda text: event({"text": text}),
        after=(DONE,),
    ),
    _http(
        "http, json-lines",
        {"stream": "json-lines", "piece": "text", "until": "done"},
        piece=lambda text: line({"text": text}),
        after=(line({"done": True}),),
    ),
    _http(
        "http, sse-named",
        LANGSERVE,
        before=(event({"run_id": "1"}, "metadata"),),
        piece=lambda text: event(json.dumps(text, ensure_ascii=False), "data"),
        after=(b"event: end\n\n",),
    ),
)
