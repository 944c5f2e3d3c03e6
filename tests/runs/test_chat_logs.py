"""Chat logs against servers over HTTP: what of a log reaches the system, and what is said of the rest."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest
import yaml
from aiohttp import web

from replay.runs.launch import run_async
from tests.adapters.servers import answering, completion
from tests.cli.command import replay_cli
from tests.data_tables import from_table
from tests.runs.scenes import playing

LOG = {
    "id": "log",
    "messages": [
        {"role": "system", "content": "You sell shoes."},
        {"role": "user", "content": [{"type": "text", "text": "Red ones?"}, {"type": "image_url"}]},
        {"role": "assistant", "content": "Yes."},
        {"role": "system", "content": "The shop closes."},
        {"role": "user", "content": "Which?"},
        {"role": "assistant", "content": "These."},
    ],
}
SHOP, CLOSES = "You sell shoes.", "The shop closes."


def scenario(folder, adapter, *, policies=("gold",), **settings):
    (folder / "log.jsonl").write_text(json.dumps(LOG) + "\n", "utf-8")
    bot = {"name": "bot", "adapter": adapter, "settings": settings}
    return playing(
        folder, bot, data={"path": str(folder / "log.jsonl"), "format": "chat"}, policies=[*policies]
    )


@asynccontextmanager
async def model():
    """A server that speaks all three APIs, and what it was sent."""
    bodies = []

    async def answer(request: web.Request) -> web.Response:
        bodies.append(await request.json())
        text = [{"type": "output_text", "text": "Sure."}]
        output = {"status": "completed", "output": [{"type": "message", "content": text}]}
        return web.json_response(
            completion("Sure.") | output | {"content": [{"type": "text", "text": "Sure."}]}
        )

    async with answering(answer) as address:
        yield address, bodies


def said(messages):
    return [(message["role"], message["content"]) for message in messages]


PLAIN = [("user", "Red ones?"), ("assistant", "Yes."), ("user", "Which?")]
IN_PLACE = [("system", SHOP), *PLAIN[:2], ("system", CLOSES), PLAIN[2]]


@pytest.mark.parametrize(("api", "field"), [("chat", "messages"), ("responses", "input")])
async def test_the_recipe_of_the_readme_sends_system_prompts_as_in_the_log(tmp_path, api, field):
    async with model() as (address, bodies):
        system = {"base_url": address, "model": "m", "api": api}
        run = await run_async(scenario(tmp_path, "openai", **system), runs=tmp_path)

    assert [said(body[field]) for body in bodies] == [IN_PLACE[:2], IN_PLACE]
    assert run.outcomes() == {"answered": 2}


async def test_anthropic_gets_all_that_were_said_until_then_as_its_system_text(tmp_path):
    async with model() as (address, bodies):
        await run_async(scenario(tmp_path, "anthropic", base_url=address, model="m"), runs=tmp_path)

    assert [body["system"] for body in bodies] == [SHOP, f"{SHOP}\n\n{CLOSES}"]
    assert said(bodies[1]["messages"]) == PLAIN


async def test_a_body_of_ones_own_has_them_in_messages(tmp_path):
    async with model() as (address, bodies):
        body = {"messages": "{{ messages }}", "top": "{{ system_prompt }}"}
        settings = {"url": address, "body": body, "answer": "choices[0].message.content"}
        await run_async(scenario(tmp_path, "http", **settings), runs=tmp_path)

    assert said(bodies[1]["messages"]) == IN_PLACE
    assert bodies[1]["top"] == f"{SHOP}\n\n{CLOSES}"


CHAT = {"base_url": "http://127.0.0.1:9/v1", "model": "m"}
NOWHERE = {"openai": CHAT, "http": {"url": "http://127.0.0.1:9/", "answer": "text"}}


@from_table
def test_validate_says_what_becomes_of_them(tmp_path, adapter, settings, words):
    settings = NOWHERE.get(adapter, {}) | settings
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(scenario(tmp_path, adapter, **settings)))
    done = replay_cli("validate", "s.yaml", cwd=tmp_path)

    assert words in done.stdout, done.stdout
    assert "1 turn had parts that are not replayed (image_url 1)." in done.stdout


async def test_the_report_counts_what_was_left_out(tmp_path):
    run = await run_async(scenario(tmp_path, "scripted", answers="gold"), runs=tmp_path)

    assert run.records()[0].asked == "Red ones?"
    assert "1 turn had parts that are not replayed (image_url 1)." in run.report().remarks


def function(id, name, arguments):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


WITH_TOOLS = [
    {"role": "system", "content": "You sell shoes."},
    {"role": "assistant", "content": "Hello!"},
    {"role": "user", "content": "Hi."},
    {"role": "user", "content": "Red ones in 42?"},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [function("a", "stock", '{"size": 42}'), function("b", "price", '{"size":42}')],
    },
    {"role": "tool", "content": "3 pairs", "tool_call_id": "a", "name": "stock"},
    {"role": "tool", "content": "90 euros", "tool_call_id": "b", "name": "price"},
    {"role": "developer", "content": "Offer a discount."},
    {"role": "assistant", "content": None, "tool_calls": [function("c", "discount", "{}")]},
    {"role": "tool", "content": "10 %", "tool_call_id": "c", "name": "discount"},
    {"role": "assistant", "content": "Three pairs, for 81 euros."},
    {"role": "user", "content": "Which?"},
]


async def test_a_log_is_sent_again_as_it_stands(tmp_path):
    async with model() as (address, bodies):
        content = scenario(tmp_path, "openai", base_url=address, model="m")
        (tmp_path / "log.jsonl").write_text(json.dumps({"messages": WITH_TOOLS}) + "\n", "utf-8")
        run = await run_async(content, runs=tmp_path)

    assert [body["messages"] for body in bodies] == [WITH_TOOLS[:4], WITH_TOOLS]
    assert run.outcomes() == {"answered": 2}


def test_validate_counts_the_calls(tmp_path):
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(scenario(tmp_path, "openai", **CHAT)))
    (tmp_path / "log.jsonl").write_text(json.dumps({"messages": WITH_TOOLS}) + "\n", "utf-8")
    done = replay_cli("validate", "s.yaml", cwd=tmp_path)

    assert "3 calls of tools recorded" in done.stdout, done.stdout


def test_a_greeting_and_several_messages_are_no_system_prompts(tmp_path):
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(scenario(tmp_path, "openai", **CHAT)))
    (tmp_path / "log.jsonl").write_text(json.dumps({"messages": WITH_TOOLS[1:4]}) + "\n", "utf-8")
    done = replay_cli("validate", "s.yaml", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "system prompts" not in done.stdout
    assert "calls of tools" not in done.stdout


async def test_an_edit_of_the_last_of_several_messages_leaves_the_others(tmp_path):
    said = [{"role": "user", "text": "Hi."}, {"role": "user", "text": "And hers?"}]
    turn = {"question": "Hi.\nAnd hers?", "asked_with": said, "standalone": "Hi.\nAnd Mira's?"}
    (tmp_path / "talk.jsonl").write_text(json.dumps({"id": "t", "turns": [turn]}) + "\n")
    async with model() as (address, bodies):
        content = scenario(
            tmp_path, "openai", policies=[{"replace": {"always": True}}], base_url=address, model="m"
        )
        content["data"] = {"path": str(tmp_path / "talk.jsonl")}
        run = await run_async(content, runs=tmp_path)

    assert said_by_users(bodies[0]) == ["Hi.", "And Mira's?"]
    assert run.records()[0].asked == "Hi.\nAnd Mira's?"


def said_by_users(body):
    return [message["content"] for message in body["messages"] if message["role"] == "user"]
