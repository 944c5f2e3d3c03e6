"""
Servers of agents and of chat interfaces, for ``interop.py``: what frameworks for agents serve, by YAML alone.

What answers in them are small bots beside this file.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from counterpart import Case, Counterpart

HERE = Path(__file__).parent


def _cases(
    settings: dict[str, Any], question: str, *, remembers: int = 2, failing: str = "refused"
) -> Sequence[Case]:
    """A streamed chat with *settings*, the same under load, and one whose *question* lets the system fail."""
    return [
        Case(name="streamed", adapter="http", settings=settings, streams=True, remembers=remembers),
        Case(
            name="streamed, under load",
            adapter="http",
            settings=settings,
            streams=True,
            stress=True,
            remembers=remembers,
        ),
        Case(
            name="a model that fails, streamed",
            adapter="http",
            settings=_with_question(settings, question),
            outcome=failing,
        ),
    ]


def _with_question(value: Any, question: str) -> Any:
    """*value*, settings, with *question* for the question."""
    if isinstance(value, dict):
        return {key: _with_question(item, question) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_question(item, question) for item in value]
    return question if value in ("{{question}}", "{{message.content}}") else value


UI_MESSAGES = {
    "each": {
        "id": "{{message.id}}",
        "role": "{{message.role}}",
        "parts": [{"type": "text", "text": "{{message.content}}"}],
    },
    "if": "{{ message.content and message.role in ['system', 'user', 'assistant'] }}",
}


def _ai_sdk(url: str) -> dict[str, Any]:
    return {
        "url": url,
        "body": {"id": "{{session_id}}", "trigger": "submit-message", "messages": UI_MESSAGES},
        "stream": "sse",
        "piece": "type == 'text-delta' && delta",
        "until": "[DONE]",
        "error": "type == 'error' && errorText",
        "steps": (
            "type == 'tool-input-available' && {id: toolCallId, name: toolName, arguments: input} || "
            "type == 'tool-output-available' && {role: 'tool', tool_call_id: toolCallId, content: output}"
        ),
    }


AI_SDK = Counterpart(
    name="AI SDK",
    npm=["ai", "zod"],
    versions_of=["ai"],
    prepare=lambda binaries, folder: _beside_modules("ai_sdk_museum.mjs", folder),
    command=lambda binaries, folder, port: [
        "node",
        str(folder / "environment" / "ai_sdk_museum.mjs"),
        str(port),
    ],
    ready="/",
    cases=_cases(_ai_sdk("{url}/api/chat"), "fail"),
)


def _ag_ui(path: str, **more: Any) -> dict[str, Any]:
    return {
        "url": f"{{url}}{path}",
        **more,
        "body": {
            "threadId": "{{session_id}}",
            "runId": "{{session_id}}-{{depth}}",
            "state": {},
            "tools": [],
            "context": [],
            "forwardedProps": {},
            "messages": {
                "each": {
                    "id": "{{message.id}}",
                    "role": "{{message.role}}",
                    "content": "{{message.content}}",
                    "toolCalls": "{{message.tool_calls}}",
                    "toolCallId": "{{message.tool_call_id}}",
                }
            },
        },
        "stream": "sse",
        "piece": "type == 'TEXT_MESSAGE_CONTENT' && delta",
        "until": "type == 'RUN_FINISHED'",
        "error": "type == 'RUN_ERROR' && message",
        "steps": (
            "type == 'TOOL_CALL_START' && {id: toolCallId, name: toolCallName} || "
            "type == 'TOOL_CALL_ARGS' && {id: toolCallId, arguments: delta} || "
            "type == 'TOOL_CALL_RESULT' && {role: 'tool', tool_call_id: toolCallId, content: content}"
        ),
    }


AG_UI = Counterpart(
    name="AG-UI",
    packages=["ag-ui-langgraph", "pydantic-ai-slim[ag-ui]", "fastapi", "uvicorn"],
    versions_of=["ag-ui-protocol", "pydantic-ai-slim", "ag-ui-langgraph"],
    command=lambda binaries, folder, port: [
        str(binaries / "python"),
        str(HERE / "agui_museum.py"),
        str(port),
    ],
    ready="/docs",
    cases=[
        *_cases(_ag_ui("/ag-ui"), "fail"),
        Case(
            name="LangGraph's threads by AG-UI",
            adapter="http",
            settings=_ag_ui("/langgraph", history="server"),
            streams=True,
            remembers=2,
        ),
        Case(
            name="Pydantic AI by the AI SDK's protocol",
            adapter="http",
            settings=_ai_sdk("{url}/ai-sdk"),
            streams=True,
            remembers=2,
        ),
    ],
)


def _adk(path: str, **more: Any) -> dict[str, Any]:
    return {
        "open": {"url": "{url}/apps/museum/users/replay/sessions/{{session_id}}", "body": {}},
        "close": {"url": "{url}/apps/museum/users/replay/sessions/{{session_id}}"},
        "url": f"{{url}}{path}",
        "body": {
            "appName": "museum",
            "userId": "replay",
            "sessionId": "{{session_id}}",
            "newMessage": {"role": "user", "parts": [{"text": "{{question}}"}]},
            **({"streaming": True} if path == "/run_sse" else {}),
        },
        **more,
    }


_ADK_STEP = (
    "content.parts[].[functionCall || functionResponse && "
    "{role: 'tool', tool_call_id: functionResponse.id, content: functionResponse.response}][]"
)
_ADK_STREAM = {
    "stream": "sse",
    "piece": "partial && join('', content.parts[?!thought].text)",
    "answer": "!partial && content.parts[?!thought].text | join('', @ || `[]`)",
    "error": "error || errorMessage",
    "steps": _ADK_STEP,
}


def _adk_folder(binaries: Path, folder: Path) -> None:
    (folder / "agents" / "museum").mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "adk_museum.py", folder / "agents" / "museum" / "agent.py")
    (folder / "agents" / "museum" / "__init__.py").write_text("from . import agent\n", "utf-8")


ADK = Counterpart(
    name="Google ADK",
    packages=["google-adk"],
    versions_of=["google-adk"],
    prepare=_adk_folder,
    command=lambda binaries, folder, port: [
        *(str(binaries / "adk"), "api_server", "--host", "127.0.0.1", "--port", str(port)),
        str(folder / "agents"),
    ],
    ready="/list-apps",
    cases=[
        Case(
            name="in one piece",
            adapter="http",
            settings=_adk(
                "/run",
                answer="join('', [].content.parts[?!thought].text[])",
                error="[-1].errorMessage",
                steps=f"[].{_ADK_STEP}",
            ),
            remembers=2,
        ),
        *_cases(_adk("/run_sse", **_ADK_STREAM), "fail"),
    ],
)


def _agno(**more: Any) -> dict[str, Any]:
    return {
        "url": "{url}/agents/museum/runs",
        "form": {
            "message": "{{question}}",
            "session_id": "{{session_id}}",
            "stream": "stream" in more,
        },
        "history": "server",
        **more,
    }


_AGNO_TOOL = "tool.{id: tool_call_id, name: tool_name, arguments: tool_args, result: result}"

AGNO = Counterpart(
    name="Agno",
    packages=["agno", "fastapi", "uvicorn", "python-multipart", "sqlalchemy[asyncio]", "aiosqlite"],
    versions_of=["agno"],
    command=lambda binaries, folder, port: [
        str(binaries / "python"),
        str(HERE / "agno_museum.py"),
        str(port),
        str(folder / "agno.db"),
    ],
    ready="/health",
    cases=[
        Case(
            name="in one piece",
            adapter="http",
            settings=_agno(
                answer="content",
                error="status == 'ERROR' && content",
                steps=_AGNO_TOOL.replace("tool.", "tools[].", 1),
            ),
            remembers=2,
        ),
        *_cases(
            _agno(
                stream="sse-named",
                piece="event == 'RunContent' && data.content",
                until="event == 'RunCompleted'",
                error="event == 'RunError' && data.content",
                steps=f"event == 'ToolCallCompleted' && data.{_AGNO_TOOL}",
            ),
            "fail",
        ),
    ],
)

HAYHOOKS = Counterpart(
    name="Hayhooks",
    packages=["hayhooks"],
    versions_of=["hayhooks", "haystack-ai"],
    prepare=lambda binaries, folder: _hayhooks_folder(folder),
    command=lambda binaries, folder, port: [
        *(str(binaries / "hayhooks"), "run", "--host", "127.0.0.1", "--port", str(port)),
        *("--pipelines-dir", str(folder / "pipelines")),
    ],
    ready="/status",
    cases=[
        Case(
            name="a pipeline",
            adapter="http",
            settings=(
                pipeline := {
                    "url": "{url}/museum/run",
                    "body": {
                        "messages": {
                            "each": {
                                "role": "{{message.role}}",
                                "content": [{"text": "{{message.content}}"}],
                            }
                        }
                    },
                    "answer": "result",
                }
            ),
            remembers=2,
        ),
        Case(
            name="a pipeline that fails",
            adapter="http",
            settings=_with_question(pipeline, "fail"),
            outcome="refused",
        ),
    ],
)


def _hayhooks_folder(folder: Path) -> None:
    (folder / "pipelines" / "museum").mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "hayhooks_museum.py", folder / "pipelines" / "museum" / "pipeline_wrapper.py")


def _beside_modules(file: str, folder: Path) -> None:
    shutil.copy(HERE / file, folder / "environment")


GENKIT = Counterpart(
    name="Genkit",
    npm=["genkit", "@genkit-ai/express", "express"],
    versions_of=["genkit"],
    environment={"GENKIT_ENV": "prod"},
    prepare=lambda binaries, folder: _beside_modules("genkit_museum.mjs", folder),
    command=lambda binaries, folder, port: [
        "node",
        str(folder / "environment" / "genkit_museum.mjs"),
        str(port),
    ],
    ready="/",
    cases=_cases(
        {
            "url": "{url}/chat",
            "headers": {"Accept": "text/event-stream"},
            "body": {
                "data": {
                    "messages": {
                        "each": {
                            "role": "{{ 'model' if message.role == 'assistant' else message.role }}",
                            "content": [{"text": "{{message.content}}"}],
                        }
                    }
                }
            },
            "stream": "sse",
            "piece": "message",
            "answer": "result",
            "error": "error",
        },
        "fail",
        failing="bad-reply",
    ),
)


def _a2a(method: str, **more: Any) -> dict[str, Any]:
    return {
        "url": "{url}/",
        "headers": {"A2A-Version": "1.0"},
        "body": {
            "jsonrpc": "2.0",
            "id": "{{depth}}",
            "method": method,
            "params": {
                "message": {
                    "role": "ROLE_USER",
                    "messageId": "{{session_id}}-{{depth}}",
                    "contextId": "{{session_id}}",
                    "parts": [{"text": "{{question}}"}],
                }
            },
        },
        "history": "server",
        **more,
    }


A2A = Counterpart(
    name="A2A",
    packages=["a2a-sdk[http-server]", "uvicorn"],
    versions_of=["a2a-sdk"],
    command=lambda binaries, folder, port: [
        str(binaries / "python"),
        str(HERE / "a2a_museum.py"),
        str(port),
    ],
    ready="/.well-known/agent-card.json",
    cases=[
        Case(
            name="in one piece",
            adapter="http",
            settings=_a2a("SendMessage", answer="join('', result.message.parts[].text)", error="error"),
            remembers=2,
        ),
        Case(
            name="streamed",
            adapter="http",
            settings=_a2a(
                "SendStreamingMessage",
                stream="sse",
                piece="result.message && join('', result.message.parts[].text)",
                error="error",
            ),
            remembers=2,
        ),
        Case(
            name="an agent that fails",
            adapter="http",
            settings=_with_question(
                _a2a("SendMessage", answer="join('', result.message.parts[].text)", error="error"), "fail"
            ),
            outcome="refused",
        ),
    ],
)

AGENTS = {
    "ai-sdk": AI_SDK,
    "ag-ui": AG_UI,
    "adk": ADK,
    "agno": AGNO,
    "hayhooks": HAYHOOKS,
    "genkit": GENKIT,
    "a2a": A2A,
}
