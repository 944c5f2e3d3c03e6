"""Calls of tools, over every chat API: how they are read, whole and in pieces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from replay import AdapterReplyError, ChatRequest, Message, ToolCall
from replay_adapters.chat.streamed_answer import CallPieces
from replay_adapters.http.reply import HttpReply, Secrets
from tests.adapters.asking import FIRST as REQUEST
from tests.adapters.chat.speaking import (
    APIS,
    ORDER,
    STOCK,
    WHOLE,
    adapter_of,
    asked_of,
    function_json,
    item_json,
    use_json,
)
from tests.adapters.servers import event


def _chunk(*calls: dict[str, Any], **delta: Any) -> bytes:
    return event(json.dumps({"choices": [{"delta": {"tool_calls": [*calls], **delta}}]}))


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
            for n, item in ((1, item_json(ORDER)), (2, item_json(STOCK)))
        ),
        *(
            event({"type": "response.function_call_arguments.delta", "output_index": n, "delta": piece})
            for n, piece in ((1, '{"order"'), (2, "{}"), (1, ": 17}"))
        ),
        event({"type": "response.output_item.done", "output_index": 1, "item": item_json(ORDER)}),
        event({"type": "response.completed", "response": WHOLE["responses"]}),
    ),
    "anthropic": (
        event({"type": "content_block_delta", "index": 0, "delta": {"text": "Let me see."}}),
        event({"type": "content_block_start", "index": 1, "content_block": use_json(ORDER) | {"input": {}}}),
        event({"type": "content_block_delta", "index": 1, "delta": {"partial_json": '{"order"'}}),
        event({"type": "content_block_start", "index": 2, "content_block": use_json(STOCK)}),
        event({"type": "content_block_delta", "index": 1, "delta": {"partial_json": ": 17}"}}),
        event({"type": "content_block_delta", "index": 2, "delta": {"partial_json": ""}}),
        event({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        event({"type": "message_stop"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("answers", [WHOLE, PIECES], ids=["whole", "streamed"])
@pytest.mark.parametrize("api", APIS)
async def test_calls_are_read_with_the_text_beside_them(api: str, answers: Mapping[str, Any]) -> None:
    reply, _ = await asked_of(api, answers[api])

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
        (_chunk({"index": 0, **function_json(ORDER)}), _chunk({"index": 0, **function_json(STOCK)}), DONE),
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
        (event({"type": "content_block_start", "index": 0, "content_block": use_json(ORDER)}),
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
    reply, _ = await asked_of(api, answer, ChatRequest(question="Q?", history=(), depth=1, steps=(before,)))

    assert list(reply.tool_calls) == expected
    assert not reply.text.strip()


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
            adapter = adapter_of(api, "http://127.0.0.1", stream=stream)
            reply = HttpReply(
                place="POST", status=200, headers={}, reads=[body], read_at=[0.0], sent=0.0, first_byte=0.0,
                secrets=Secrets({}),
            )  # fmt: skip
            # Without the net that lies under a reply: its parts are looked at one by one.
            with suppress(AdapterReplyError):
                assert adapter._read(reply, REQUEST)[0].tool_calls
