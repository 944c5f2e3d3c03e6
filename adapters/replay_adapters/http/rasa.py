"""
An assistant built with Rasa, by its REST channel (https://rasa.com/docs/reference/channels/your-own-website).

The assistant keeps the conversation under the sender's id and may answer with several messages, or none.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote
from uuid import uuid4

from replay import (
    AdapterError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
    Template,
    template_variables,
)
from replay_adapters.http.client import MAX_REPLY_BYTES, ClientAdapter, HttpClient, trace_headers
from replay_adapters.http.reply import HttpReply, Secrets, parse_errors_as_bad_reply
from replay_adapters.http.request import render_template
from replay_adapters.json_reply import ReplyPath, with_titles
from replay_adapters.setting_checks import check_address, check_variables, from_environment


@dataclass(kw_only=True)
class RasaAdapter(ClientAdapter):
    """A Rasa server with its REST channel switched on."""

    base_url: str = "http://localhost:5005"
    """The server's address."""
    channel: str = "rest"
    """Name of the channel, for one of your own that answers as ``rest`` does."""
    token_env: str | None = None
    """The environment variable with the token that the server was started with (``--auth-token``)."""
    jwt_env: str | None = None
    """The environment variable with a JSON web token (``--jwt-secret``)."""
    metadata: Any = None
    """Template of the message's metadata."""
    buttons: bool = False
    """Buttons' titles are a part of the answer, a line each."""
    passages: str | None = None
    """JMESPath of the passages the assistant used in its list of messages, as in ``[].custom.sources[]``."""
    max_reply_bytes: int = MAX_REPLY_BYTES
    """The largest reply that is read."""
    history: Literal["server"] = field(default="server", init=False)

    def __post_init__(self) -> None:
        check_address(self.base_url, "base_url")
        check_variables(self.metadata, "metadata")
        self._url = f"{self.base_url.rstrip('/')}/webhooks/{quote(self.channel, safe='')}/webhook"
        secrets = {}
        if self.token_env:
            token = from_environment(self.token_env, "token_env")
            secrets["token"] = token
            self._url += f"?token={quote(token, safe='')}"
        headers = {}
        if self.jwt_env:
            headers["Authorization"] = f"Bearer {from_environment(self.jwt_env, 'jwt_env')}"
        set_by = " and ".join(name for name in (self.token_env, self.jwt_env) if name)
        self._client: HttpClient = HttpClient(
            headers=headers,
            max_reply_bytes=self.max_reply_bytes,
            unauthorized=f"check the token it wants (set by {set_by or 'token_env or jwt_env'})",
        )
        self._metadata = Template(self.metadata)
        self._passages = ReplyPath(self.passages or None, "passages")
        self._secrets = Secrets(secrets)

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[RasaSession]:
        # A fresh id, not the conversation's: the assistant would go on with what it remembers of it.
        yield RasaSession(self, conversation, f"convreplay-{uuid4().hex}")


class RasaSession:
    """One conversation, under a sender's id of its own."""

    def __init__(self, adapter: RasaAdapter, conversation: Conversation, sender: str) -> None:
        self._adapter = adapter
        self._conversation = conversation
        self._sender = sender

    async def ask(self, request: ChatRequest) -> ChatReply:
        system = self._adapter
        body = {"sender": self._sender, "message": request.question}
        if system.metadata is not None:
            variables = template_variables(self._conversation, request, session_id=self._sender)
            body["metadata"] = render_template(system._metadata, variables)
        try:
            reply = await system._client.request(
                "POST", system._url, body, headers=trace_headers(request.traceparent), once=True
            )
            try:
                with parse_errors_as_bad_reply(reply.place):
                    return self._reply_in(reply, reply.json())
            except AdapterError as error:
                error.raw = reply.raw
                raise
        except AdapterError as error:
            # The client knows of headers; this token stands in the address, and a server may repeat it.
            error.args = (system._secrets.redact(str(error)),)
            raise

    def _reply_in(self, reply: HttpReply, value: Any) -> ChatReply:
        if not isinstance(value, list) or not all(isinstance(message, Mapping) for message in value):
            raise reply.unusable(
                ", but not with a list of messages",
                "check that the address is that of a Rasa server's REST channel",
            )
        text = "\n\n".join(filter(None, map(self._text, value)))
        if not text:
            kinds = ", ".join(sorted({key for message in value for key in message} - {"recipient_id"}))
            came = f"messages without a text ({kinds})" if value else "an empty list"
            raise AdapterReplyError(
                f"{reply.place} answered {reply.status} with {came}: the assistant said nothing. Check that "
                "its domain has a response for this and its action server runs; Rasa's log says what it did, "
                "and tells of failures that this channel hides",
                status=reply.status,
            )
        return ChatReply(
            text=text,
            passages=self._adapter._passages.passages(reply, value),
            times=reply.times,
            raw=reply.raw,
        )

    def _text(self, message: Mapping[str, Any]) -> str:
        return with_titles(message.get("text"), message.get("buttons") if self._adapter.buttons else None)
