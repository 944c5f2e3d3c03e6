"""
A graph behind LangGraph's server, as its quickstart has it: messages in a thread, and a model that adds one.

Loaded by ``langgraph dev``, which ``interop.py`` starts. A question with the word "fail" fails.
"""

from __future__ import annotations

from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


async def answer(state: MessagesState) -> dict[str, Any]:
    if "fail" in state["messages"][-1].content:
        raise RuntimeError("the archive is closed")
    before = len(state["messages"]) - 1
    said = AIMessage(f"After {before} messages: the museum stands in Brackwater's harbour, naïvely said.")
    model = GenericFakeChatModel(messages=iter([said]))
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile()
