"""Calls of tools, over every chat API: how they are read, whole and in pieces, and how they are sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given, strategies as st
from msgspec.structs import replace

from replay import AdapterReplyError, ChatReply, ChatRequest, Conversation, Exchange, Message, ToolCall
from replay_adapters.chat.anthropic import AnthropicAdapter
from replay_adapters.chat.called_tools import CallPieces
from replay_adapters.chat.endpoint import ChatAdapter
from replay_adapters.chat.openai import OpenAIAdapter
from replay_adapters.http.redaction import Secrets
from replay_adapters.http.reply import HttpReply
from tests.adapters.servers import answering, event, streamed

TALK = Conversation(id="c", turns=())
REQUEST = ChatRequest(question="Q?", history=(), depth=1)
APIS = ("chat", "responses", "anthropic")


def _adapter(api: str, address: str, **more: Any) -> ChatAdapter:
    if api == "anthropic":
        return AnthropicAdapter(base_url=address, model="m", **more)
    return OpenAIAdapter(base_url=address, model="m", api=api, **more)  # type: ignore[arg-type]


async def _asked(
    api: str, answer: Any, request: ChatRequest = REQUEST, **more: Any
) -> tuple[ChatReply, Mapping[str, Any]]:
    """The reply, where the server answers with *answer* (events, if it is a tuple), and what was sent."""
    sent: list[Mapping[str, Any]] = []

    async def handler(got: web.Request) -> web.StreamResponse:
        sent.append(await got.json())
        return await streamed(got, *answer) if isinstance(answer, tuple) else web.json_response(answer)

    async with (
        answering(handler) as address,
        _adapter(api, address, stream=isinstance(answer, tuple), **more) as adapter,
        adapter.session(TALK) as session,
    ):
        reply = await session.ask(request)
    return reply, sent[0]


ORDER = ToolCall(id="t1", name="find_order", arguments='{"order": 17}')
STOCK = ToolCall(id="t2", name="stock", arguments="{}")


def _function(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _item(call: ToolCall) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _use(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.parsed_arguments}


def _chunk(*calls: dict[str, Any], **delta: Any) -> bytes:
    return event(json.dumps({"choices": [{"delta": {"tool_calls": [*calls], **delta}}]}))


TEXT_ITEM = {"type": "message", "content": [{"type": "output_text", "text": "Let me see."}]}
WHOLE = {
    "chat": {
        "choices": [
            {"message": {"content": "Let me see.", "tool_calls": [_function(ORDER), _function(STOCK)]}}
        ]
    },
    "responses": {"output": [TEXT_ITEM, _item(ORDER), _item(STOCK)], "status": "completed"},
    "anthropic": {"content": [{"type": "text", "text": "Let me see."}, _use(ORDER), _use(STOCK)]},
}
DONE = event("[DONE]")
PIECES = {
    "chat": (
        _chunk(content="Let me see."),
        _chunk({"index": 0, "id": "t1", "function": {"name": "find_order", "arguments": ""}}),
        _chunk({"index": 0, "function": {"arguments": '{"order"'}}),
        _chunk({"index": 1, "id": "t2", "function": {"name": "stock", "arguments": ""}}),
        _chunk({"index": 0, "function": {"arguments": ": 17}"}}),
        event({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
        DONE,
    ),
    "responses": (
        event({"type": "response.output_text.delta", "delta": "Let me see."}),
        *(
            event({"type": "response.output_item.added", "output_index": n, "item": item | {"arguments": ""}})
            for n, item in ((1, _item(ORDER)), (2, _item(STOCK)))
        ),
        *(
            event({"type": "response.function_call_arguments.delta", "output_index": n, "delta": piece})
            for n, piece in ((1, '{"order"'), (2, "{}"), (1, ": 17}"))
        ),
        event({"type": "response.output_item.done", "output_index": 1, "item": _item(ORDER)}),
        event({"type": "response.completed", "response": WHOLE["responses"]}),
    ),
    "anthropic": (
        event({"type": "content_block_delta", "index": 0, "delta": {"text": "Let me see."}}),
        event({"type": "content_block_start", "index": 1, "content_block": _use(ORDER) | {"input": {}}}),
        event({"type": "content_block_delta", "index": 1, "delta": {"partial_json": '{"order"'}}),
        event({"type": "content_block_start", "index": 2, "content_block": _use(STOCK)}),
        event({"type": "content_block_delta", "index": 1, "delta": {"partial_json": ": 17}"}}),
        event({"type": "content_block_delta", "index": 2, "delta": {"partial_json": ""}}),
        event({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        event({"type": "message_stop"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("answers", [WHOLE, PIECES], ids=["whole", "streamed"])
@pytest.mark.parametrize("api", APIS)
async def test_calls_are_read_with_the_text_beside_them(api: str, answers: Mapping[str, Any]) -> None:
    reply, _ = await _asked(api, answers[api])

    assert reply.text == "Let me see."
    assert [(call.id, call.name, call.parsed_arguments) for call in reply.tool_calls] == [
        ("t1", "find_order", {"order": 17}),
        ("t2", "stock", {}),
    ]


FIRST, SECOND = (ToolCall(id=f"call_{n}", name="stock", arguments="{}") for n in (4, 5))
ODD = {
    "the kind before calls were listed": (
        "chat",
        {"choices": [{"message": {"function_call": {"name": "stock", "arguments": ""}}}]},
        [FIRST],
    ),
    "its pieces": (
        "chat",
        (
            *(
                event({"choices": [{"delta": {"function_call": part}}]})
                for part in ({"name": "find_order"}, {"arguments": '{"order"'}, {"arguments": ": 17}"})
            ),
            DONE,
        ),
        [ToolCall(id="call_4", name="find_order", arguments='{"order": 17}')],
    ),
    "no ids, and arguments as an object": (
        "chat",
        {"choices": [{"message": {"content": None, "tool_calls": [
            {"function": {"name": "find_order", "arguments": {"order": 17}}}, {"function": {"name": "stock"}},
        ]}}]},
        [ToolCall(id="call_4", name="find_order", arguments='{"order":17}'), SECOND],
    ),
    "an event that isn't as documented": (
        "chat",
        (_chunk(content=5), _chunk({"index": 0, "id": "t2", "function": {"name": "stock"}}), DONE),
        [STOCK],
    ),
    "every call has index 0": (
        "chat",
        (_chunk({"index": 0, **_function(ORDER)}), _chunk({"index": 0, **_function(STOCK)}), DONE),
        [ORDER, STOCK],
    ),
    "no index and no ids": (
        "chat",
        (_chunk({"function": {"name": "stock"}}, {"function": {"name": "stock"}}), DONE),
        [FIRST, SECOND],
    ),
    "the id in every piece": (
        "chat",
        (*(_chunk({"index": 0, "id": "t1", "function": {"name": "find_order", "arguments": piece}})
           for piece in ('{"order"', ": 17}")), DONE),
        [ORDER],
    ),
    "only at the end": (
        "responses", (event({"type": "response.completed", "response": WHOLE["responses"]}),), [ORDER, STOCK],
    ),
    "all arguments at the block's start": (
        "anthropic",
        (event({"type": "content_block_start", "index": 0, "content_block": _use(ORDER)}),
         event({"type": "message_stop"})),
        [ToolCall(id="t1", name="find_order", arguments='{"order":17}')],
    ),
    "half a character in each of two pieces": (
        "chat",
        (_chunk({"index": 0, "id": "t1", "function": {"name": "find_order", "arguments": '"\ud83d'}}),
         _chunk({"index": 0, "function": {"arguments": '\ude00"'}}), DONE),
        [ToolCall(id="t1", name="find_order", arguments='"😀"')],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
async def test_calls_are_read_as_servers_have_them(kind: str) -> None:
    api, answer, expected = ODD[kind]
    # The next call without an id is the fourth of its turn.
    before = Message(role="assistant", tool_calls=(ORDER, STOCK, ORDER))
    reply, _ = await _asked(api, answer, ChatRequest(question="Q?", history=(), depth=1, steps=(before,)))

    assert list(reply.tool_calls) == expected
    assert not reply.text.strip()


STEPS = (
    Message(role="assistant", text="Let me see.", tool_calls=(ORDER, STOCK)),
    Message(role="tool", tool_call_id="t1", text="sent", name="find_order"),
    Message(role="tool", tool_call_id="t2", text="none"),
)
ASKED = ChatRequest(
    question="And now?", history=(Exchange(question="Where?", answer="On its way.", steps=STEPS),), depth=2
)
SENT = {
    "chat": [
        {"role": "assistant", "content": "Let me see.", "tool_calls": [_function(ORDER), _function(STOCK)]},
        {"role": "tool", "content": "sent", "tool_call_id": "t1", "name": "find_order"},
        {"role": "tool", "content": "none", "tool_call_id": "t2"},
    ],
    "responses": [
        {"role": "assistant", "content": "Let me see."},
        _item(ORDER),
        _item(STOCK),
        {"type": "function_call_output", "call_id": "t1", "output": "sent"},
        {"type": "function_call_output", "call_id": "t2", "output": "none"},
    ],
    "anthropic": [
        {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, _use(ORDER), _use(STOCK)]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "sent"},
                {"type": "tool_result", "tool_use_id": "t2", "content": "none"},
            ],
        },
    ],
}


@pytest.mark.parametrize("api", APIS)
async def test_steps_are_sent_between_question_and_answer_and_after_the_question(api: str) -> None:
    asked = ChatRequest(question=ASKED.question, history=ASKED.history, depth=2, steps=STEPS, runs_tools=True)
    _, body = await _asked(api, WHOLE[api], asked)

    messages, many = body["input" if api == "responses" else "messages"], len(SENT[api]) + 3
    first, *steps, answer, question = messages[:many]
    assert (first, answer, question) == (
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": "On its way."},
        {"role": "user", "content": "And now?"},
    )
    assert steps == SENT[api]
    assert messages[many:] == SENT[api]


def _said(role: str, text: str) -> Message:
    return Message(role=role, text=text)  # type: ignore[arg-type]


UNANSWERED = ToolCall(id="t3", name="hang_up", arguments="{}")
WORDED = ChatRequest(
    question="And\nnow?",
    history=(
        Exchange(
            question="Hi.\nWhere?",
            answer="Here.",
            asked_with=(
                *(_said("assistant", "Hello!"), _said("user", "Hi.")),
                *(_said("developer", "Brief."), _said("user", "Where?")),
            ),
            steps=(
                *(_said("assistant", "I look."), *STEPS, _said("system", "Kind.")),
                Message(role="assistant", tool_calls=(UNANSWERED,)),
            ),
        ),
    ),
    asked_with=(_said("user", "And"), _said("user", "now?"), _said("system", "Quick.")),
    depth=2,
)  # fmt: skip
QUICK = {"role": "system", "content": "Quick."}


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_all_stands_where_it_stood(api: str) -> None:
    _, body = await _asked(api, WHOLE[api], WORDED)

    assert body["input" if api == "responses" else "messages"] == [
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "Hi."},
        {"role": "developer", "content": "Brief."},
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": "I look."},
        *SENT[api],
        {"role": "system", "content": "Kind."},
        {"role": "assistant", "content": "Here."},
        {"role": "user", "content": "And"},
        {"role": "user", "content": "now?"},
        QUICK,
    ]


async def test_anthropic_is_sent_what_it_takes() -> None:
    """A user's message first, one message a role, and instructions outside of them."""
    _, body = await _asked("anthropic", WHOLE["anthropic"], WORDED)
    texts = [
        [{"type": "text", "text": text} for text in pair] for pair in (("Hi.", "Where?"), ("And", "now?"))
    ]
    (called, *results) = SENT["anthropic"]

    assert body["system"] == "Brief.\n\nKind.\n\nQuick."
    assert body["messages"] == [
        {"role": "user", "content": texts[0]},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, *called["content"]]},
        *results,
        {"role": "assistant", "content": "Here."},
        {"role": "user", "content": texts[1]},
    ]


@pytest.mark.parametrize("api", APIS)
async def test_a_server_that_knows_only_questions_and_answers_in_turn_gets_no_more(api: str) -> None:
    """Instructions have a setting of their own; the steps of this turn are there since it called for them."""
    _, body = await _asked(api, WHOLE[api], replace(WORDED, steps=STEPS), as_recorded=False)
    told = [{"role": "developer", "content": "Brief."}, QUICK] if api != "anthropic" else []

    assert body["input" if api == "responses" else "messages"] == [
        *told[:1],
        {"role": "user", "content": "Hi.\nWhere?"},
        {"role": "assistant", "content": "Here."},
        *told[1:],
        {"role": "user", "content": "And\nnow?"},
        *SENT[api],
    ]


async def test_what_only_another_api_takes_is_made_to_fit() -> None:
    """Ids have other characters there, arguments are objects, and no text is blank."""
    odd = ToolCall(id="functions.f:0", name="f", arguments="[1]")
    steps = (
        Message(role="assistant", text=" ", tool_calls=(odd,)),
        Message(role="tool", tool_call_id="functions.f:0", text="1"),
        Message(role="assistant", text=" "),
    )
    asked = ChatRequest(question="Q?", history=(), depth=1, steps=steps)
    _, body = await _asked("anthropic", WHOLE["anthropic"], asked)

    call = {"type": "tool_use", "id": "functions_f_0", "name": "f", "input": {"arguments": [1]}}
    result = {"type": "tool_result", "tool_use_id": "functions_f_0", "content": "1"}
    assert body["messages"][1:] == [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["", "t1", "f", '{"a":', "\ud83d"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["index", "id", "name", "arguments", "function", "input"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@given(st.lists(st.tuples(*[ANYTHING] * 5), max_size=6))
def test_pieces_of_any_kind_are_calls_with_names_or_none(pieces: list[Any]) -> None:
    found = CallPieces()
    for index, id, name, piece, arguments in pieces:
        found.take(index, id=id, name=name, piece=piece, arguments=arguments)

    for call in found.whole(after=0):
        assert call.name
        assert call.id
        assert call.arguments.strip()


@given(ANYTHING)
def test_a_reply_with_odd_calls_always_has_an_outcome(odd: Any) -> None:
    item = odd if isinstance(odd, dict) else {"name": odd}
    answers: dict[str, list[Any]] = {
        "chat": [
            {"choices": [{"message": {"content": None, "tool_calls": odd, "function_call": odd}}]},
            [{"choices": [{"delta": {"tool_calls": odd, "function_call": odd}, "finish_reason": "stop"}]}],
        ],
        "responses": [
            {"output": [{**item, "type": "function_call"}]},
            [
                {"type": "response.output_item.added", "output_index": odd, "item": odd},
                {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": odd},
                {"type": "response.completed", "response": {"output": odd}},
            ],
        ],
        "anthropic": [
            {"content": [{"type": "tool_use", "name": "f", "input": odd}, odd]},
            [
                {"type": "content_block_start", "index": odd, "content_block": {**item, "type": "tool_use"}},
                {"type": "content_block_delta", "index": 0, "delta": {"partial_json": odd}},
                {"type": "message_stop"},
            ],
        ],
    }
    for api, (whole, events) in answers.items():
        for stream, body in (
            (False, json.dumps(whole).encode()),
            (True, b"".join(event(json.dumps(one)) for one in events)),
        ):
            adapter = _adapter(api, "http://127.0.0.1", stream=stream)
            reply = HttpReply(
                place="POST", status=200, headers={}, reads=[body], read_at=[0.0], sent=0.0, first_byte=0.0,
                secrets=Secrets({}),
            )  # fmt: skip
            # Without the net that lies under a reply: its parts are looked at one by one.
            with suppress(AdapterReplyError):
                assert adapter._read(reply, REQUEST).tool_calls
