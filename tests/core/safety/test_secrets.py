"""Keys: refused in scenarios, read from the environment or a file, and in nothing that a run leaves."""

from __future__ import annotations

import traceback
from base64 import b64encode
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from replay import ChatRequest, Conversation
from replay.core.errors import AdapterRefusedError, ScenarioError
from replay.core.safety.redaction import redact
from replay.runs.launch import load_scenario
from replay.scenario.reading import parse_scenario
from replay_adapters.chat.openai import OpenAIAdapter
from replay_adapters.http.adapter import HttpAdapter
from replay_adapters.http.polling import Poll
from replay_adapters.http.websocket import WebSocketAdapter
from replay_adapters.setting_checks import from_environment
from tests.adapters.servers import answering
from tests.data_tables import from_table

DRAWN = "q7Rt2vXw9LmZ4kBn8Ys3"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w"


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


@from_table
def test_a_key_with_its_issuers_beginning_is_refused_wherever_it_stands_and_never_shown(key):
    error = refused({"body": {"note": [key]}})
    [fault] = error.faults
    assert fault.path == "systems[0].settings.body.note[0]"
    assert fault.line == 11
    assert "not_secret" in fault.message
    assert key not in str(error)
    assert key[-8:] not in str(error)


@from_table
def test_a_value_under_a_name_that_speaks_of_keys_is_refused_with_advice(settings, path):
    error = refused(settings)
    assert f"systems[0].settings.{path}" in [fault.path for fault in error.faults]
    for secret in ("letmein", "swordfish", "abcd1234", "1f0c", DRAWN, "446655440000"):
        assert secret not in str(error)
    assert "environment variable" in str(error)


@from_table
def test_what_only_resembles_a_key_is_left_alone(settings):
    text = yaml.safe_dump(scenario(settings), sort_keys=False)
    assert parse_scenario(text, source="s.yaml", folder=Path()).scenario.name == "try"


def test_shipped_scenarios_and_the_documentations_hold_nothing_that_looks_like_a_key():
    root = Path(__file__).parents[3]
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
    assert redact(f"it was {DRAWN}!") == "it was ***!"


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
        assert "***" in redact(f"It is {told}.")
        assert "11" not in redact(f"It is {told}.")
