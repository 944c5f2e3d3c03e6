"""
An agent of Pydantic AI behind AG-UI and behind the AI SDK's protocol, and a graph of LangGraph behind AG-UI.

    python benchmarks/agui_museum.py PORT

Run by the interpreter of an environment with both; ``interop.py`` starts it. A question with the word "fail"
fails, and one with "open" calls a tool before it is answered.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI, Request, Response
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, TextPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from pydantic_ai.ui.vercel_ai import VercelAIAdapter

SAID = "After {} messages: the museum stands in Brackwater's harbour, naïvely said."


async def streamed(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
    parts = [part for message in messages for part in message.parts]
    said = [part.content for part in parts if isinstance(part, UserPromptPart | TextPart)]
    if "fail" in said[-1]:
        raise RuntimeError("the archive is closed")
    if "open" in said[-1] and not isinstance(parts[-1], ToolReturnPart):
        for piece in ('{"day": ', '"Monday"}'):
            named = {"name": "opening_hours", "tool_call_id": f"call_{len(parts)}"} if piece[0] == "{" else {}
            yield {0: DeltaToolCall(json_args=piece, **named)}
        return
    text = SAID.format(len(said) - 1)
    for begin in range(0, len(text), 8):
        yield text[begin : begin + 8]


agent = Agent(FunctionModel(stream_function=streamed))


@agent.tool_plain
def opening_hours(day: str) -> str:
    """Say when the museum is open on *day*."""
    return f"10 to 17 on {day}"


async def answer(state: MessagesState) -> dict[str, Any]:
    if "fail" in state["messages"][-1].content:
        raise RuntimeError("the archive is closed")
    model = GenericFakeChatModel(messages=iter([AIMessage(SAID.format(len(state["messages"]) - 1))]))
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = (
    StateGraph(MessagesState)
    .add_node("answer", answer)
    .add_edge(START, "answer")
    .compile(checkpointer=MemorySaver())
)
app = FastAPI()
add_langgraph_fastapi_endpoint(app, LangGraphAgent(name="museum", graph=graph), "/langgraph")


@app.post("/ag-ui")
async def ag_ui(request: Request) -> Response:
    return await AGUIAdapter.dispatch_request(request, agent=agent)


@app.post("/ai-sdk")
async def ai_sdk(request: Request) -> Response:
    return await VercelAIAdapter.dispatch_request(request, agent=agent)


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]))
