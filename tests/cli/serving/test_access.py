"""Who is kept out of a served adapter, and what whoever is let in can't take from others; over sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from replay.cli.serving import server as serving
from replay.cli.serving.server import make_app
from replay.core.adapter import ChatRequest
from replay.core.conversation import Conversation
from replay.core.errors import AdapterRefusedError
from replay.web import app as web_app
from replay.web.app import serve
from replay_adapters.chat.openai import OpenAIAdapter
from replay_adapters.local.extractive import ExtractiveAdapter
from replay_adapters.local.scripted import ScriptedAdapter
from tests.cli.command import replay_cli
from tests.counting import Counting
from tests.data_tables import from_table
from tests.waiting import PATIENCE_S

TOKEN = "0123456789abcdef-0123456789abcdef"
QUESTION = json.dumps({"question": "Q?"})
JSON = {"Content-Type": "application/json"}
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@asynccontextmanager
async def served(adapter: Any = None, **options: Any) -> AsyncIterator[str]:
    """The address of a server as users start it."""
    addresses: asyncio.Queue[str] = asyncio.Queue()
    app = make_app(adapter or ScriptedAdapter(), name="x", **options)
    task = asyncio.create_task(serve(app, port=0, ready=addresses.put_nowait))
    try:
        yield await addresses.get()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def posted(
    address: str, body: Any = QUESTION, headers: Any = JSON, path: str = "/chat"
) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as client,
        client.post(address + path, data=body, headers=headers) as answer,
    ):
        return answer.status, await answer.text()


@pytest.mark.parametrize(
    ("headers", "status", "said"),
    [
        ({}, 401, "no token came"),
        ({"Authorization": f"Bearer {TOKEN[:-1]}"}, 401, "not this server's"),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401, "not this server's"),
        ({"Authorization": f"Basic {TOKEN}"}, 401, "no token came"),
        ({"Cookie": f"token={TOKEN}"}, 401, "no token came"),
        ({**BEARER, "Content-Type": "text/plain"}, 415, "send Content-Type: application/json"),
        ({**BEARER, "Content-Type": "application/x-www-form-urlencoded"}, 415, "send Content-Type"),
        ({**BEARER, "Content-Type": "multipart/form-data"}, 415, "send Content-Type"),
        ({**BEARER, "Origin": "https://evil.example"}, 403, "may not ask here"),
        ({**BEARER, "Origin": "null"}, 403, "may not ask here"),
        ({**BEARER, "Origin": "http://["}, 403, "may not ask here"),
        ({**BEARER, "Host": "["}, 421, "--allow-host"),
        ({**BEARER, "Origin": "http://127.0.0.1:1"}, 403, "may not ask here"),
        ({**BEARER, "Host": "evil.example"}, 421, "--allow-host"),
        ({**BEARER, "Host": "evil.example", "X-Forwarded-Host": "localhost"}, 421, "--allow-host"),
        (BEARER, 200, "answer"),
        ({**BEARER, "Content-Type": "application/json; charset=utf-8"}, 200, "answer"),
        ({**BEARER, "Host": "Box"}, 200, "answer"),
        ({**BEARER, "X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"}, 200, "answer"),
    ],
)
async def test_who_is_let_in(headers: dict[str, str], status: int, said: str) -> None:
    async with served(token=TOKEN, names=["box"]) as address:
        came, text = await posted(address, headers={**JSON, **headers})

    assert (came, said in text) == (status, True)
    assert TOKEN not in text


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "[::1]", "evil.example", "127.0.0.1.evil.example"]
)
@pytest.mark.parametrize("origin", [None, "http", "https://evil.example"])
async def test_pages_elsewhere_are_kept_out_without_a_token_too(host: str, origin: str | None) -> None:
    """By the name that was pointed here, or by the page that they say they are."""
    own = "evil" not in host
    async with served() as address:
        name = f"{host}:{urlsplit(address).port}"
        headers = {"Host": name} | (
            {"Origin": f"http://{name}" if origin == "http" else origin} if origin else {}
        )
        came, _ = await posted(address, headers={**JSON, **headers})

    assert came == (421 if not own else 403 if origin and "evil" in origin else 200)


async def test_a_plain_text_post_as_a_page_can_send_it_asks_nothing() -> None:
    adapter = Counting()
    async with served(adapter) as address:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "text/plain;application/json"):
            assert (await posted(address, headers={"Content-Type": kind}))[0] == 415
    assert adapter.opened == 0


async def test_all_but_health_wants_the_token() -> None:
    async with served(token=TOKEN) as address, aiohttp.ClientSession() as client:
        found = {}
        for path in ("/health", "/stats", "/v1/models", "/none"):
            async with client.get(address + path) as answer:
                found[path] = answer.status, answer.headers.get("WWW-Authenticate")
    assert found == {"/health": (200, None)} | dict.fromkeys(
        ("/stats", "/v1/models", "/none"), (401, "Bearer")
    )


async def test_an_openai_client_sends_the_token_as_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONVREPLAY_TOKEN", TOKEN)
    talk, question = Conversation(id="c", turns=()), ChatRequest(question="Q?", history=(), depth=1)
    async with served(ExtractiveAdapter(), token=TOKEN) as address:
        for key in ("CONVREPLAY_TOKEN", None):
            adapter = OpenAIAdapter(base_url=f"{address}/v1", model="x", api_key_env=key)
            async with adapter, adapter.session(talk) as session:
                if key is not None:
                    assert (await session.ask(question)).text
                    continue
                with pytest.raises(AdapterRefusedError, match="no token came") as caught:
                    await session.ask(question)
    assert caught.value.status == 401


MOST = 4096


@pytest.mark.parametrize("size", ["said", "chunked"])
async def test_a_body_that_is_too_large_is_not_read(size: str) -> None:
    body = b'{"question": "' + b"x" * MOST + b'"}'

    async def chunks() -> AsyncIterator[bytes]:
        yield body

    async with served(max_body_bytes=MOST) as address:
        came, text = await posted(address, body if size == "said" else chunks())
        assert (await posted(address))[0] == 200

    assert came == 413
    assert "more than 4,096 bytes; start the server with a larger --max-body" in text


async def test_a_large_body_is_read_apart_from_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everyone else is answered in the meantime."""
    loop, begun, go_on = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    read = serving.read_question

    def slowly(content: bytes) -> Any:
        if len(content) > serving.INLINE_BYTES:
            loop.call_soon_threadsafe(begun.set)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(PATIENCE_S)
        return read(content)

    monkeypatch.setattr(serving, "read_question", slowly)
    large = json.dumps({"question": "Q?", "passages": ["x" * serving.INLINE_BYTES]})
    async with served() as address, asyncio.timeout(PATIENCE_S):
        waiting = asyncio.create_task(posted(address, large))
        await begun.wait()
        assert (await posted(address))[0] == 200
        assert not waiting.done()
        go_on.set()
        assert (await waiting)[0] == 200


@from_table
async def test_whoever_sends_too_slowly_is_sent_away(
    sent: str, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_app, limit, 0.05)
    async with served() as address, asyncio.timeout(PATIENCE_S):
        port = urlsplit(address).port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent.format(port).encode())
        try:
            answered = await reader.read()  # to the connection's end
        except ConnectionResetError:
            answered = b""
        writer.close()
        monkeypatch.undo()
        assert (await posted(address))[0] == 200

    assert {"BODY_WITHIN_S": b"408", "IDLE_S": b"200"}.get(limit, b"") in answered
    assert bool(answered) == (limit != "HEADERS_WITHIN_S")


async def test_whoever_has_asked_is_not_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the answer takes."""
    loop, due = asyncio.get_running_loop(), []
    call_later = loop.call_later

    def noted(delay_s: float, call: Any, *rest: Any) -> Any:
        if delay_s == web_app.HEADERS_WITHIN_S:
            due.append(lambda: call(*rest))
        return call_later(delay_s, call, *rest)

    monkeypatch.setattr(loop, "call_later", noted)
    adapter = Counting()
    adapter.may_answer.clear()
    async with served(adapter) as address, asyncio.timeout(PATIENCE_S):
        asking = asyncio.create_task(posted(address))
        while not adapter.inside:
            await asyncio.sleep(0)
        (hang_up,) = due
        hang_up()
        adapter.may_answer.set()
        assert (await asking)[0] == 200


async def test_whoever_reads_nothing_of_a_stream_gives_up_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "TAKEN_WITHIN_S", 0.05)
    text = "one " * 100_000
    body = json.dumps({"messages": [{"role": "user", "content": "Q?"}], "stream": True})
    async with served(ScriptedAdapter(answers=[text]), capacity=1) as address, asyncio.timeout(PATIENCE_S):
        port = urlsplit(address).port
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        head = f"Host: localhost:{port}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        writer.write(f"POST /v1/chat/completions HTTP/1.1\r\n{head}\r\n\r\n{body}".encode())
        await reader.readuntil(b"\r\n\r\n")
        assert (await posted(address))[0] == 200  # waits for the place
        writer.close()


def test_no_token_says_what_that_means(tmp_path: Any) -> None:
    ended = replay_cli("serve", "scripted", "--no-token", "--host", "no-such-host.invalid", cwd=tmp_path)
    assert "no token: whoever reaches this address, from here or elsewhere, may ask" in ended.stderr
