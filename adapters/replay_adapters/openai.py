"""
Chat Completions, on any server that speaks it: OpenAI, vLLM, Ollama, llama.cpp, LiteLLM, ``replay serve``.

https://platform.openai.com/docs/api-reference/chat. One reply in one piece, not streamed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from replay import (
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
    Exchange,
    HistoryKeeper,
    Template,
    TextTemplate,
    TokenLogprobs,
    Usage,
    template_variables,
)
from replay_adapters.http_client import MAX_REPLY_BYTES, HttpClient, HttpReply
from replay_adapters.json_reply import ReplyPath
from replay_adapters.sent_text import check_address, check_variables, from_environment

OURS = ("model", "messages", "stream")
"""Fields of the body that ``extra`` can't replace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIAdapter:
    """A model behind a Chat Completions endpoint."""

    base_url: str
    """Up to and without ``/chat/completions``, as in ``http://localhost:8000/v1``."""
    model: str
    api_key_env: str | None = None
    """The environment variable that holds the key; none for a server that wants no key."""
    system: str | None = None
    """Template of the system message, as in ``Answer from this text: {{passage}}``."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """More fields of the body, as in ``temperature: 0``; texts in it are templates."""
    headers: Mapping[str, str] = field(default_factory=dict)
    passages_path: str | None = None
    """JMESPath of the passages that the server says it used."""
    max_reply_bytes: int = MAX_REPLY_BYTES

    _client: HttpClient = field(init=False, repr=False, compare=False)
    _system: TextTemplate | None = field(init=False, repr=False, compare=False)
    _extra: Template = field(init=False, repr=False, compare=False)
    _passages: ReplyPath | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_address(self.base_url, "base_url")
        if not self.model.strip():
            raise ValueError('model is empty; name one the server has, as its "/models" lists them')
        for name in OURS:
            if name in self.extra:
                what = "has a setting of its own" if name == "model" else "is ours to send"
                raise ValueError(f"extra.{name}: {name} {what}")
        check_variables(self.system or "", "system")
        check_variables(self.extra, "extra")
        headers = dict(self.headers)
        if self.api_key_env is None:
            next_step = "set api_key_env to the environment variable that holds the key"
        else:
            headers["Authorization"] = f"Bearer {from_environment(self.api_key_env, 'api_key_env')}"
            next_step = f"set the environment variable {self.api_key_env} to a key that is valid there"
        client = HttpClient(headers=headers, max_reply_bytes=self.max_reply_bytes, unauthorized=next_step)
        path = self.passages_path
        object.__setattr__(self, "_client", client)
        object.__setattr__(self, "_system", TextTemplate(self.system) if self.system else None)
        object.__setattr__(self, "_extra", Template(self.extra))
        object.__setattr__(self, "_passages", ReplyPath(path, "passages_path") if path else None)

    @property
    def history(self) -> HistoryKeeper:
        return "client"

    @property
    def takes_parameters(self) -> bool:
        """A request's parameters become fields of the body, before those of ``extra``."""
        return True

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.__aexit__()

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[OpenAISession]:
        yield OpenAISession(self, conversation)

    def body(self, conversation: Conversation, request: ChatRequest) -> dict[str, Any]:
        """
        What is sent for *request*.

        Raises:
            AdapterRefusedError: a template can't be filled in for this conversation.
        """
        variables = template_variables(
            conversation, question=request.question, history=request.history, depth=request.depth
        )
        try:
            system = self._system.render(variables) if self._system else ""
            extra = self._extra.render(variables)
        except ValueError as error:
            raise AdapterRefusedError(f"the request can't be made: {error}", reached=False) from error
        messages = [{"role": "system", "content": system}] if system.strip() else []
        messages += _messages(request.history)
        messages.append({"role": "user", "content": request.question})
        return {**extra, **request.parameters, "model": self.model, "messages": messages}

    async def ask(self, conversation: Conversation, request: ChatRequest) -> ChatReply:
        """One question of *conversation*; what a session's ``ask`` does."""
        url = self.base_url.rstrip("/") + "/chat/completions"
        reply = await self._client.request("POST", url, self.body(conversation, request))
        value = reply.json()
        return ChatReply(
            text=_answer(reply, value),
            passages=self._passages.passages(reply, value) if self._passages else (),
            usage=_usage(value),
            times=reply.times,
            logprobs=_logprobs(value),
        )


class OpenAISession:
    """One conversation; the server remembers nothing of it."""

    def __init__(self, adapter: OpenAIAdapter, conversation: Conversation) -> None:
        self._adapter = adapter
        self._conversation = conversation

    async def ask(self, request: ChatRequest) -> ChatReply:
        return await self._adapter.ask(self._conversation, request)


def _messages(history: Sequence[Exchange]) -> list[dict[str, str]]:
    return [
        {"role": role, "content": content}
        for exchange in history
        # Several servers refuse an empty message, and two questions in a row.
        if exchange.answer.strip()
        for role, content in (("user", exchange.question), ("assistant", exchange.answer))
    ]


def _answer(reply: HttpReply, value: Any) -> str:
    """
    Raises:
        AdapterReplyError: the reply holds no text of the assistant's.
    """

    def unusable(why: str) -> AdapterReplyError:
        return AdapterReplyError(f"{reply.place} {why}: {reply.excerpt()}", status=reply.status)

    try:
        choice = value["choices"][0]
        message = choice["message"]
        content = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise unusable(
            f"answered {reply.status} without choices[0].message; check that base_url ends before "
            "/chat/completions and leads to a Chat Completions server"
        ) from error
    if isinstance(content, list):  # parts, as some servers send them
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if isinstance(content, str) and content.strip():
        return content
    if isinstance(message.get("refusal"), str):
        raise unusable("answered with a refusal of the model")
    finish = choice.get("finish_reason") if isinstance(choice, dict) else None
    hint = "; raise the token limit in extra" if finish == "length" else ""
    raise unusable(f"answered without a text (finish_reason {finish!r}){hint}")


def _usage(value: Any) -> Usage | None:
    usage = value.get("usage")
    if not isinstance(usage, dict):
        return None
    counts = {key: usage.get(key) for key in ("prompt_tokens", "completion_tokens")}
    known = {key: count for key, count in counts.items() if isinstance(count, int) and count >= 0}
    return Usage(**known) if known else None


def _logprobs(value: Any) -> tuple[TokenLogprobs, ...] | None:
    """``choices[0].logprobs.content``; None where it is missing or not as documented."""
    try:
        return tuple(
            TokenLogprobs(
                token=str(one["token"]),
                logprob=float(one["logprob"]),
                top=tuple((str(t["token"]), float(t["logprob"])) for t in one.get("top_logprobs") or ()),
            )
            for one in value["choices"][0]["logprobs"]["content"]
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None
