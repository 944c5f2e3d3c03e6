"""What stands in an answer's place and is none: a failed turn that says why, over every kind of wire."""

from __future__ import annotations

import json
import sys

import pytest
from aiohttp import web

from replay.runs.launch import run_async
from tests.adapters.servers import answering

NO_ANSWERS = {
    "NaN": "nan, which is no number",
    "Infinity": "inf, which is no number",
    "-Infinity": "-inf, which is no number",
    "1e400": "inf, which is no number",
    "true": "true or false",
    '{"text": "Me."}': "an object",
    '["Me."]': "a list",
    "null": "nothing",
}


async def played(tmp_path, adapter, settings):
    (tmp_path / "talks.jsonl").write_text(json.dumps({"id": "a", "turns": [{"question": "Who?"}]}) + "\n")
    content = {
        "name": "nothing",
        "data": {"path": str(tmp_path / "talks.jsonl")},
        "systems": [{"name": "s", "adapter": adapter, "settings": settings}],
        "policies": ["gold"],
        "drift": {"nlp_workers": 0},
        "play": {"attempts": 1},
    }
    (record,) = (await run_async(content, runs=tmp_path / "runs")).records()
    return record


@pytest.mark.parametrize("answer", NO_ANSWERS)
async def test_over_http_it_is_a_bad_reply(tmp_path, answer):
    async def handler(request):
        return web.Response(body=f'{{"answer": {answer}}}'.encode(), content_type="application/json")

    async with answering(handler) as address:
        settings = {"url": address, "body": {"q": "{{ question }}"}, "answer": "answer"}
        record = await played(tmp_path, "http", settings)
    assert (record.outcome, record.answer) == ("bad-reply", None)
    assert f'answer "answer" gives {NO_ANSWERS[answer]}, not a text' in record.error
    assert "check the path" in record.error


@pytest.mark.parametrize("answer", NO_ANSWERS)
async def test_of_a_program_it_is_a_bad_reply(tmp_path, answer):
    line = f'{{"answer": {answer}}}'
    (tmp_path / "bot.py").write_text(f"input()\nprint({line!r})\n")
    settings = {"command": [sys.executable, str(tmp_path / "bot.py")]}
    record = await played(tmp_path, "command", settings)
    assert (record.outcome, record.answer) == ("bad-reply", None)
    assert NO_ANSWERS[answer] in record.error


@pytest.mark.parametrize("answer", ["NaN", "1e400"])
async def test_in_a_stream_it_is_a_bad_reply(tmp_path, answer):
    async def handler(request):
        events = b'data: {"answer": "Me"}\n\ndata: {"answer": %s}\n\n' % answer.encode()
        return web.Response(body=events, content_type="text/event-stream")

    async with answering(handler) as address:
        settings = {
            "url": address,
            "body": {"q": "{{ question }}"},
            "answer": "answer",
            "stream": "sse",
        }
        record = await played(tmp_path, "http", settings)
    assert (record.outcome, record.answer) == ("bad-reply", None)
    assert "something else than a text" in record.error


@pytest.mark.parametrize(("answer", "text"), [("42", "42"), ("-0.5", "-0.5"), ('"NaN"', "NaN")])
async def test_a_number_or_a_text_is_an_answer_whatever_stands_beside_it(tmp_path, answer, text):
    async def handler(request):
        return web.Response(body=f'{{"answer": {answer}, "score": NaN}}'.encode())

    async with answering(handler) as address:
        settings = {"url": address, "body": {"q": "{{ question }}"}, "answer": "answer"}
        record = await played(tmp_path, "http", settings)
    assert (record.outcome, record.answer) == ("answered", text)
