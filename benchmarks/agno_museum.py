"""
An agent behind Agno's AgentOS, with a model of ours and sessions in a database.

    python benchmarks/agno_museum.py PORT FILE

Run by the interpreter of an environment with agno; ``interop.py`` starts it. A question with the word "fail"
fails, and one with "open" calls a tool before it is answered.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os import AgentOS


def opening_hours(day: str) -> str:
    """Say when the museum is open on *day*."""
    return f"10 to 17 on {day}"


class Museum(Model):
    def _answers(self, messages: list[Any]) -> list[ModelResponse]:
        said = [message for message in messages if message.role in ("user", "assistant") and message.content]
        if "fail" in said[-1].content:
            raise RuntimeError("the archive is closed")
        if "open" in said[-1].content and messages[-1].role != "tool":
            function = {"name": "opening_hours", "arguments": '{"day": "Monday"}'}
            call = {"id": f"call_{len(messages)}", "type": "function", "function": function}
            return [ModelResponse(role="assistant", tool_calls=[call])]
        text = f"After {len(said) - 1} messages: the museum stands in Brackwater's harbour, naïvely said."
        pieces = [text[begin : begin + 8] for begin in range(0, len(text), 8)]
        return [ModelResponse(role="assistant", content=piece) for piece in pieces]

    def invoke(self, messages: list[Any], **_: Any) -> ModelResponse:
        first, *others = self._answers(messages)
        if first.content:
            first.content += "".join(other.content for other in others)
        return first

    async def ainvoke(self, messages: list[Any], **_: Any) -> ModelResponse:
        return self.invoke(messages)

    def invoke_stream(self, messages: list[Any], **_: Any) -> Iterator[ModelResponse]:
        yield from self._answers(messages)

    async def ainvoke_stream(self, messages: list[Any], **_: Any) -> AsyncIterator[ModelResponse]:
        for response in self._answers(messages):
            yield response

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


if __name__ == "__main__":
    agent = Agent(
        id="museum",
        model=Museum(id="museum"),
        db=SqliteDb(db_file=sys.argv[2]),
        tools=[opening_hours],
        add_history_to_context=True,
        num_history_runs=100,
        telemetry=False,
    )
    served = AgentOS(agents=[agent], telemetry=False)
    served.serve(served.get_app(), host="127.0.0.1", port=int(sys.argv[1]))
