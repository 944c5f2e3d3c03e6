"""
Servers with a protocol of their own, for ``interop.py``: WebSockets, Gradio, LangServe, LangGraph's threads.

What answers in them are small bots beside this file.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from counterpart import Case, Counterpart

HERE = Path(__file__).parent


def _bot(**settings: Any) -> dict[str, Any]:
    return {
        "url": "{url}",
        "history": "server",
        "send": {"question": "{{question}}"},
        "greeting": "type == 'greeting'",
        "answer": "text",
        "until": "type == 'end'",
        **settings,
    }


WEBSOCKETS = Counterpart(
    name="websockets server",
    packages=["websockets"],
    versions_of=["websockets"],
    command=lambda binaries, folder, port: [str(binaries / "python"), str(HERE / "websocket_bot.py")],
    ready=None,
    cases=[
        Case(name="a connection per conversation", adapter="websocket", settings=_bot(), streams=True),
        Case(name="the same, under load", adapter="websocket", settings=_bot(), streams=True, stress=True),
        Case(
            name="closed with 1011",
            adapter="websocket",
            settings=_bot(send={"question": "close: {{question}}"}),
            outcome="refused",
        ),
    ],
)


def _gradio(question: str = "{{question}}") -> dict[str, Any]:
    return {
        "url": "{url}/gradio_api/call/chat",
        "body": {"data": [question], "session_hash": "{{session_id}}"},
        "history": "server",
        "poll": {"url": "{url}/gradio_api/call/chat/{{submitted.event_id}}"},
        "stream": "sse-named",
        "piece": "event == 'generating' && data[0]",
        "answer": "event == 'complete' && data[0]",
        "join": "last",
        "until": "event == 'complete'",
        "error": "event == 'error'",
    }


GRADIO = Counterpart(
    name="Gradio",
    packages=["gradio"],
    versions_of=["gradio", "starlette"],
    environment={"GRADIO_ANALYTICS_ENABLED": "False"},
    command=lambda binaries, folder, port: [
        str(binaries / "python"),
        str(HERE / "gradio_chat.py"),
        str(port),
    ],
    ready="/config",
    cases=[
        Case(
            name="a chat, submitted and streamed",
            adapter="http",
            settings=_gradio(),
            streams=True,
            remembers=2,
        ),
        Case(
            name="the same, under load",
            adapter="http",
            settings=_gradio(),
            streams=True,
            stress=True,
            remembers=2,
        ),
        Case(
            name="a function that fails",
            adapter="http",
            settings=_gradio("fail: {{question}}"),
            outcome="refused",
        ),
    ],
)


def _chain(path: str, question: str = "{{question}}", **settings: Any) -> dict[str, Any]:
    given = {"question": question, "history": "{{history}}"}
    return {"url": f"{{url}}{path}", "body": given if path == "/text" else {"input": given}, **settings}


_CHAIN_STREAM = {
    "stream": "sse-named",
    "piece": "event == 'data' && data",
    "until": "event == 'end'",
    "error": "event == 'error' && data",
}

LANGSERVE = Counterpart(
    name="LangServe",
    packages=["langserve[server]", "uvicorn"],
    versions_of=["langserve", "langchain-core", "sse-starlette"],
    command=lambda binaries, folder, port: [
        str(binaries / "python"),
        str(HERE / "langserve_chain.py"),
        str(port),
    ],
    ready="/docs",
    cases=[
        Case(name="invoke", adapter="http", settings=_chain("/museum/invoke", answer="output"), remembers=1),
        Case(
            name="stream",
            adapter="http",
            settings=_chain("/museum/stream", **_CHAIN_STREAM),
            streams=True,
            remembers=1,
        ),
        Case(
            name="stream, under load",
            adapter="http",
            settings=_chain("/museum/stream", **_CHAIN_STREAM),
            streams=True,
            stress=True,
            remembers=1,
        ),
        Case(name="a plain text", adapter="http", settings=_chain("/text", format="text"), remembers=1),
        Case(
            name="a plain text, streamed",
            adapter="http",
            settings=_chain("/text", stream="text"),
            remembers=1,
        ),
        Case(
            name="a chain that fails, invoked",
            adapter="http",
            settings=_chain("/museum/invoke", "fail: {{question}}", answer="output"),
            outcome="refused",
        ),
        Case(
            name="a chain that fails, streamed",
            adapter="http",
            settings=_chain("/museum/stream", "fail: {{question}}", **_CHAIN_STREAM),
            outcome="refused",
        ),
    ],
)


def _threads(path: str, question: str = "{{question}}", **settings: Any) -> dict[str, Any]:
    modes = {"stream_mode": ["messages-tuple", "values"]} if path == "/stream" else {}
    return {
        "open": {"url": "{url}/threads", "body": {}},
        "session_id": "thread_id",
        "close": {"url": "{url}/threads/{{session_id}}"},
        "url": f"{{url}}/threads/{{{{session_id}}}}/runs{path}",
        "body": {
            "assistant_id": "museum",
            "input": {"messages": [{"role": "user", "content": question}]},
            **modes,
        },
        **settings,
    }


_THREAD_STREAM = {
    "stream": "sse-named",
    "piece": "event == 'messages' && data[0].content",
    "answer": "event == 'values' && data.messages[-1].type == 'ai' && data.messages[-1].content",
    "error": "event == 'error' && data",
}


def _langgraph_config(binaries: Path, folder: Path) -> None:
    shutil.copy(HERE / "langgraph_museum.py", folder)
    config = {"dependencies": ["."], "graphs": {"museum": "./langgraph_museum.py:graph"}}
    (folder / "langgraph.json").write_text(json.dumps(config), "utf-8")


LANGGRAPH = Counterpart(
    name="LangGraph server",
    packages=["langgraph-cli[inmem]"],
    versions_of=["langgraph-api", "langgraph"],
    environment={"LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1"},
    prepare=_langgraph_config,
    command=lambda binaries, folder, port: [
        *(str(binaries / "langgraph"), "dev", "--config", str(folder / "langgraph.json")),
        *("--host", "127.0.0.1", "--port", str(port)),
        *("--no-browser", "--no-reload", "--n-jobs-per-worker", "8"),
    ],
    ready="/ok",
    cases=[
        Case(
            name="threads, each run waited for",
            adapter="http",
            settings=_threads("/wait", answer="messages[-1].content"),
            remembers=2,
        ),
        Case(
            name="threads, streamed",
            adapter="http",
            settings=_threads("/stream", **_THREAD_STREAM),
            streams=True,
            remembers=2,
        ),
        Case(
            name="threads, streamed, under load",
            adapter="http",
            settings=_threads("/stream", **_THREAD_STREAM),
            streams=True,
            stress=True,
            remembers=2,
        ),
        Case(
            name="threads, each run polled",
            adapter="http",
            settings=_threads(
                "",
                poll={
                    "url": "{url}/threads/{{session_id}}/runs/{{submitted.run_id}}/join",
                    "until": "messages",
                    "every_s": 0.05,
                },
                answer="messages[-1].content",
            ),
            remembers=2,
        ),
        Case(
            name="a graph that fails, streamed",
            adapter="http",
            settings=_threads("/stream", "fail: {{question}}", **_THREAD_STREAM),
            outcome="refused",
        ),
        Case(
            name="threads at the wrong address",
            adapter="http",
            settings=_threads("/stream", **_THREAD_STREAM) | {"open": {"url": "{url}/treads", "body": {}}},
            outcome="refused",
        ),
    ],
)

APPS = {"websockets": WEBSOCKETS, "gradio": GRADIO, "langserve": LANGSERVE, "langgraph": LANGGRAPH}
