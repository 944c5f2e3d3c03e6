"""
A bot of the Microsoft Bot Framework, or of Copilot Studio, by its Direct Line channel.

The bot keeps the conversation. It sends as many messages as it likes, so that an answer is complete when
the bot says that it expects input, ends the conversation, or has been quiet for a while.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal, Self
from uuid import uuid4

from replay import (
    AdapterConnectionError,
    AdapterCutOffError,
    AdapterError,
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
    Passage,
    Template,
    WireTimes,
    template_variables,
)
from replay_adapters.http.client import MAX_REPLY_BYTES, HttpClient, trace_headers
from replay_adapters.http.direct_line import Activity, DirectLine, said_nothing
from replay_adapters.http.reply import ReceivedText, Secrets, parse_errors_as_bad_reply
from replay_adapters.http.request import render_template
from replay_adapters.http.websocket_client import WebSocketClient
from replay_adapters.json_reply import ReplyPath, with_titles
from replay_adapters.setting_checks import check_address, check_seconds, check_variables, from_environment

GREETED_WITHIN_S = 15.0
"""So long Direct Line itself waits for a bot; one that wakes up for its first conversation takes seconds."""

_log = logging.getLogger("replay.botframework")


@dataclass(kw_only=True)
class BotFrameworkAdapter:
    """A bot's Direct Line channel."""

    base_url: str
    """``https://directline.botframework.com``, or that of the bot's region, as in
    ``https://europe.directline.botframework.com``. No default: load goes only where a scenario says."""
    path: str = "/v3/directline"
    """Where Direct Line is below the base address; ``/directline`` for emulators."""
    secret_env: str | None = None
    """The environment variable with the channel's secret; left out, none is sent, for local stand-ins."""
    tokens: bool = False
    """Each conversation exchanges the secret for a token of its own, for bots that want to be sure of the
    user's id."""
    receive: Literal["poll", "stream"] = "poll"
    """``stream`` listens over a WebSocket, and so times answers better."""
    quiet_s: float = 1.0
    """An answer is complete when the bot sent nothing for so long after a message."""
    poll_s: float = 0.3
    """Time between two looks; latencies are too high by up to as much."""
    greeting: int = 0
    """So many messages the bot sends by itself when a conversation begins; they are waited for, 15 s at
    most."""
    locale: str | None = None
    """Language of the questions, as in ``en-US``."""
    channel_data: Any = None
    """Template of a question's ``channelData``."""
    buttons: bool = False
    """Titles of suggested actions are a part of the answer, a line each."""
    passages: str | None = None
    """JMESPath of the passages in an answer's list of activities, as in ``[].channelData.sources[]``."""
    max_reply_bytes: int = MAX_REPLY_BYTES
    """The largest reply, or frame of a stream, that is read."""
    history: Literal["server"] = field(default="server", init=False)

    def __post_init__(self) -> None:
        check_address(self.base_url, "base_url")
        if self.path and not self.path.startswith("/"):
            raise ValueError(f'path "{self.path}" does not begin with "/", as "/v3/directline" does')
        check_variables(self.channel_data, "channel_data")
        for name in ("quiet_s", "poll_s"):
            check_seconds(name, getattr(self, name))
        if self.receive == "poll" and self.quiet_s <= self.poll_s:
            raise ValueError(
                f"quiet_s {self.quiet_s:g} must be longer than poll_s {self.poll_s:g}, or nobody would look"
            )
        if self.greeting < 0:
            raise ValueError(f"greeting {self.greeting} is no number of messages")
        if self.tokens and self.secret_env is None:
            raise ValueError("tokens: they are got with the secret; set secret_env")
        secret = from_environment(self.secret_env, "secret_env") if self.secret_env else None
        streaming = self.receive == "stream"
        self._stream = WebSocketClient(max_frame_bytes=self.max_reply_bytes) if streaming else None
        self._http = self._client(secret)
        self._channel_data = Template(self.channel_data)
        self._passages = ReplyPath(self.passages or None, "passages")

    def _client(self, key: str | None) -> HttpClient:
        return HttpClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            max_reply_bytes=self.max_reply_bytes,
            unauthorized=f"check the Direct Line secret (set by {self.secret_env or 'secret_env'})",
        )

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        if self._stream is not None:
            await self._stream.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._stream is not None:
            await self._stream.__aexit__()
        await self._http.__aexit__()

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[BotFrameworkSession]:
        line = DirectLine(
            base=self.base_url.rstrip("/") + self.path.rstrip("/"),
            user=f"dl_{uuid4().hex}",  # the prefix is asked for where ids are checked
            with_secret=self._http,
            own_client=self._client if self.tokens else None,
            stream=self._stream,
            poll_s=self.poll_s,
        )
        try:
            yield BotFrameworkSession(self, conversation, line)
        finally:
            await line.close()

    def activity(self, conversation: Conversation, request: ChatRequest) -> dict[str, Any]:
        """
        Return the activity that asks *request*.

        Raises:
            AdapterRefusedError: a template doesn't fit this conversation.
        """
        activity: dict[str, Any] = {"type": "message", "text": request.question}
        if self.locale is not None:
            activity["locale"] = self.locale
        if self.channel_data is not None:
            variables = template_variables(conversation, request)
            activity["channelData"] = render_template(self._channel_data, variables)
        return activity

    def text_of(self, activity: Activity) -> str:
        """Return the text of a message, with the other parts that are wanted."""
        suggested = activity.value.get("suggestedActions")
        actions = suggested.get("actions") if isinstance(suggested, Mapping) else None
        return with_titles(activity.text_at("text"), actions if self.buttons else None)

    def passages_in(self, answer: BotAnswer, place: str) -> tuple[Passage, ...]:
        """Return the passages that the bot at *place* used for *answer*."""
        value = [dict(activity.value) for activity in answer.activities]
        said, at = " ".join(answer.texts).encode("utf-8", "replace"), answer.activities[-1].at
        shown = ReceivedText(place=place, content=said, at=at, secrets=Secrets({}))
        return self._passages.passages(shown, value)


@dataclass(slots=True, kw_only=True)
class BotAnswer:
    """What the bot sent after a question."""

    activities: list[Activity] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    is_begun: bool = False
    """The question itself has been seen."""
    complete: bool = False


class BotFrameworkSession:
    """One conversation with the bot."""

    def __init__(self, adapter: BotFrameworkAdapter, conversation: Conversation, line: DirectLine) -> None:
        self._adapter = adapter
        self._conversation = conversation
        self._line = line
        self._greetings_due = adapter.greeting
        self._questions: list[str] = []
        """Ids of the questions so far, the newest last."""
        self._settled = True
        self._after_an_answer = False
        """Whether the question before was answered, not given up."""
        self._is_echoed = False
        """The channel shows our own questions, too; it always does, but stand-ins may not."""
        self._over = False

    async def ask(self, request: ChatRequest) -> ChatReply:
        activity = self._adapter.activity(self._conversation, request)
        with parse_errors_as_bad_reply(self._line.place):
            return await self._ask(activity, trace_headers(request.traceparent))

    async def _ask(self, activity: Mapping[str, Any], headers: Mapping[str, str]) -> ChatReply:
        await self._line.start()
        await self._wait_for_greeting()
        if self._over:
            raise AdapterRefusedError(
                f"{self._line.place}: the bot ended this conversation before this question", reached=False
            )
        self._after_an_answer = self._settled and bool(self._questions)
        if not self._settled:
            await self._line.skip()  # what belongs to a question that was given up
        self._settled = False
        answer = BotAnswer()
        sent = perf_counter()
        self._questions.append(await self._line.post(activity, headers))
        try:
            await self._listen(answer)
        except AdapterConnectionError as error:
            if not answer.texts:
                raise
            partial = "\n\n".join(answer.texts)
            raise AdapterCutOffError(
                f"{error} ({len(partial)} characters had come)", partial=partial
            ) from error
        self._settled = True
        return self._reply(answer, sent)

    async def _listen(self, answer: BotAnswer) -> None:
        while not answer.complete:
            try:
                async with asyncio.timeout(self._adapter.quiet_s if answer.activities else None):
                    activities = await self._line.more()
            except TimeoutError:
                return
            for activity in activities:
                self._take(activity, answer)

    def _take(self, activity: Activity, answer: BotAnswer) -> None:
        kind = activity.text_at("type")
        if self._line.is_ours(activity):
            if _number(activity.text_at("id")) == _number(self._questions[-1]):
                # What stands before the question is no answer to it.
                self._is_echoed = answer.is_begun = True
                late, answer.activities = answer.activities, []
                answer.texts, answer.complete = [], False
                self._leave_out(late)
            return
        if self._is_echoed and not answer.is_begun:
            self._leave_out([activity])
            return
        if kind == "endOfConversation":
            self._over = answer.complete = True
        elif kind != "message" or self._is_late(activity):
            return
        answer.activities.append(activity)
        if text := self._adapter.text_of(activity):
            answer.texts.append(text)
        if activity.text_at("inputHint") == "expectingInput":
            answer.complete = True

    def _leave_out(self, late: Sequence[Activity]) -> None:
        """Log that messages in *late* are left out: they came after an answer was taken for complete."""
        if self._after_an_answer and any(activity.text_at("type") == "message" for activity in late):
            _log.warning(
                "%s: messages that came after an answer seemed complete were left out; "
                "raise quiet_s so that answers are waited for to their end",
                self._line.place,
            )

    def _is_late(self, activity: Activity) -> bool:
        """Return whether it answers a question before the last one."""
        to = _number(activity.text_at("replyToId"))
        return bool(to) and to in map(_number, self._questions[:-1])

    async def _wait_for_greeting(self) -> None:
        """
        Raises:
            AdapterError: it doesn't come. The question has not been sent then.
        """
        wanted, due = self._adapter.greeting, self._greetings_due
        try:
            async with asyncio.timeout(GREETED_WITHIN_S if due > 0 else None):
                while self._greetings_due > 0 and not self._over:
                    activities = await self._line.more()
                    kinds = [activity.text_at("type") for activity in activities]
                    self._greetings_due -= kinds.count("message")
                    self._over = "endOfConversation" in kinds
        except TimeoutError as error:
            raise AdapterRefusedError(
                f"{self._line.place}: the bot sent {wanted - self._greetings_due} messages by itself within "
                f"{GREETED_WITHIN_S:g} s, and greeting: {wanted} waits for more; set it to what comes, 0 "
                "for a bot that waits to be asked",
                reached=False,
            ) from error
        except AdapterError as error:
            error.reached = False
            raise

    def _reply(self, answer: BotAnswer, sent: float) -> ChatReply:
        """
        Return the whole answer.

        Raises:
            AdapterReplyError: there is no text in it.
        """
        if not answer.texts:
            came = said_nothing(answer.activities)
            raise AdapterReplyError(
                f"{self._line.place}: the bot answered without a text ({came}); "
                "cards and files can't be read, so let the bot say in text what they show"
            )
        return ChatReply(
            text="\n\n".join(answer.texts),
            passages=self._adapter.passages_in(answer, self._line.place),
            times=WireTimes(
                sent=sent,
                # The wait that showed that the bot was done is ours.
                done=max(answer.activities[-1].at, sent),
                first_byte=max(answer.activities[0].at, sent),
            ),
        )


def _number(id: str) -> str:
    """Return an activity's *id* within its conversation: in one place it is "abc|0001", in another "0001"."""
    return id.rpartition("|")[2]
