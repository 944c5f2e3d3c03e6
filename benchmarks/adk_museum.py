"""
An agent of Google's ADK with a model of ours, as its guide has it: ``root_agent`` in a folder's ``agent.py``.

Served by ``adk api_server``, which ``interop.py`` starts. A question with the word "fail" fails, and one with
"open" calls a tool before it is answered.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types


def opening_hours(day: str) -> dict[str, str]:
    """Say when the museum is open on *day*."""
    return {"hours": f"10 to 17 on {day}"}


class Museum(BaseLlm):
    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:
        contents = llm_request.contents
        texts = [part.text for content in contents for part in content.parts or () if part.text]
        if "fail" in texts[-1]:
            raise RuntimeError("the archive is closed")
        if "open" in texts[-1] and contents[-1].parts[0].function_response is None:
            call = types.Part.from_function_call(name="opening_hours", args={"day": "Monday"})
            yield LlmResponse(content=types.Content(role="model", parts=[call]))
            return
        said = f"After {len(texts) - 1} messages: the museum stands in Brackwater's harbour, naïvely said."
        if stream:
            for begin in range(0, len(said), 8):
                part = types.Part(text=said[begin : begin + 8])
                yield LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)
        whole = types.Content(role="model", parts=[types.Part(text=said)])
        yield LlmResponse(content=whole, partial=False, turn_complete=True)


root_agent = Agent(name="museum", model=Museum(model="museum"), tools=[opening_hours])
