"""
The Messages API of Anthropic, and of servers and gateways that speak it.

https://docs.anthropic.com/en/api/messages. Replies come in one piece, or streamed as server-sent events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import dropwhile, groupby
from typing import Any

import msgspec

from replay import Message, ToolCall, Usage
from replay_adapters.chat.endpoint import ChatAdapter
from replay_adapters.chat.openai_chat import token_count
from replay_adapters.chat.streamed_answer import StreamedAnswer, decoded_events, event_of
from replay_adapters.http.client import StreamEnd
from replay_adapters.http.failures import stream_error
from replay_adapters.http.reply import HttpReply
from replay_adapters.setting_checks import check_count

RENAMED = {"max_completion_tokens": "max_tokens", "stop": "stop_sequences"}
"""Parameters under Chat Completions' names that are called otherwise here."""
CHOICES: dict[str | None, str] = {None: "auto", "required": "any"}
"""Of tools, likewise."""
PROMPT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""Together what others call the prompt's tokens: what is cached is counted beside the rest here."""


class MessageEvent(msgspec.Struct, gc=False):
    """One event; which of the fields it has depends on its type."""

    type: Any = None
    index: Any = None
    delta: Any = None
    content_block: Any = None
    message: Any = None
    usage: Any = None
    error: Any = None


_events = msgspec.json.Decoder(list[MessageEvent])


class Messages:
    """How the Messages API is spoken."""

    path = "/v1/messages"
    messages = "messages"
    has_system_messages = False
    """The API has one system text, outside the messages."""
    end: StreamEnd = StreamEnd()
    """The server ends the stream after ``message_stop``."""
    last_event = '"message_stop"'

    def __init__(self, *, model: str, max_tokens: int, stream: bool) -> None:
        self._ours: dict[str, Any] = {**({"stream": True} if stream else {}), "model": model}
        self._max_tokens = max_tokens

    def fields(
        self, system: str, extra: Mapping[str, Any], parameters: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the body's fields, all but the messages."""
        renamed = {RENAMED.get(name, name): value for name, value in _with_tools(parameters).items()}
        told = {"system": system} if system.strip() else {}
        return {"max_tokens": self._max_tokens, **extra, **renamed, **self._ours, **told}

    def format_messages(self, messages: Sequence[Message]) -> Iterable[Mapping[str, Any]]:
        # The API wants a user's message first, so that a greeting has no place, and all results of one
        # message's calls in the next message.
        since = dropwhile(lambda message: message.role == "assistant", messages)
        for is_assistant, together in groupby(since, lambda message: message.role == "assistant"):
            blocks = [block for message in together for block in _blocks(message)]
            if blocks:
                is_text = len(blocks) == 1 and blocks[0]["type"] == "text"
                content = blocks[0]["text"] if is_text else blocks
                yield {"role": "assistant" if is_assistant else "user", "content": content}

    def read(self, reply: HttpReply, value: Any) -> StreamedAnswer:
        blocks = value.get("content") if isinstance(value, dict) else None
        if not isinstance(blocks, list):
            raise reply.unusable(
                " without content; check that base_url ends before "
                "/v1/messages and leads to a server with the Messages API",
            )
        texts = [block.get("text") for block in blocks if isinstance(block, dict)]
        finish = value.get("stop_reason")
        found = StreamedAnswer(
            pieces=[text for text in texts if isinstance(text, str)],
            finish=finish,
            refused=finish == "refusal",
        )
        for index, block in enumerate(blocks):
            _take_call(index, block, found)
        found.take_usage(_usage(value.get("usage")), value.get("usage"), reply.headers)
        return found

    def read_stream(self, reply: HttpReply) -> StreamedAnswer:
        events, positions, _ = decoded_events(reply, _events, partial(event_of, MessageEvent))
        streamed = StreamedAnswer()
        counts: dict[str, Any] = {}
        for event, read in zip(events, positions, strict=True):
            if isinstance(delta := event.delta, dict):
                if (text := delta.get("text")) and isinstance(text, str):
                    streamed.pieces.append(text)
                    streamed.piece_reads.append(read)
                if piece := delta.get("partial_json"):
                    streamed.calls.take(event.index, piece=piece)
                if isinstance(finish := delta.get("stop_reason"), str):
                    streamed.finish = finish
            if event.type in ("message_start", "message_delta"):
                # Counts stand in both; those of the delta are of all there is up to then.
                started = event.message.get("usage") if isinstance(event.message, dict) else None
                for usage in (started, event.usage):
                    if isinstance(usage, dict):
                        counts.update({name: count for name, count in usage.items() if count is not None})
            elif event.type == "content_block_start":
                _take_call(event.index, event.content_block, streamed)
            elif event.type == "message_stop":
                streamed.complete = True
            elif event.type == "error":
                raise stream_error(reply, event.error)
        streamed.complete = streamed.complete or streamed.finish is not None
        streamed.refused = streamed.finish == "refusal"
        streamed.usage = _usage(counts)
        return streamed


def _with_tools(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return *parameters*, in which tools and their choice have this API's shape."""
    shaped = dict(parameters)
    if "tools" in shaped:
        functions = [tool.get("function") or {} for tool in shaped["tools"]]
        shaped["tools"] = [
            {
                "name": function.get("name"),
                "description": function.get("description") or "",
                "input_schema": function.get("parameters") or {"type": "object"},
            }
            for function in functions
        ]
    choice, parallel = shaped.pop("tool_choice", None), shaped.pop("parallel_tool_calls", True)
    if isinstance(choice, dict):
        shaped["tool_choice"] = {"type": "tool", "name": (choice.get("function") or {}).get("name")}
    elif choice is not None or not parallel:
        shaped["tool_choice"] = {"type": CHOICES.get(choice, choice)}
    if not parallel:
        shaped["tool_choice"]["disable_parallel_tool_use"] = True
    return shaped


def _take_call(index: Any, block: Any, found: StreamedAnswer) -> None:
    if isinstance(block, dict) and block.get("type") == "tool_use":
        found.calls.take(index, id=block.get("id"), name=block.get("name"), arguments=block.get("input"))


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": _id(message.tool_call_id), "content": message.text}]
    # The API refuses blank texts. A blank question is sent all the same, so that this shows.
    is_sent = message.role == "user" or message.text.strip()
    texts = [{"type": "text", "text": message.text}] if is_sent else []
    return texts + [
        {"type": "tool_use", "id": _id(call.id), "name": call.name, "input": _input(call)}
        for call in message.tool_calls
    ]


def _id(id: str | None) -> str:
    """Return *id*, which may be another API's, of the characters that this one takes."""
    return re.sub("[^a-zA-Z0-9_-]", "_", id or "")


def _input(call: ToolCall) -> Mapping[str, Any]:
    """Return the arguments as an object, as this API needs; another value is wrapped in one."""
    arguments = call.parsed_arguments
    return arguments if isinstance(arguments, dict) else {"arguments": arguments}


def _usage(usage: Any) -> Usage | None:
    """Return the counts in *usage*; None if there are none."""
    if not isinstance(usage, dict):
        return None
    counts = {name: token_count(count) for name, count in usage.items()}
    known = {name: count for name, count in counts.items() if count is not None}
    prompt = [known[name] for name in PROMPT_COUNTS if name in known]
    completion = known.get("output_tokens")
    if not prompt and completion is None:
        return None
    return Usage(
        prompt_tokens=sum(prompt) if prompt else None,
        completion_tokens=completion,
        cached_prompt_tokens=known.get("cache_read_input_tokens"),
    )


@dataclass(kw_only=True)
class AnthropicAdapter(ChatAdapter):
    """A model behind a Messages endpoint."""

    max_tokens: int = 1024
    """The longest answer; the API wants a number."""
    base_url: str = "https://api.anthropic.com"
    """Up to and without ``/v1/messages``."""
    version: str = "2023-06-01"
    """The ``anthropic-version`` header."""

    def __post_init__(self) -> None:
        check_count("max_tokens", self.max_tokens)
        self._speak(
            Messages(model=self.model, max_tokens=self.max_tokens, stream=self.stream),
            settings=("model", "max_tokens", "system", "stream"),
            ours=("messages",),
            headers={"anthropic-version": self.version},
            key=("x-api-key", ""),
        )
