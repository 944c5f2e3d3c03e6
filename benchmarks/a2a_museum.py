"""
An agent behind A2A's JSON-RPC, by its official SDK, which remembers its contexts.

    python benchmarks/a2a_museum.py PORT

Run by the interpreter of an environment with a2a-sdk; ``interop.py`` starts it. A question with the word
"fail" fails.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import uvicorn
from a2a.helpers.proto_helpers import new_text_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, Role
from starlette.applications import Starlette


class Museum(AgentExecutor):
    def __init__(self) -> None:
        self.said = Counter[str]()

    async def execute(self, context: Any, event_queue: Any) -> None:
        if "fail" in context.get_user_input():
            raise RuntimeError("the archive is closed")
        before = self.said[context.context_id]
        self.said[context.context_id] += 2
        said = f"After {before} messages: the museum stands in Brackwater's harbour, naïvely said."
        await event_queue.enqueue_event(
            new_text_message(said, role=Role.ROLE_AGENT, context_id=context.context_id)
        )

    async def cancel(self, context: Any, event_queue: Any) -> None:
        raise NotImplementedError


if __name__ == "__main__":
    port = int(sys.argv[1])
    card = AgentCard(
        name="museum",
        description="Says where the museum is.",
        version="1",
        supported_interfaces=[
            AgentInterface(
                url=f"http://127.0.0.1:{port}/", protocol_binding="JSONRPC", protocol_version="1.0"
            )
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )
    handler = DefaultRequestHandler(Museum(), InMemoryTaskStore(), card)
    app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")])
    uvicorn.run(app, host="127.0.0.1", port=port)
