"""
The ``http`` adapter against servers that keep threads: OpenAI's Assistants and LangGraph's server.

The Assistants stream their runs (https://platform.openai.com/docs/api-reference/assistants-streaming) or are
polled; LangGraph's are waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from replay.testing import FAIL, HANG, AdapterContract
from replay_adapters.http.adapter import HttpAdapter
from replay_adapters.http.polling import Poll
from replay_adapters.http.request import SessionRequest
from tests.adapters.servers import event, running, streamed


class Threads:
    """Threads with runs in them, of which each adds a question and its answer."""

    def __init__(self) -> None:
        self.threads: dict[str, list[str]] = {}
        self.opened = 0
        self.runs: list[str] = []

    def app(self, root: str) -> web.Application:
        app = web.Application()
        app.router.add_post(f"{root}/threads", self.create)
        app.router.add_post(f"{root}/threads/{{id}}/runs", self.assistants_run)
        app.router.add_get(f"{root}/threads/{{id}}/runs/{{run}}", self.assistants_status)
        app.router.add_get(f"{root}/threads/{{id}}/messages", self.assistants_messages)
        app.router.add_post(f"{root}/threads/{{id}}/runs/wait", self.langgraph_run)
        app.router.add_delete(f"{root}/threads/{{id}}", self.delete)
        return app

    async def create(self, request: web.Request) -> web.Response:
        of = (await request.json())["metadata"]["of"]
        self.opened += 1
        id = f"thread_{self.opened}"
        self.threads[id] = [of]
        return web.json_response({"id": id, "thread_id": id, "object": "thread"})

    async def delete(self, request: web.Request) -> web.Response:
        self.threads.pop(request.match_info["id"])
        return web.Response(status=204)

    async def _answer(self, request: web.Request, question: str) -> tuple[str, str]:
        asked = self.threads[request.match_info["id"]]
        if question == HANG:
            await asyncio.Event().wait()
        if question == FAIL:
            raise web.HTTPUnprocessableEntity
        asked.append(question)
        return f"{asked[0]}: ", f"{len(asked) - 2} before"

    async def assistants_run(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        pieces = await self._answer(request, body["additional_messages"][0]["content"])
        if not body["stream"]:
            self.runs.append("".join(pieces))
            return web.json_response({"id": f"run_{len(self.runs)}", "status": "queued"})
        deltas = [{"delta": {"content": [{"type": "text", "text": {"value": text}}]}} for text in pieces]
        return await streamed(
            request,
            event({"id": "run_1", "status": "queued"}, "thread.run.created"),
            *(event(delta, "thread.message.delta") for delta in deltas),
            event({"id": "run_1", "status": "completed"}, "thread.run.completed"),
            event("[DONE]", "done"),
        )

    async def assistants_status(self, request: web.Request) -> web.Response:
        return web.json_response({"id": request.match_info["run"], "status": "completed"})

    async def assistants_messages(self, request: web.Request) -> web.Response:
        text = self.runs[int(request.query["run_id"].removeprefix("run_")) - 1]
        content = [{"type": "text", "text": {"value": text}}]
        return web.json_response({"data": [{"role": "assistant", "content": content}]})

    async def langgraph_run(self, request: web.Request) -> web.StreamResponse:
        given = (await request.json())["input"]["messages"][0]
        text = "".join(await self._answer(request, given["content"]))
        return web.json_response({"messages": [given, {"type": "ai", "content": text}]})


def _opening(address: str, id: str) -> dict[str, Any]:
    threads = f"{address}/threads"
    return {
        "open": SessionRequest(url=threads, body={"metadata": {"of": "{{conversation.id}}"}}),
        "session_id": id,
        "close": SessionRequest(url=threads + "/{{session_id}}"),
    }


STREAMED = {
    "stream": "sse-named",
    "piece": "event == 'thread.message.delta' && data.delta.content[0].text.value",
    "until": "event == 'thread.run.completed'",
    "error": "contains(['error', 'thread.run.failed'], event) && data",
}


def assistants(address: str, **settings: Any) -> HttpAdapter:
    return HttpAdapter(
        url=f"{address}/v1/threads/{{{{session_id}}}}/runs",
        body={
            "assistant_id": "museum",
            "stream": "stream" in settings,
            "additional_messages": [{"role": "user", "content": "{{question}}"}],
        },
        **_opening(f"{address}/v1", "id"),
        **settings,
    )


def langgraph(address: str) -> HttpAdapter:
    return HttpAdapter(
        url=f"{address}/threads/{{{{session_id}}}}/runs/wait",
        body={"assistant_id": "museum", "input": {"messages": [{"role": "user", "content": "{{question}}"}]}},
        answer="messages[-1].content",
        **_opening(address, "thread_id"),
    )


class TestAssistants(AdapterContract):
    @pytest.fixture
    async def adapter(self) -> AsyncIterator[HttpAdapter]:
        async with running(Threads().app("/v1")) as address:
            yield assistants(address, **STREAMED)


class TestAssistantsPolled(AdapterContract):
    @pytest.fixture
    async def adapter(self) -> AsyncIterator[HttpAdapter]:
        async with running(Threads().app("/v1")) as address:
            thread = f"{address}/v1/threads/{{{{session_id}}}}"
            poll = Poll(
                url=thread + "/runs/{{submitted.id}}",
                until="status == 'completed'",
                failed="status == 'failed' && last_error",
                result_url=thread + "/messages?run_id={{submitted.id}}&order=desc&limit=1",
                every_s=0.01,
            )
            yield assistants(address, poll=poll, answer="data[0].content[0].text.value")


class TestLangGraph(AdapterContract):
    @pytest.fixture
    async def adapter(self) -> AsyncIterator[HttpAdapter]:
        async with running(Threads().app("")) as address:
            yield langgraph(address)
