"""
The JSON bodies of one conversation's requests, without encoding again what earlier ones held.

A body is a head (all fields from settings), the messages of the history, and the question. The head stays
the same for a conversation, and a history grows at its end, so both are kept as bytes. What was kept is
compared with what is asked for: under a policy whose history changes otherwise, all is encoded again.

The fields that come from settings are rendered once per conversation where that is enough, since Jinja
takes longer for a template than all else that an ask needs.

Recorded instructions stand among the messages, as they did in the log, or joined at the top where the API
takes none there. A setting ``system`` stands in place of all of them.

It pays from the third exchange on: with 1, 5, 20 and 100 exchanges of 30 words a body takes 1.0, 1.2, 1.4
and 2.5 us, where encoding all of it with msgspec takes 0.8, 1.9, 5.7 and 59 us.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec.structs import replace

from replay import (
    ChatRequest,
    Conversation,
    Exchange,
    Message,
    Template,
    TextTemplate,
    instructions,
    question_messages,
    template_variables,
)
from replay_adapters.chat.streamed_answer import StreamedAnswer
from replay_adapters.http.client import StreamEnd
from replay_adapters.http.reply import HttpReply, encode_json
from replay_adapters.http.request import render_template, request_error

Changes = Literal["never", "with the conversation", "with the turn"]

Prompts = Literal["in place", "on top", "left out"]
"""What becomes of recorded instructions."""

CONVERSATION = frozenset({"conversation", "passage", "passages"})
"""Variables that stay the same from turn to turn."""

USER, ASSISTANT = b'{"role":"user","content":', b'{"role":"assistant","content":'


class ChatApi(Protocol):
    """What the chat APIs have in common, and each has its own way of."""

    path: str
    """The endpoint's, to be added to the base address."""
    messages: str
    """The field with the messages."""
    end: StreamEnd
    """What recognizes a stream's end while it arrives."""
    last_event: str
    """The name of the last event of a complete stream, for messages."""
    has_system_messages: bool
    """System messages may stand among the others."""

    def fields(
        self, system: str, extra: Mapping[str, Any], parameters: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the body's fields; messages among them are those before the history."""
        ...

    def format_messages(self, messages: Sequence[Message]) -> Iterable[Mapping[str, Any]]:
        """Return *messages* in the API's format; calls and results among them are paired."""
        ...

    def read(self, reply: HttpReply, value: Any) -> StreamedAnswer:
        """
        Return the answer in *reply*, whose JSON is *value*.

        Raises:
            AdapterError: it is of another shape, or reports an error.
        """
        ...

    def read_stream(self, reply: HttpReply) -> StreamedAnswer:
        """
        Return the answer in the events of *reply*.

        Raises:
            AdapterError: they can't be read, or one of them reports an error.
        """
        ...


class ChatBodies:
    """How bodies are made for one system; each conversation has a ``ChatBody``."""

    def __init__(
        self, system: str | None, extra: Mapping[str, Any], api: ChatApi, *, as_recorded: bool = True
    ) -> None:
        """
        *system* and *extra* are templates. *api*'s fields may have messages of their own, which come first.
        Unless *as_recorded*, a question is one message, and its answer the only one between it and the next.

        Raises:
            ValueError: a text is not a template.
        """
        self._system = TextTemplate(system) if system else None
        self._extra = Template(extra)
        self.prompts: Prompts = "in place" if api.has_system_messages else "on top"
        if system:
            self.prompts = "left out"
        used = Template((system or "", extra)).names
        self.change: Changes = "never" if not used else "with the turn"
        if used and used <= CONVERSATION:
            self.change = "with the conversation"
        self._api = api
        self._as_recorded = as_recorded
        self._head: bytes | None = None

    def head(self, conversation: Conversation, request: ChatRequest, own: bool) -> bytes:
        """
        Return the part of *request*'s body before the history; *own* if no other request has the same.

        Raises:
            AdapterRefusedError: a template can't be filled in, or what comes out is not JSON.
        """
        if self._head is not None and not own:
            return self._head
        variables = template_variables(conversation, request)
        system = variables["system_prompt"] if self.prompts == "on top" else ""
        if self._system:
            system = render_template(self._system, variables)
        fields = dict(self._api.fields(system, render_template(self._extra, variables), request.parameters))
        first = fields.pop(self._api.messages, ())
        try:
            head = encode_json(fields)[:-1]
            messages = b"".join(encode_json(message) + b"," for message in first)
        except (TypeError, ValueError, RecursionError) as error:
            raise request_error(f"the body is not JSON ({error}); check its templates") from error
        head += b',"%b":[%b' % (self._api.messages.encode(), messages)
        if self.change == "never" and not own:
            self._head = head
        return head

    def encode(self, messages: Sequence[Message]) -> bytes:
        """Return *messages* with a comma after each; without the instructions that don't stand among them."""
        if self.prompts != "in place":
            told = instructions(messages)
            messages = [message for message in messages if message not in told]
        return b"".join(encode_json(message) + b"," for message in self._api.format_messages(messages))

    def encoded_exchange(self, exchange: Exchange) -> bytes:
        """Its messages with a comma after each; only instructions of an exchange without an answer."""
        asked_with, steps = exchange.asked_with, exchange.steps
        if exchange.question_only:  # OpenAI takes several questions in a row, and Anthropic makes one of them
            told = asked_with if self._as_recorded else instructions(asked_with)
            return self.encode(question_messages(exchange.question, told))
        # Several servers refuse an empty message, and two questions in a row.
        if not exchange.answer or exchange.answer.isspace():
            return self.encode(instructions(asked_with)) if asked_with else b""
        if not asked_with and not steps:
            question, answer = encode_json(exchange.question), encode_json(exchange.answer)
            return b"%b%b},%b%b}," % (USER, question, ASSISTANT, answer)
        if not self._as_recorded:
            exchange = replace(exchange, asked_with=instructions(asked_with), steps=())
        return self.encode(exchange.messages)

    def encoded_question(self, request: ChatRequest) -> bytes:
        """Return the question's messages and the steps since."""
        asked_with = request.asked_with if self._as_recorded else instructions(request.asked_with)
        return self.encode((*question_messages(request.question, asked_with), *request.steps))[:-1]


class ChatBody:
    """The bodies of one conversation, turn after turn."""

    __slots__ = ("_bodies", "_conversation", "_encoded", "_head", "_known")

    def __init__(self, bodies: ChatBodies, conversation: Conversation) -> None:
        self._bodies = bodies
        self._conversation = conversation
        self._head: bytes | None = None
        self._known: tuple[Exchange, ...] = ()
        self._encoded = b""

    def of(self, request: ChatRequest) -> bytes:
        """
        Return the body for *request*.

        Raises:
            AdapterRefusedError: a template can't be filled in, or what comes out is not JSON.
        """
        head, history = self._head, request.history
        own = bool(request.parameters) or (self._bodies.prompts == "on top" and bool(request.system_prompt))
        if head is None or own:
            head = self._bodies.head(self._conversation, request, own)
            if self._bodies.change != "with the turn" and not own:
                self._head = head
        if request.asked_with or request.steps:
            question = self._bodies.encoded_question(request)
        else:
            question = b"%b%b}" % (USER, encode_json(request.question))
        if history:
            known = self._known
            if history[: len(known)] != known:
                known, self._encoded = (), b""
            if len(history) > len(known):
                for exchange in history[len(known) :]:
                    self._encoded += self._bodies.encoded_exchange(exchange)
                self._known = history
            return b"%b%b%b]}" % (head, self._encoded, question)
        return b"%b%b]}" % (head, question)
