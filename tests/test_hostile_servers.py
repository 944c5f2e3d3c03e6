"""Servers that repeat every key they are sent, in all spellings; what a run leaves behind has none."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, unquote

import pytest
import yaml
from aiohttp import ClientSession, web

from replay import ChatRequest, Conversation, Run
from replay.cli.serving.server import make_app
from replay.core.errors import AdapterConnectionError, AdapterRefusedError
from replay_adapters.http.adapter import HttpAdapter
from replay_adapters.local.scripted import ScriptedAdapter
from tests.adapters.servers import answering, delta, event, running, streamed

KINDS = (
    "openai",
    "openai_stream",
    "responses",
    "anthropic",
    "http",
    "http_stream",
    "websocket",
    "rasa",
    "bot",
)


def key_of(kind: str) -> str:
    return f"k7/{kind}-Zq9+8Xw2Lm4Kb"


def each_sign(form: str) -> Callable[[str], str]:
    """A spelling in which each sign that is no letter or digit is written in *form*."""
    return lambda said: "".join(sign if sign.isalnum() else form.format(ord(sign)) for sign in said)


SPELLINGS: Sequence[Callable[[str], str]] = (
    str,
    each_sign("%{:02x}"),
    each_sign("%{:02X}"),
    each_sign("\\u{:04x}"),
    each_sign("\\u{:04X}"),
    each_sign("&#{};"),
    each_sign("&#x{:X};"),
    lambda said: said.replace("/", "\\/"),
    quote_plus,
)
TURNS = itertools.count()


def sent(request: web.Request) -> str:
    """What the client sent about itself, as it is."""
    ours = ("host", "user-agent", "accept", "accept-encoding", "content-type", "content-length")
    shown = "; ".join(value for name, value in request.headers.items() if name.lower() not in ours)
    return unquote(f"{shown} {request.path_qs} {request.raw_path}")


def told(request: web.Request) -> str:
    """The same in all spellings, of which another one comes first each time."""
    first = next(TURNS) % len(SPELLINGS)
    spellings = [*SPELLINGS[first:], *SPELLINGS[:first]]
    return " | ".join(spell(sent(request)) for spell in spellings)


def comes_to(content: bytes) -> str:
    """*content* with all escapes taken off, by other means than the program's own."""
    text = content.decode("utf-8", "replace")
    for _ in range(5):
        text = re.sub(
            r"\\+(?:u00|x)([0-9A-Fa-f]{2})", lambda code: chr(int(code[1], 16)), unescape(unquote(text))
        )
    return text.replace("\\", "")


async def hostile(request: web.Request) -> web.StreamResponse:
    """Repeats headers and address: in an answer, in an error, in what is no JSON, and cut off."""
    if request.headers.get("Upgrade", "").lower() == "websocket":
        return await hostile_socket(request)
    asked = (await request.read()).decode()
    said = told(request)
    if "/directline/" in request.path:
        return direct_line(request, asked, said)
    if "error" in asked:
        return web.json_response({"error": {"message": said}}, status=500, reason=f"No{key_of('http')}")
    if "redirect" in asked:
        return web.Response(status=302, headers={"Location": f"http://127.0.0.1/{quote(sent(request))}"})
    if "junk" in asked:
        return web.Response(text=f"<html>{said}</html>")
    if '"stream":true' in asked or request.path.startswith("/stream"):
        half = len(said) // 2
        parts = [delta(said[:half]), delta(said[half:])]
        if "cut" not in asked:
            parts += [delta(None, "stop"), event("[DONE]")]
        return await streamed(request, *parts)
    if "messages" in request.path:
        return web.json_response({"content": [{"type": "text", "text": said}]})
    if "webhook" in request.path:
        return web.json_response([{"text": said}])
    if "responses" in request.path:
        part = {"type": "output_text", "text": said}
        return web.json_response({"output": [{"type": "message", "content": [part]}]})
    passages = [{"id": said, "text": said, "title": said}]
    return web.json_response({"choices": [{"message": {"content": said}}], "passages": passages})


async def hostile_socket(request: web.Request) -> web.StreamResponse:
    said = told(request)
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        if "error" in message.data:
            await socket.close(
                code=4001, message=said.encode()[:100]
            )  # as if it ended in the middle of a key
        elif "junk" in message.data:
            await socket.send_str(said)
        else:
            await socket.send_json({"text": said})
    return socket


def direct_line(request: web.Request, asked: str, said: str) -> web.StreamResponse:
    seen = request.app["seen"]
    if request.method == "GET":
        return web.json_response({"activities": seen, "watermark": str(len(seen))})
    if "error" in asked or "redirect" in asked:
        return web.json_response({"error": said}, status=502)
    if "message" not in asked:
        return web.json_response({"conversationId": "c1"})
    seen.append({"type": "message", "id": f"b{len(seen)}", "text": said, "inputHint": "expectingInput"})
    return web.json_response({"id": f"c1|{len(seen)}"})


def systems(address: str) -> list[dict]:
    chat = {"base_url": address, "model": "m"}
    http = {
        "url": f"{address}/http",
        "headers_env": {"X-Api-Key": "KEY_http", "Authorization": "Basic ${KEY_http}"},
        "body": {"question": "{{question}}"},
    }
    return [
        {"adapter": "openai", "settings": {**chat, "api_key_env": "KEY_openai", "passages_path": "passages"}},
        {"adapter": "openai", "settings": {**chat, "api_key_env": "KEY_openai_stream", "stream": True}},
        {"adapter": "openai", "settings": {**chat, "api_key_env": "KEY_responses", "api": "responses"}},
        {"adapter": "anthropic", "settings": {**chat, "api_key_env": "KEY_anthropic"}},
        {
            "adapter": "http",
            "settings": {**http, "answer": "choices[0].message.content", "passages": "passages"},
        },
        {
            "adapter": "http",
            "settings": {
                "url": f"{address}/stream",
                "headers_env": {"Authorization": "Bearer ${KEY_http_stream}"},
                "body": "{{question}}",
                "stream": "sse",
                "piece": "choices[0].delta.content",
                "until": "[DONE]",
            },
        },
        {
            "adapter": "websocket",
            "settings": {
                "url": address.replace("http", "ws"),
                "headers_env": {"X-Token": "KEY_websocket"},
                "send": {"question": "{{question}}"},
                "answer": "text",
            },
        },
        {
            "adapter": "rasa",
            "settings": {"base_url": address, "token_env": "KEY_rasa_FILE", "jwt_env": "KEY_rasa_FILE"},
        },
        {
            "adapter": "botframework",
            "settings": {"base_url": address, "secret_env": "KEY_bot", "poll_s": 0.01, "quiet_s": 0.05},
        },
    ]


def talks(folder: Path) -> None:
    questions = [
        "Tell me an answer",
        "Tell me an error",
        "Tell me a redirect",
        "Tell me junk",
        "Tell me a cut",
    ]
    lines = [
        {"id": question, "turns": [{"question": question, "gold_answer": "no"}, {"question": "And again?"}]}
        for question in questions
    ]
    (folder / "talks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


async def replay_cli(folder: Path, *arguments: str) -> tuple[int, str]:
    environment = {
        **os.environ,
        "CONVREPLAY_CACHE": str(folder / "cache"),
        **{f"KEY_{kind}": key_of(kind) for kind in KINDS if kind != "rasa"},
        "KEY_rasa_FILE": str(folder.parent / f"{folder.name}-rasa.key"),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "replay", *arguments),
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), 90)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, f"{out.decode()}\n{err.decode()}"


async def test_keys_that_a_hostile_server_repeats_are_in_nothing_that_a_run_leaves_behind(tmp_path):
    """Database with its log, exports, reports, logs, JUnit, verdict cache, and what the terminal showed."""
    folder = tmp_path / "work"
    folder.mkdir()
    talks(folder)
    (tmp_path / "work-rasa.key").write_text(key_of("rasa"))
    app_seen: list[dict] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        request.app._state["seen"] = app_seen
        return await hostile(request)

    async with answering(handler) as address:
        facts = {
            "name": "try",
            "data": {"path": "talks.jsonl"},
            "systems": [
                {"name": kind, **system} for kind, system in zip(KINDS, systems(address), strict=True)
            ],
            "policies": ["pred"],
            "drift": {"nlp_workers": 0},
            "play": {"attempts": 2, "backoff_s": 0, "fail_fast": False, "timeout_s": 10, "keep_raw": True},
            "judges": [{"correctness": {"adapter": "openai", "settings": systems(address)[0]["settings"]}}],
            "assert": [{"metric": "f1", "min": 0.99}],
        }
        (folder / "scenario.yaml").write_text(yaml.safe_dump(facts, sort_keys=False))
        logged = ("--log-level", "debug", "--log-file", "log.jsonl")
        code, shown = await replay_cli(folder, *logged, "run", "scenario.yaml", "--junit", "junit.xml")
    assert code == 100, shown
    for arguments in (
        ("report", "--json"),
        ("report", "--html", "report.html"),
        ("export", "-o", "turns.csv"),
        ("export", "-o", "turns.jsonl"),
        ("resume", str(next((folder / "runs").iterdir()))),
    ):
        code, more = await replay_cli(folder, *arguments)
        assert code in (0, 100), more
        shown += more

    written = {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    assert {"junit.xml", "log.jsonl", "report.html", "turns.csv", "turns.jsonl"} <= set(written)
    assert any(name.endswith("run.db") for name in written)
    written["the terminal"] = shown.encode()
    [run] = (folder / "runs").iterdir()
    raw = list(Run(run).raw_replies())
    assert {reply.system for reply in raw} >= {"openai", "openai_stream", "http", "http_stream", "rasa"}
    written["replies as they came"] = b"\n".join(reply.data for reply in raw)
    written["streams as they came"] = b"".join(
        b"".join(re.findall(rb'"content": ?"((?:[^"\\]|\\.)*)"', reply.data)) for reply in raw
    )
    found = {
        (name, kind)
        for name, content in written.items()
        for text in [comes_to(content)]
        for kind in KINDS
        for form in (key_of(kind)[-12:], key_of(kind)[:12])
        if form in text or form.replace("+", " ") in text
    }
    assert found == set()
    rows = [json.loads(line) for line in (folder / "turns.jsonl").read_text().splitlines()]
    for kind in KINDS:  # the server did repeat them, in answers and in errors alike
        mine = [row for row in rows if row["system"] == kind]
        assert any("***" in (row["answer"] or "") for row in mine), kind
        assert any("***" in (row["error"] or "") for row in mine), kind


async def test_who_asks_a_served_system_is_shown_no_key_of_ours(monkeypatch):
    monkeypatch.setenv("KEY_http", key_of("http"))

    async def handler(request: web.Request) -> web.StreamResponse:
        failing = b"error" in await request.read()
        return web.json_response({"answer": told(request)}, status=500 if failing else 200)

    async with answering(handler) as system:
        adapter = HttpAdapter(
            url=system, answer="answer", headers_env={"X-Api-Key": "KEY_http"}, body="{{question}}"
        )
        async with running(make_app(adapter, name="x")) as address, ClientSession(address) as client:
            for question in ("Tell me an answer", "Tell me an error"):
                messages = [{"role": "user", "content": question}]
                for path, body in (
                    ("/v1/chat/completions", {"model": "x", "messages": messages}),
                    ("/chat", {"question": question}),
                ):
                    async with client.post(path, json=body) as response:
                        shown = await response.text()
                    assert "***" in shown
                    assert key_of("http")[-12:] not in comes_to(shown.encode())

    class Careless(ScriptedAdapter):
        """Shows the key in its own message."""

        def session(self, conversation: Conversation) -> Any:
            raise AdapterConnectionError(key_of("http"))

    async with (
        running(make_app(Careless(), name="x")) as address,
        ClientSession(address) as client,
        client.post("/chat", json={"question": "Who?"}) as response,
    ):
        assert (await response.json())["error"]["message"] == "***"


async def test_an_adapters_exceptions_hold_no_key_down_to_their_causes(monkeypatch):
    """For a program that uses an adapter by itself and logs the traceback."""
    monkeypatch.setenv("KEY_http", key_of("http"))
    adapter = HttpAdapter(
        url="http://127.0.0.1:1", answer="a", headers_env={"X-Api-Key": "KEY_http"}, body="{{question}}"
    )

    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(text=told(request), status=400)

    async with answering(handler) as address:
        adapter = HttpAdapter(
            url=address, answer="a", headers_env={"X-Api-Key": "KEY_http"}, body="{{question}}"
        )
        async with adapter, adapter.session(Conversation(id="c", turns=())) as session:
            with pytest.raises(AdapterRefusedError) as caught:
                await session.ask(ChatRequest(question="Who?", history=(), depth=1))
    assert key_of("http") not in "".join(traceback.format_exception(caught.value))
    assert key_of("http") not in repr(adapter)
