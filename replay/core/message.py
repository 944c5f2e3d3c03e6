"""
Messages of a chat as endpoints exchange them: what stands between a question and its answer.

Plain data in the field's terms (OpenAI's Chat Completions; Anthropic's Messages call a tool's answer
``tool_result``); imports nothing of ours.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Role = Literal["system", "developer", "user", "assistant", "tool"]


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A system's wish to have a tool called."""

    id: str
    """As the system gave it; its result names it again."""
    name: str
    arguments: str
    """JSON text as the system wrote it, which need not be JSON at all."""

    @property
    def parsed_arguments(self) -> Any:
        """The arguments as a JSON value; the text itself where it is no JSON."""
        try:
            return msgspec.json.decode(self.arguments)
        except (msgspec.DecodeError, UnicodeEncodeError):
            return self.arguments


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message."""

    role: Role
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    """Of an assistant: the calls it asks for, in order."""
    tool_call_id: str | None = None
    """Of a tool: the call that it answers."""
    name: str | None = None
    """Of a tool: what it is called, where that is known."""
    left_out: tuple[str, ...] = ()
    """Kinds of content that are no text (``image_url``, ...), in order: named here, kept nowhere."""
