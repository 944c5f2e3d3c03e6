"""
An endpoint that is sent the whole conversation as messages: what such adapters have in common.

How messages, fields and replies look is the business of what is spoken there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from replay import (
    AdapterError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
    HistoryKeeper,
    Session,
    Template,
    ToolCall,
)
from replay_adapters.chat.body import ChatApi, ChatBodies, ChatBody
from replay_adapters.chat.streamed_answer import (
    StreamedAnswer,
    check_complete,
    stream_times,
    streamed_passages,
)
from replay_adapters.http.client import MAX_REPLY_BYTES, ClientAdapter, HttpClient, trace_headers
from replay_adapters.http.reply import HttpReply, parse_errors_as_bad_reply, whole_text
from replay_adapters.json_reply import ReplyPath
from replay_adapters.server_times import add_server_times
from replay_adapters.setting_checks import (
    check_address,
    check_variables,
    filled_address,
    from_environment,
    headers_from_environment,
    replaced_system_prompts,
)


@dataclass(kw_only=True)
class ChatAdapter(ClientAdapter):
    """What the adapters of all chat APIs have in common."""

    base_url: str
    model: str
    """The model's name."""
    api_key_env: str | None = None
    """The environment variable that holds the key; none for a server that wants no key."""
    system: str | None = None
    """Template of the system message, as in ``Answer from this text: {{passage}}``, in the
    place of the recorded system prompts, which are sent without it."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """More fields of the body, as in ``temperature: 0``; texts in it are templates."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """More headers."""
    headers_env: Mapping[str, str] = field(default_factory=dict)
    """Headers with a secret, as in ``api-key: AZURE_KEY``: the environment variable that holds the value,
    or a text such as ``Bearer ${TOKEN}``."""
    as_recorded: bool = True
    """False for servers that know only questions and answers in turn: each question is sent as one message,
    and nothing between it and its answer."""
    stream: bool = False
    """Ask for the answer piece by piece, so that the time to its first token can be measured."""
    passages_path: str | None = None
    """JMESPath of the passages that the server says it used."""
    max_reply_bytes: int = MAX_REPLY_BYTES
    """The largest reply that is read."""

    def _speak(
        self,
        api: ChatApi,
        *,
        settings: Sequence[str],
        ours: Sequence[str],
        key: tuple[str, str],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """
        Get ready.

        Args:
            api: What is spoken.
            settings: Fields of the body that have a setting of their own.
            ours: Others that ``extra`` can't replace either.
            key: The header with the API key, and what stands in it before the key.
            headers: Those that the API wants.

        Raises:
            ValueError: a setting is wrong.
        """
        check_address(self.base_url, "base_url")
        if not self.model.strip():
            raise ValueError('model is empty; name one the server has, as its "/models" lists them')
        for name in self.extra:
            if name in (*settings, *ours):
                what = "has a setting of its own" if name in settings else "is ours to send"
                raise ValueError(f"extra.{name}: {name} {what}")
        sent = {**(headers or {}), **self.headers, **headers_from_environment(self.headers_env)}
        if self.api_key_env is not None:
            sent[key[0]] = key[1] + from_environment(self.api_key_env, "api_key_env")
            next_step = f"set the environment variable {self.api_key_env} to a key that is valid there"
        elif self.headers_env:
            next_step = f"check the key it wants (set by {', '.join(self.headers_env.values())})"
        else:
            next_step = "set api_key_env to the environment variable that holds the key"
        check_variables(self.system or "", "system")
        check_variables(self.extra, "extra")
        self._client: HttpClient = HttpClient(
            headers=sent, max_reply_bytes=self.max_reply_bytes, unauthorized=next_step
        )
        parts = urlsplit(filled_address(self.base_url, "base_url"))
        # The whole address is what documentation often shows; that is taken, too.
        path = parts.path.rstrip("/").removesuffix(api.path)
        # Azure has its version in a query, which stays at the end.
        self._url = urlunsplit(parts._replace(path=path + api.path))
        self._api = api
        self._bodies = ChatBodies(self.system, self.extra, api, as_recorded=self.as_recorded)
        self._end = api.end if self.stream else None
        self._passages = ReplyPath(self.passages_path or None, "passages_path")

    @property
    def history(self) -> HistoryKeeper:
        return "client"

    @property
    def unsent_system_prompts(self) -> str | None:
        """None: they are sent, unless ``system`` stands in their place."""
        templates = Template((self.system, self.extra)) if self.system else None
        return replaced_system_prompts(templates, "system")

    @property
    def takes_parameters(self) -> bool:
        """A request's parameters become fields of the body, before those of ``extra``."""
        return True

    def session(self, conversation: Conversation) -> AbstractAsyncContextManager[Session]:
        return nullcontext(ChatSession(self, ChatBody(self._bodies, conversation)))

    async def send(self, body: bytes, request: ChatRequest) -> tuple[ChatReply, str | None]:
        """
        Send *body* and return the reply, and the id under which the server stores it.

        Args:
            body: The JSON to send.
            request: The request it was made of.

        Raises:
            AdapterError: no answer came.
        """
        reply = await self._client.request(
            "POST", self._url, body=body, stream=self._end, headers=trace_headers(request.traceparent)
        )
        try:
            with parse_errors_as_bad_reply(reply.place):
                return self._read(reply, request)
        except AdapterError as error:
            error.raw = reply.raw
            raise

    def _read(self, reply: HttpReply, request: ChatRequest) -> tuple[ChatReply, str | None]:
        value: Any = None
        if self._end is None or _is_whole(reply):
            value = reply.json()
            found = self._api.read(reply, value)
            times = add_server_times(reply, found.told, reply.times, whole=True)
        else:
            found = self._api.read_stream(reply)
            check_complete(reply, found, self._api.last_event)
            times = stream_times(reply, found.piece_reads)
            times = add_server_times(reply, found.told, times, whole=False)
        text = whole_text(found.pieces)
        # Each call of a turn has an id of its own, also where the server gives none.
        calls: tuple[ToolCall, ...] = ()
        if found.calls:
            calls = found.calls.whole(after=sum(len(step.tool_calls) for step in request.steps))
        if not text.strip() and not calls:
            raise _without_text(reply, found)
        passages = (
            streamed_passages(reply, self._passages)
            if value is None
            else self._passages.passages(reply, value)
        )
        answer = ChatReply(
            text=text,
            tool_calls=calls,
            passages=passages,
            usage=found.usage,
            cost_usd=found.cost_usd,
            times=times,
            logprobs=found.logprobs,
            raw=reply.raw if request.keep_raw else None,
        )
        return answer, found.id


def _is_whole(reply: HttpReply) -> bool:
    """Return whether *reply*, which was to be a stream, is none: asked to stream, some don't."""
    return reply.broken is None and bool(reply.reads) and reply.reads[0].lstrip()[:1] == b"{"


def _without_text(reply: HttpReply, found: StreamedAnswer) -> AdapterReplyError:
    """Return an error that says why there is no text."""
    if found.refused:
        why, step = "answered with a refusal of the model", "that is all it has to say to this question"
    else:
        why = f"answered without a text (finish_reason {found.finish!r})"
        cut = found.finish in ("length", "max_output_tokens", "max_tokens")
        step = "raise the token limit" if cut else "check the model's token limit and stop words"
    return AdapterReplyError(f"{reply.place} {why}: {reply.excerpt()}; {step}", status=reply.status)


class ChatSession:
    """One conversation; the server remembers nothing of it."""

    __slots__ = ("_adapter", "_body")

    def __init__(self, adapter: ChatAdapter, body: ChatBody) -> None:
        self._adapter = adapter
        self._body = body

    async def ask(self, request: ChatRequest) -> ChatReply:
        reply, _ = await self._adapter.send(self._body.of(request), request)
        return reply
