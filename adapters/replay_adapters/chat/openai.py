"""
Chat Completions or Responses, on any server that speaks them: OpenAI, Azure, vLLM, Ollama, llama.cpp,
LiteLLM, ``replay serve``.

https://platform.openai.com/docs/api-reference. Replies come in one piece, or streamed as server-sent events.
Chat Completions, which others speak too, are in ``openai_chat``; Responses are here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from replay import (
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
    HistoryKeeper,
    Message,
    Session,
    Usage,
)
from replay_adapters.chat.body import ChatBodies
from replay_adapters.chat.endpoint import ChatAdapter
from replay_adapters.chat.openai_chat import ChatCompletions, logprobs_of, usage_of
from replay_adapters.chat.streamed_answer import StreamedAnswer, decoded_events, event_of
from replay_adapters.http.client import StreamEnd
from replay_adapters.http.failures import stream_error
from replay_adapters.http.reply import HttpReply
from replay_adapters.json_reply import list_under

LOGPROBS = "message.output_text.logprobs"
ITEMS = ("response.output_item.added", "response.output_item.done")
ENDS = ("response.completed", "response.incomplete", "response.failed")


class ResponseEvent(msgspec.Struct, gc=False):
    """One event; which of the fields it has depends on its type."""

    type: Any = None
    delta: Any = None
    logprobs: Any = None
    item: Any = None
    output_index: Any = None
    response: Any = None
    error: Any = None
    code: Any = None
    message: Any = None


_events = msgspec.json.Decoder(list[ResponseEvent])


class Responses:
    """How Responses are spoken."""

    path = "/responses"
    messages = "input"
    has_system_messages = True
    end: StreamEnd = StreamEnd()
    """The server ends the stream after the last event."""
    last_event = '"response.completed"'

    def __init__(self, *, model: str, stream: bool, stream_usage: bool) -> None:
        # Said either way, since `transformers serve` streams unless it is told not to.
        self._ours: dict[str, Any] = {"stream": stream, "model": model}

    def fields(
        self, system: str, extra: Mapping[str, Any], parameters: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the body's fields, all but the input."""
        instructions = {"instructions": system} if system.strip() else {}
        return {**extra, **_rename_parameters(parameters), **self._ours, **instructions}

    def format_messages(self, messages: Sequence[Message]) -> Iterable[Mapping[str, Any]]:
        for message in messages:
            if message.role == "tool":
                yield {
                    "type": "function_call_output",
                    "call_id": message.tool_call_id,
                    "output": message.text,
                }
                continue
            if message.text.strip():
                yield {"role": message.role, "content": message.text}
            for call in message.tool_calls:
                yield {
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": call.arguments,
                }

    def read(self, reply: HttpReply, value: Any) -> StreamedAnswer:
        if not isinstance(value, dict) or not isinstance(value.get("output"), list):
            raise reply.unusable(
                " without output; check that base_url ends before "
                "/responses and leads to a server with Responses",
            )
        if value.get("status") == "failed":
            raise stream_error(reply, value.get("error"))
        parts = list(_parts(value))
        logprobs = [one for part in parts for one in list_under(part, "logprobs")]
        found = StreamedAnswer(
            pieces=[part["text"] for part in parts if isinstance(part.get("text"), str)],
            finish=_finish(value),
            id=_id(value),
            refused=any("refusal" in part for part in parts),
            logprobs=logprobs_of(logprobs) if logprobs else None,
            told=value,
        )
        _take_calls(value, found)
        found.take_usage(_usage(value), value.get("usage"), reply.headers)
        return found

    def read_stream(self, reply: HttpReply) -> StreamedAnswer:
        events, positions, _ = decoded_events(reply, _events, partial(event_of, ResponseEvent))
        streamed = StreamedAnswer()
        logprobs: list[Any] = []
        for event, read in zip(events, positions, strict=True):
            if event.type == "response.output_text.delta" and isinstance(event.delta, str):
                if event.delta:
                    streamed.pieces.append(event.delta)
                    streamed.piece_reads.append(read)
                if isinstance(event.logprobs, list):
                    logprobs += event.logprobs
            elif event.type == "response.refusal.delta":
                streamed.refused = streamed.refused or bool(event.delta)
            elif event.type in ITEMS:
                _take_call(event.output_index, event.item, streamed)
            elif event.type == "response.function_call_arguments.delta":
                streamed.calls.take(event.output_index, piece=event.delta)
            elif event.type == "error":
                told = {"code": event.code, "message": event.message}
                raise stream_error(reply, told if event.error is None else event.error)
            elif event.type in ENDS:
                response = event.response if isinstance(event.response, dict) else {}
                if event.type == "response.failed":
                    raise stream_error(reply, response.get("error"))
                streamed.complete = True
                streamed.finish = _finish(response)
                streamed.id = _id(response)
                streamed.told = response
                streamed.take_usage(_usage(response), response.get("usage"))
                if not streamed.calls:
                    _take_calls(response, streamed)
        if logprobs:
            streamed.logprobs = logprobs_of(logprobs)
        return streamed


def _take_calls(response: Mapping[str, Any], found: StreamedAnswer) -> None:
    for index, item in enumerate(list_under(response, "output")):
        _take_call(index, item, found)


def _take_call(index: Any, item: Any, found: StreamedAnswer) -> None:
    if isinstance(item, dict) and item.get("type") == "function_call":
        id = item.get("call_id") or item.get("id")
        found.calls.take(index, id=id, name=item.get("name"), arguments=item.get("arguments"))


def _usage(response: Mapping[str, Any]) -> Usage | None:
    return usage_of(response.get("usage"), "input_tokens", "output_tokens")


def _rename_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return *parameters*, which have Chat Completions' names, under those of Responses."""
    renamed = dict(parameters)
    for name in ("max_tokens", "max_completion_tokens"):
        if name in renamed:
            renamed["max_output_tokens"] = renamed.pop(name)
    if renamed.pop("logprobs", False):
        renamed["include"] = [LOGPROBS]
    wanted = renamed.pop("response_format", None)
    if isinstance(wanted, dict):
        schema = wanted.get("json_schema")
        renamed["text"] = {
            "format": {"type": "json_schema", **schema} if isinstance(schema, dict) else wanted
        }
    for name in ("tools", "tool_choice"):
        if name in renamed:
            renamed[name] = _flat(renamed[name])
    return renamed


def _flat(tool: Any) -> Any:
    """Return a tool, a choice or a list of them, with name and schema moved up beside ``type``."""
    if isinstance(tool, list):
        return [_flat(one) for one in tool]
    if isinstance(tool, dict) and isinstance(tool.get("function"), dict):
        return {"type": "function", **tool["function"]}
    return tool


def _parts(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts of all messages in a response."""
    for item in value["output"]:
        if isinstance(item, dict) and item.get("type") == "message":
            yield from (part for part in list_under(item, "content") if isinstance(part, dict))


def _id(response: Mapping[str, Any]) -> str | None:
    found = response.get("id")
    return found if isinstance(found, str) and found else None


def _finish(response: Mapping[str, Any]) -> str | None:
    """Return why the model stopped early, or else the response's status; None if neither is a text."""
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    found = reason or response.get("status")
    return found if isinstance(found, str) else None


class StoredSession:
    """
    One conversation whose history a server of Responses keeps: each question names the response it follows.

    https://platform.openai.com/docs/guides/conversation-state. A response is never changed: a question
    without an answer is in nobody's history, and the next one follows the last answer.
    """

    __slots__ = ("_adapter", "_answered", "_bodies", "_conversation", "_last")

    def __init__(self, adapter: ChatAdapter, bodies: ChatBodies, conversation: Conversation) -> None:
        self._adapter = adapter
        self._bodies = bodies
        self._conversation = conversation
        self._answered: str | None = None
        """The response with the last answer."""
        self._last: str | None = None
        """The last response, which may call tools."""

    async def ask(self, request: ChatRequest) -> ChatReply:
        reply, id = await self._adapter.send(self._body(request), request)
        if id is None:
            raise AdapterReplyError(
                "the server answered without the id of a response, so that no question can follow it; "
                "set history: client if it stores none"
            )
        self._last = id
        if not reply.tool_calls:
            self._answered = id
        return reply

    def _body(self, request: ChatRequest) -> bytes:
        # Results of tools follow the response that called them, which has all before them.
        results = [*takewhile(lambda step: step.role == "tool", reversed(request.steps))][::-1]
        follows = self._last if results else self._answered
        if follows is not None:
            parameters = {**request.parameters, "previous_response_id": follows}
            request = replace(request, parameters=parameters)
        head = self._bodies.head(self._conversation, request, own=True)
        asked = self._bodies.encode(results)[:-1] if results else self._bodies.encoded_question(request)
        return b"%b%b]}" % (head, asked)


@dataclass(kw_only=True)
class OpenAIAdapter(ChatAdapter):
    """A model behind a Chat Completions or Responses endpoint."""

    base_url: str
    """Up to ``/chat/completions`` or ``/responses``, as in ``http://localhost:8000/v1``; what stands behind
    a ``?`` stays at the end."""
    api: Literal["chat", "responses"] = "chat"
    """``chat`` posts to ``/chat/completions``, ``responses`` to ``/responses``."""
    history: HistoryKeeper = "client"
    """``server``, under ``responses``: only the question is sent, with the ``previous_response_id`` of the
    answer before it."""
    stream_usage: bool = True
    """Ask for the token counts at the end of a stream; false for servers that refuse ``stream_options``."""

    def __post_init__(self) -> None:
        for api, path in (("chat", ChatCompletions.path), ("responses", Responses.path)):
            if api != self.api and urlsplit(self.base_url).path.rstrip("/").endswith(path):
                raise ValueError(
                    f'base_url ends with "{path}", which is that of api: {api}; set that, or end it before'
                )
        if self.history == "server" and (self.api != "responses" or self.extra.get("store") is False):
            raise ValueError(
                "history: server is for api: responses with responses that are stored (store: true)"
            )
        make: type[ChatCompletions | Responses] = ChatCompletions if self.api == "chat" else Responses
        self._speak(
            make(model=self.model, stream=self.stream, stream_usage=self.stream_usage),
            settings=("model", "stream"),
            ours=("messages", "input", "instructions", "stream_options", "previous_response_id"),
            key=("Authorization", "Bearer "),
        )

    def session(self, conversation: Conversation) -> AbstractAsyncContextManager[Session]:
        if self.history == "server":
            return nullcontext(StoredSession(self, self._bodies, conversation))
        return super().session(conversation)

    @property
    def takes_seed(self) -> bool:
        """Chat Completions have a field for it; Responses refuse it."""
        return self.api == "chat"
