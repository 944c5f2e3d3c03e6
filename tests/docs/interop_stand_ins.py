"""
Small servers that speak as those of docs/interop.md did when they were played, and take nothing else.

Written from what came over the wire (the versions stand on the page); Dialogflow's from its reference. Each
says how many messages came before the question, and calls a tool first where it is about opening hours.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from uuid import UUID

from aiohttp import web

from tests.adapters.servers import event, streamed

CALL = {"id": "call_1", "type": "function", "function": {"name": "hours", "arguments": '{"day": "Monday"}'}}


class StandIns:
    """All of them, one server."""

    def __init__(self) -> None:
        self.opened: set[str] = set()
        self.said = Counter[str]()
        """Messages so far, by session."""
        self.ids: list[list[str]] = []
        """Of the messages in each request that has some."""

    def app(self) -> web.Application:
        app = web.Application()
        session = "/apps/museum/users/replay/sessions/{id}"
        app.add_routes(
            [
                web.post("/api/chat", self.ai_sdk),
                web.post("/ag-ui", self.ag_ui),
                web.post(session, self.adk_open),
                web.delete(session, self.adk_close),
                web.post("/run", self.adk_run),
                web.post("/run_sse", self.adk_stream),
                web.post("/agents/museum/runs", self.agno),
                web.post("/museum/run", self.hayhooks),
                web.post("/chat", self.genkit),
                web.post("/", self.a2a),
                web.post("/v2/projects/museum/agent/sessions/{id}", self.dialogflow_es),
                web.post("/v3/projects/museum/locations/global/agents/bot/sessions/{id}", self.dialogflow_cx),
            ]
        )
        return app

    def _answer(self, session: str) -> str:
        before = self.said[session]
        self.said[session] += 2
        return f"After {before} messages."

    def _texts(self, messages: list[dict[str, Any]], texts: list[str]) -> tuple[str, str]:
        """The last question and the answer, where the caller sends the *texts* of all *messages*."""
        self.ids.append([message["id"] for message in messages if "id" in message])
        return texts[-1], f"After {len(texts) - 1} messages."

    async def ai_sdk(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        assert body.keys() == {"id", "trigger", "messages"}
        for message in body["messages"]:
            assert message.keys() == {"id", "role", "parts"}
            assert message["role"] in ("system", "user", "assistant")
            assert [part["type"] for part in message["parts"]] == ["text"]
        texts = [message["parts"][0]["text"] for message in body["messages"]]
        asked, said = self._texts(body["messages"], texts)
        events: list[dict[str, Any]] = [{"type": "start"}, {"type": "start-step"}]
        if "open" in asked:
            named = {"toolCallId": "call_1", "toolName": "hours"}
            events += [
                {"type": "tool-input-start", **named},
                {"type": "tool-input-available", **named, "input": {"day": "Monday"}},
                {"type": "tool-output-available", "toolCallId": "call_1", "output": "10 to 17"},
            ]
        if "fail" in asked:
            events.append({"type": "error", "errorText": "the archive is closed"})
        else:
            events.append({"type": "text-start", "id": "1"})
            events += [{"type": "text-delta", "id": "1", "delta": piece} for piece in (said[:5], said[5:])]
            events += [{"type": "text-end", "id": "1"}, {"type": "finish-step"}, {"type": "finish"}]
        return await streamed(request, *map(event, events), event("[DONE]"))

    async def ag_ui(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        assert UUID(body["threadId"])
        assert body["runId"]
        fields = {"assistant": {"toolCalls"}, "tool": {"toolCallId"}}
        for message in body["messages"]:
            assert message.keys() - {"id", "role", "content"} <= fields.get(message["role"], set())
            assert message.get("toolCalls", [CALL]) == [CALL]
        texts = [
            message["content"]
            for message in body["messages"]
            if message["role"] in ("user", "assistant") and message.get("content")
        ]
        asked, said = self._texts(body["messages"], texts)
        run = {"threadId": body["threadId"], "runId": body["runId"]}
        events: list[dict[str, Any]] = [{"type": "RUN_STARTED", **run}]
        if "open" in asked:
            id = {"toolCallId": "call_1"}
            events += [
                {"type": "TOOL_CALL_START", **id, "toolCallName": "hours"},
                {"type": "TOOL_CALL_ARGS", **id, "delta": '{"day": '},
                {"type": "TOOL_CALL_ARGS", **id, "delta": '"Monday"}'},
                {"type": "TOOL_CALL_END", **id},
                {"type": "TOOL_CALL_RESULT", **id, "messageId": "2", "content": "10 to 17", "role": "tool"},
            ]
        if "fail" in asked:
            events.append({"type": "RUN_ERROR", "message": "the archive is closed"})
        else:
            text = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "1"}
            events += [{**text, "delta": piece} for piece in (said[:5], said[5:])]
            events.append({"type": "RUN_FINISHED", **run})
        return await streamed(request, *map(event, events))

    async def adk_open(self, request: web.Request) -> web.Response:
        self.opened.add(request.match_info["id"])
        return web.json_response({"id": request.match_info["id"], "events": []})

    async def adk_close(self, request: web.Request) -> web.Response:
        self.opened.remove(request.match_info["id"])
        return web.Response()

    async def _adk_events(self, request: web.Request) -> tuple[bool, list[dict[str, Any]], str]:
        body = await request.json()
        assert body["sessionId"] in self.opened
        asked = body["newMessage"]["parts"][0]["text"]
        if "fail" in asked:
            return body.get("streaming", False), [], ""
        called: dict[str, Any] = {"id": "call_1", "name": "hours"}
        parts = [{"functionCall": {**called, "args": {"day": "Monday"}}}]
        parts.append({"functionResponse": {**called, "response": {"hours": "10 to 17"}}})
        calls = [{"content": {"parts": [part]}} for part in parts] if "open" in asked else []
        return body.get("streaming", False), calls, self._answer(body["sessionId"])

    async def adk_run(self, request: web.Request) -> web.Response:
        _, calls, said = await self._adk_events(request)
        if not said:
            return web.json_response([{"errorCode": "SAFETY", "errorMessage": "the archive is closed"}])
        thought = {"text": "Hm.", "thought": True}
        whole = {"content": {"parts": [thought, {"text": said}], "role": "model"}, "partial": False}
        return web.json_response([*calls, whole])

    async def adk_stream(self, request: web.Request) -> web.StreamResponse:
        streaming, calls, said = await self._adk_events(request)
        assert streaming
        if not said:
            told = {"errorCode": "RuntimeError", "errorMessage": "the archive is closed", "actions": {}}
            return await streamed(request, event(told), event({"error": "the archive is closed"}))
        parts = [{"content": {"parts": [{"text": text}]}} for text in (said[:5], said[5:], said)]
        partial = [{**part, "partial": part is not parts[-1]} for part in parts]
        return await streamed(request, *map(event, (*calls, *partial)))

    async def agno(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        assert form["stream"] == "true"
        asked, session = str(form["message"]), str(form["session_id"])
        own = {"agent_id": "museum", "session_id": session}
        if "fail" in asked:
            told = {"event": "RunError", **own, "content": "the archive is closed"}
            return await streamed(request, event(told, "RunError"))
        said = self._answer(session)
        events: list[dict[str, Any]] = [{"event": "RunStarted", **own}]
        if "open" in asked:
            tool: dict[str, Any] = {"tool_call_id": "call_1", "tool_name": "hours", "result": None}
            tool["tool_args"] = {"day": "Monday"}
            events.append({"event": "ToolCallStarted", **own, "tool": tool})
            events.append({"event": "ToolCallCompleted", **own, "tool": {**tool, "result": "10 to 17"}})
        events += [{"event": "RunContent", **own, "content": piece} for piece in (said[:5], said[5:])]
        events += [{"event": "RunContentCompleted", **own}, {"event": "RunCompleted", **own, "content": said}]
        return await streamed(request, *(event(one, one["event"]) for one in events))

    async def hayhooks(self, request: web.Request) -> web.Response:
        messages = (await request.json())["messages"]
        asked, said = self._texts(messages, [message["content"][0]["text"] for message in messages])
        if "fail" in asked:
            return web.json_response({"detail": "Pipeline execution failed"}, status=500)
        return web.json_response({"result": said})

    async def genkit(self, request: web.Request) -> web.StreamResponse:
        assert request.headers["Accept"] == "text/event-stream"
        messages = (await request.json())["data"]["messages"]
        assert {message["role"] for message in messages} <= {"system", "user", "model"}
        asked, said = self._texts(messages, [message["content"][0]["text"] for message in messages])
        if "fail" in asked:  # a field of its own, which no reader of event streams knows
            told = {"error": {"message": "Internal Error", "status": "INTERNAL"}}
            return await streamed(request, f"error: {json.dumps(told)}\n\n".encode())
        pieces = [{"message": piece} for piece in (said[:5], said[5:])]
        return await streamed(request, *map(event, (*pieces, {"result": said})))

    async def a2a(self, request: web.Request) -> web.Response:
        body = await request.json()
        assert request.headers["A2A-Version"] == "1.0"
        assert body["method"] == "SendMessage"
        message = body["params"]["message"]
        replied: dict[str, Any] = {"id": body["id"], "jsonrpc": "2.0"}
        if "fail" in message["parts"][0]["text"]:
            return web.json_response(
                {**replied, "error": {"code": -32603, "message": "the archive is closed"}}
            )
        parts = [{"text": self._answer(message["contextId"])}]
        told = {"messageId": "1", "contextId": message["contextId"], "role": "ROLE_AGENT", "parts": parts}
        return web.json_response({**replied, "result": {"message": told}})

    async def _dialogflow(self, request: web.Request) -> str:
        session, _, verb = request.match_info["id"].partition(":")
        assert verb == "detectIntent"
        assert len(session) <= 36
        assert request.headers["Authorization"] == "Bearer ya29.token-of-the-museum"
        query = (await request.json())["queryInput"]
        assert "en" in (query.get("languageCode"), query["text"].get("languageCode"))
        if "fail" in query["text"]["text"]:
            error = {"code": 400, "message": "the archive is closed", "status": "INVALID_ARGUMENT"}
            raise web.HTTPBadRequest(text=json.dumps({"error": error}), content_type="application/json")
        return self._answer(session)

    async def dialogflow_es(self, request: web.Request) -> web.Response:
        result = {"fulfillmentText": await self._dialogflow(request), "languageCode": "en"}
        return web.json_response({"responseId": "1", "queryResult": result})

    async def dialogflow_cx(self, request: web.Request) -> web.Response:
        first, _, rest = (await self._dialogflow(request)).partition(" ")
        messages = [{"text": {"text": [first]}}, {"payload": {}}, {"text": {"text": [rest]}}]
        return web.json_response({"responseId": "1", "queryResult": {"responseMessages": messages}})
