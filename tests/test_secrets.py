"""Keys: refused in scenarios, read from the environment or a file, and in nothing that a run leaves."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import sys
import traceback
from base64 import b64encode
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote

import pytest
import yaml
from aiohttp import web

from replay import ChatRequest, Conversation, Run
from replay.core import secret_hiding as known_secrets
from replay.core.errors import AdapterCutOffError, AdapterRefusedError, ScenarioError
from replay.core.secret_hiding import hidden, hide_in_error, keep_secret
from replay.runs.launch import load_scenario
from replay.scenario.reading import parse_scenario
from replay_adapters.chat.openai import OpenAIAdapter
from replay_adapters.http.adapter import HttpAdapter
from replay_adapters.http.polling import Poll
from replay_adapters.setting_checks import from_environment
from replay_adapters.websocket.adapter import WebSocketAdapter
from tests.adapters.servers import answering, delta, event, streamed

DRAWN = "q7Rt2vXw9LmZ4kBn8Ys3"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w"


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """What a test makes known as a secret is none for the next."""
    monkeypatch.setattr(known_secrets, "_known", known_secrets.Words(()))


def scenario(settings: dict, **changes) -> dict:
    facts = {
        "name": "try",
        "data": {"path": "talks.jsonl"},
        "systems": [
            {"name": "bot", "adapter": "http", "settings": {"url": "http://127.0.0.1:1", **settings}}
        ],
        "policies": ["pred"],
    }
    return {**facts, **changes}


def refused(settings: dict, **changes) -> ScenarioError:
    text = yaml.safe_dump(scenario(settings, **changes), sort_keys=False)
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, source="s.yaml", folder=Path())
    return caught.value


# In a scenario -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-" + DRAWN * 2,
        "sk-ant-api03-" + DRAWN * 4 + "-x_AA",
        "sk-or-v1-" + "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
        "ghp_" + "x1Y2" * 9,
        "github_pat_11ABCDEFG0" + "x1Y2" * 10,
        "xoxb-1234567890-" + DRAWN,
        "AKIA" + "Q3EXAMPLEQ3EXAMP",
        "AIza" + "Sy0x1Y2-x1Y2_x1Y2x1Y2x1Y2x1Y2x1Y2x1",
        "hf_" + "x1Y2" * 9,
        "glpat-" + DRAWN,
        "gsk_" + "x1Y2" * 12,
        "Bearer " + DRAWN,
        JWT,
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        "https://user:hunter2@host/chat",
        f"https://host/chat?api_key={DRAWN}&v=2",
        f"https://bot.azurewebsites.net/api/ask?code={DRAWN}%2B%2F==",
        f"https://store.blob.core.windows.net/box/ask?sv=2024-11-04&sp=r&sig={DRAWN}%3D",
        f"https://generativelanguage.googleapis.com/v1/models?key={DRAWN}",
        f"https://host/chat?token={DRAWN}",
        f"https://host/chat?access_token={DRAWN}",
        "https://box.s3.amazonaws.com/ask?X-Amz-Expires=60&X-Amz-Signature=" + "0f1e2d3c4b5a6978" * 4,
        "https://api.telegram.org/bot123456789:AAF" + DRAWN + DRAWN[:12] + "/sendMessage",
        "http://127.0.0.1:8081/bot123:ABC" + DRAWN + "/sendMessage",
        "https://hooks.slack.com/services/T00000000/B00000000/" + DRAWN,
        "https://discord.com/api/webhooks/123456789012345678/" + DRAWN * 3,
    ],
)
def test_a_key_with_its_issuers_beginning_is_refused_wherever_it_stands_and_never_shown(key):
    error = refused({"body": {"note": [key]}})
    [fault] = error.faults
    assert fault.path == "systems[0].settings.body.note[0]"
    assert fault.line == 11
    assert "not_secret" in fault.message
    assert key not in str(error)
    assert key[-8:] not in str(error)


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"headers": {"Authorization": "letmein"}}, "headers.Authorization"),
        ({"headers": {"X-Api-Key": "swordfish"}}, "headers.X-Api-Key"),
        ({"headers": {"X-Auth-Token": "abcd1234"}}, "headers.X-Auth-Token"),
        ({"headers": {"Cookie": "session=1f0c"}}, "headers.Cookie"),
        ({"body": {"api_key": "swordfish"}}, "body.api_key"),
        ({"body": {"apiKey": "swordfish"}}, "body.apiKey"),
        ({"body": {"password": "swordfish"}}, "body.password"),
        ({"body": {"token": DRAWN}}, "body.token"),
        ({"body": {"accessToken": "550e8400-e29b-41d4-a716-446655440000"}}, "body.accessToken"),
        ({"api_key_env": DRAWN}, "api_key_env"),
    ],
)
def test_a_value_under_a_name_that_speaks_of_keys_is_refused_with_advice(settings, path):
    error = refused(settings)
    assert f"systems[0].settings.{path}" in [fault.path for fault in error.faults]
    for secret in ("letmein", "swordfish", "abcd1234", "1f0c", DRAWN, "446655440000"):
        assert secret not in str(error)
    assert "environment variable" in str(error)


@pytest.mark.parametrize(
    "settings",
    [
        {"body": {"model": "meta-llama/Llama-3.1-70B-Instruct", "max_tokens": 512}},
        {"body": {"model": "gpt-4o-mini-2024-07-18", "id": "550e8400-e29b-41d4-a716-446655440000"}},
        {"body": {"stop_token": "<|endoftext|>", "tokenizer": "Qwen/Qwen2.5-7B-Instruct-1M"}},
        {"body": {"token": "{{session_id}}", "key": "question", "sort_key": "conversation-2024-turn-12"}},
        {"body": {"password": "", "secret": "{{ question }}", "api_key": "EMPTY"}},
        {"body": {"text": "The key to it is a token of trust; the secret: patience, 12345678901234567890."}},
        {
            "body": {
                "name": "sk-learn-based-classifier-v2",
                "commit": "0f1e2d3c4b5a69788796a5b4c3d2e1f000112233",
            }
        },
        {"headers": {"X-Request-Id": "550e8400-e29b-41d4-a716-446655440000", "Accept": "application/json"}},
        {"headers": {"Authorization": "Bearer {{session_id}}", "X-Api-Key": "dummy"}},
        {"headers_env": {"Authorization": "Bearer ${BOT_TOKEN}", "X-Key": "MY_OWN_KEY_2"}},
        {"url": "http://localhost:8000/v1?api-version=2024-10-21&key={{session_id}}"},
        {"url": "http://localhost:8000/v1?code=en-US&sig=v2&signature=none&sort_code=12-34-56"},
        {"url": "http://localhost:8000/bot${TELEGRAM_TOKEN}/send?code=${FUNCTION_KEY}"},
        {"url": "http://localhost:8000/robot12:30/services/550e8400-e29b-41d4-a716-446655440000/ask"},
        {"api_key_env": "OPENAI_API_KEY", "token_env": "RASA_TOKEN"},
        {"password_file": "secrets/9f8e7d6c5b4a39281706"},
    ],
)
def test_what_only_resembles_a_key_is_left_alone(settings):
    text = yaml.safe_dump(scenario(settings), sort_keys=False)
    assert parse_scenario(text, source="s.yaml", folder=Path()).scenario.name == "try"


def test_shipped_scenarios_and_the_documentations_hold_nothing_that_looks_like_a_key():
    root = Path(__file__).parents[1]
    for path in sorted((root / "scenarios").glob("*.yaml")):
        assert parse_scenario(path.read_text(), source=path.name, folder=path.parent).scenario.name


def test_other_faults_are_told_beside_a_key_and_show_nothing_of_it():
    key = "sk-proj-" + DRAWN
    error = refused({"headers": {"X-Api-Key": key}}, play={"concurrency": key}, sed=3)
    paths = [fault.path for fault in error.faults]
    assert "systems[0].settings.headers.X-Api-Key" in paths
    assert "play.concurrency" in paths
    assert "sed" in paths
    assert key[:12] not in str(error)


def test_a_key_in_a_comment_is_refused_since_comments_are_kept_too():
    text = yaml.safe_dump(scenario({})) + "# was: ghp_" + "x1Y2" * 9 + "\n"
    with pytest.raises(ScenarioError, match="comment") as caught:
        parse_scenario(text, source="s.yaml", folder=Path())
    assert caught.value.faults[0].line == len(text.splitlines())


def test_the_next_step_for_a_key_in_an_address_is_its_place_in_that_address():
    error = refused({"url": f"https://bot.azurewebsites.net/api/ask?code={DRAWN}"})
    assert "write ${NAME} where it stands in the address" in str(error)
    assert DRAWN not in str(error)


def test_what_is_no_secret_can_be_said_to_be_none():
    settings = {"headers": {"X-Tenant-Token": "acme-1"}}
    refused(settings)
    assert load_scenario(scenario(settings, not_secret=["systems[0].settings.headers.X-Tenant-Token"]))


# From the environment or a file ----------------------------------------------------------------------------


def test_a_key_can_stand_in_a_file_that_a_variable_names(tmp_path, monkeypatch):
    (tmp_path / "key").write_text(f"{DRAWN}\n")
    monkeypatch.setenv("BOT_KEY_FILE", str(tmp_path / "key"))
    assert from_environment("BOT_KEY_FILE", "api_key_env") == DRAWN
    OpenAIAdapter(base_url="http://127.0.0.1:1", model="m", api_key_env="BOT_KEY_FILE")
    HttpAdapter(url="http://127.0.0.1:1", answer="a", headers_env={"X-Key": "Bearer ${BOT_KEY_FILE}"})
    assert hidden(f"it was {DRAWN}!") == "it was ***!"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "can't be read"),
        (b"", "is empty"),
        (b"\xff\xfe" + DRAWN.encode(), "not UTF-8"),
        (f"{DRAWN}\n{DRAWN}".encode(), "more than one line"),
        (b"x" * 70_000, "more than one line"),
    ],
)
def test_a_file_that_holds_no_key_is_told_without_showing_what_it_holds(content, told, tmp_path, monkeypatch):
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("BOT_KEY_FILE", str(path))
    with pytest.raises(ValueError, match=told) as caught:
        from_environment("BOT_KEY_FILE", "api_key_env")
    assert DRAWN not in "".join(traceback.format_exception(caught.value))


def test_no_file_is_read_that_the_settings_dont_speak_of(tmp_path, monkeypatch):
    """A variable that happens to be there must not lend a scenario the file that it names."""
    (tmp_path / "key").write_text(DRAWN)
    monkeypatch.setenv("BOT_KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(ValueError, match=r"the environment variable BOT_KEY is not set; export it and"):
        from_environment("BOT_KEY", "api_key_env")
    monkeypatch.setenv("BOT_KEY", str(tmp_path / "key"))
    assert from_environment("BOT_KEY", "api_key_env") == str(tmp_path / "key")


def test_a_variable_for_a_file_that_is_not_set_says_what_it_wants(monkeypatch):
    monkeypatch.delenv("BOT_KEY_FILE", raising=False)
    with pytest.raises(ValueError, match="export it with the path of a file that holds the value"):
        from_environment("BOT_KEY_FILE", "api_key_env")


ADDRESSES = {
    "openai": lambda url: OpenAIAdapter(base_url=url, model="m"),
    "http": lambda url: HttpAdapter(url=url, answer="a", body="{{question}}"),
    "http job": lambda url: HttpAdapter(
        url=f"{url.partition('/bot')[0]}/jobs", answer="a", poll=Poll(until="done", url=url, every_s=0.001)
    ),
    "websocket": lambda url: WebSocketAdapter(url=url.replace("http", "ws"), send="{{question}}", answer="a"),
}


@pytest.mark.parametrize("name", ADDRESSES)
async def test_a_key_in_an_address_comes_from_the_environment_and_is_sent_and_hidden(name, monkeypatch):
    monkeypatch.setenv("BOT_KEY", f"4711:{DRAWN}/x%2By")
    asked: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        asked.append(request.raw_path)
        if request.path == "/jobs":
            return web.json_response({})
        return web.json_response({"told": f"no {request.raw_path} and {request.path}"}, status=400)

    async with answering(handler) as address:
        adapter = ADDRESSES[name](f"{address}/bot${{BOT_KEY}}/ask?code=${{BOT_KEY}}")
        async with adapter, adapter.session(Conversation(id="c", turns=())) as session:
            with pytest.raises(AdapterRefusedError) as caught:
                await session.ask(ChatRequest(question="Who?", history=(), depth=1))
    key = f"4711:{DRAWN}/x%2By"
    assert asked[-1].startswith(f"/bot{key}/ask")
    assert asked[-1].partition("?")[2].startswith(f"code={key}")
    for told in (*traceback.format_exception(caught.value), repr(adapter)):
        assert DRAWN not in told
        assert "x+y" not in told


def test_the_host_of_an_address_is_written_out(monkeypatch):
    monkeypatch.setenv("HOST", "example.org")
    for url in ("https://${HOST}/ask", "https://a.${HOST}?q=1", "${HOST}/ask"):
        with pytest.raises(ValueError, match="url"):
            HttpAdapter(url=url, answer="a")
    with pytest.raises(ValueError, match="write the host itself out"):
        HttpAdapter(url="https://${HOST}/ask", answer="a")


def test_name_and_password_are_hidden_as_they_are_sent_and_as_they_are(monkeypatch):
    monkeypatch.setenv("BASIC", b64encode(b"anna:swordfish-11").decode())
    HttpAdapter(url="http://127.0.0.1:1", answer="a", headers_env={"Authorization": "Basic ${BASIC}"})
    for told in ("Basic YW5uYTpzd29yZGZpc2gtMTE=", "anna:swordfish-11", "swordfish-11", "swordfish%2d11"):
        assert "***" in hidden(f"It is {told}.")
        assert "11" not in hidden(f"It is {told}.")


# Hidden ---------------------------------------------------------------------------------------------------


def test_a_secret_is_hidden_as_it_is_and_as_addresses_and_json_write_it():
    keep_secret('Bearer a/b+c="12345')
    for form in ('a/b+c="12345', "a%2Fb%2Bc%3D%2212345", json.dumps('a/b+c="12345'), 'a\\/b+c=\\"12345'):
        assert "12345" not in hidden(f"<{form}>"), form


def test_words_that_an_answer_may_well_hold_are_left():
    keep_secret("english")
    keep_secret("Bearer swordfish")
    assert hidden("An english swordfish, said the bearer.") == "An english swordfish, said the bearer."


def test_an_errors_message_and_partial_answer_hold_no_secret():
    keep_secret(DRAWN)
    error = AdapterCutOffError(f"cut: {DRAWN}", partial=f"your key is {DRAWN}")
    hide_in_error(error)
    assert (str(error), error.partial) == ("cut: ***", "your key is ***")


# A hostile server -----------------------------------------------------------------------------------------


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
    """A spelling in which each sign that is no letter is written in *form*."""
    return lambda said: "".join(sign if sign.isalpha() else form.format(ord(sign)) for sign in said)


SPELLINGS: Sequence[Callable[[str], str]] = (
    str,
    each_sign("%{:02x}"),
    each_sign("%{:02X}"),
    each_sign("%25{:02x}"),
    each_sign("\\u{:04x}"),
    each_sign("\\u{:04X}"),
    each_sign("\\x{:02x}"),
    each_sign("&#{};"),
    each_sign("&#x{:X};"),
    each_sign("&amp;#{};"),
    each_sign("\\{:c}"),
    lambda said: said.replace("+", "&plus;").replace("/", "&sol;"),
    quote_plus,
)
TURNS = itertools.count()


def told(request: web.Request) -> str:
    """What the client sent about itself, in all spellings, of which another one comes first each time."""
    ours = ("host", "user-agent", "accept", "accept-encoding", "content-type", "content-length")
    shown = "; ".join(value for name, value in request.headers.items() if name.lower() not in ours)
    first = next(TURNS) % len(SPELLINGS)
    spellings = [*SPELLINGS[first:], *SPELLINGS[:first]]
    return " | ".join(spell(f"{shown} {request.path_qs} {request.raw_path}") for spell in spellings)


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
        return web.Response(status=302, headers={"Location": f"http://127.0.0.1/{quote(said)}"})
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
