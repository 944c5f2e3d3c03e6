"""What the templates of adapters may use of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_OID, uuid5

from replay.core.adapter import ChatRequest
from replay.core.asking.templating import EACH_MESSAGE
from replay.core.message import message_fields

if TYPE_CHECKING:
    from replay.core.conversation import Conversation


class _Variables(Mapping[str, Any]):
    """What a template may use; each is made when it is first asked for, since few templates use all."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Mapping[str, Callable[[], Any]]) -> None:
        self._make = make
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._make[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._make

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._make if name != EACH_MESSAGE)

    def __len__(self) -> int:
        return len(self._make) - 1


def template_variables(
    conversation: Conversation, request: ChatRequest | None = None, *, session_id: str | None = None
) -> Mapping[str, Any]:
    """
    Return the variables that a template may use for a request, or for opening or closing a session.

    ``question``, ``depth``, ``history`` (objects with ``question`` and ``answer``; the answer is empty where
    the view hides it), ``messages`` (the whole request as Chat Completions messages, with recorded
    instructions and tool calls), ``system_prompt`` (the instructions up to the question, separated by blank
    lines), ``conversation`` (``id``, ``title``, ``section``, ``background``), ``passage`` (all passages,
    separated by blank lines), ``passages`` (objects with ``id``, ``title``, ``text``), ``session_id``,
    ``user_id`` (one for all sessions of a played conversation, never used again), ``seed`` (None unless the
    scenario says ``play.seed_per_repeat``) and ``traceparent`` (None unless it has ``telemetry``). Gold
    answers and standalone questions are not among them. Within ``{each: ...}`` there is also ``message``:
    ``id``, ``role``, ``content``, ``tool_calls``, ``tool_call_id`` and ``name``.

    Args:
        conversation: The conversation that is replayed.
        request: The request to send; None when a session is opened or closed. The question is then empty.
        session_id: The id of the session, if it has one.

    Returns:
        A mapping from name to value; a value is computed when it is first read.
    """
    asked = ChatRequest(question="", history=(), depth=1) if request is None else request
    return _Variables(
        {
            "question": lambda: asked.question,
            "depth": lambda: asked.depth,
            "history": lambda: [{"question": e.question, "answer": e.answer} for e in asked.history],
            "messages": lambda: list(map(message_fields, asked.messages)),
            "system_prompt": lambda: asked.system_prompt,
            "conversation": lambda: {
                "id": conversation.id,
                "title": conversation.title,
                "section": conversation.section,
                "background": conversation.background,
            },
            "passage": lambda: "\n\n".join(p.text for p in conversation.passages),
            "passages": lambda: [
                {"id": p.id, "title": p.title, "text": p.text} for p in conversation.passages
            ],
            "session_id": lambda: session_id,
            "user_id": lambda: conversation.user or conversation.id,
            "seed": lambda: asked.seed,
            "traceparent": lambda: asked.traceparent,
            EACH_MESSAGE: lambda: _each_message(asked, session_id or conversation.id),
        }
    )


def _each_message(request: ChatRequest, session: str) -> list[dict[str, Any]]:
    """
    Return the messages of *request* with all fields that one of them may have, and ids.

    A message has the same id in each request of a *session* whose history only grows, and no two have the
    same: there are servers that put them into a database by it, or together with those they know.
    """
    first = request.depth - len(request.history)
    none = dict.fromkeys(("tool_calls", "tool_call_id", "name"))
    return [
        {"id": str(uuid5(NAMESPACE_OID, f"{session} {first} {number}")), **none, **message_fields(message)}
        for number, message in enumerate(request.messages)
    ]
