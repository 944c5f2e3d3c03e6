"""
A pipeline of Haystack behind Hayhooks, with a chat generator of ours: a folder's ``pipeline_wrapper.py``.

Served by ``hayhooks run``, which ``interop.py`` starts. A question with the word "fail" fails.
"""

from __future__ import annotations

from typing import Any

from hayhooks import BasePipelineWrapper
from haystack import Pipeline, component
from haystack.dataclasses import ChatMessage


@component
class Museum:
    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]) -> dict[str, Any]:
        if "fail" in (messages[-1].text or ""):
            raise RuntimeError("the archive is closed")
        before = len(messages) - 1
        said = f"After {before} messages: the museum stands in Brackwater's harbour, naïvely said."
        return {"replies": [ChatMessage.from_assistant(said)]}


class PipelineWrapper(BasePipelineWrapper):
    def setup(self) -> None:
        self.pipeline = Pipeline()
        self.pipeline.add_component("museum", Museum())

    def run_api(self, messages: list[dict]) -> str:
        given = [ChatMessage.from_dict(message) for message in messages]
        return self.pipeline.run({"museum": {"messages": given}})["museum"]["replies"][0].text
