"""Who knows what a call of a tool comes to."""

from __future__ import annotations

import asyncio
import json
import sys
import threading

import pytest

from replay.core.conversation import Conversation, Turn
from replay.core.errors import ToolLoopError
from replay.core.message import Message, ToolCall
from replay.play.tool_results import (
    ANY,
    CallPlace,
    FunctionResults,
    ListedResult,
    ListedResults,
    RecordedResults,
    Tools,
    result_text,
)


def call(name="find", arguments=None, id="x"):
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return ToolCall(id=id, name=name, arguments=text)


def cancelled(name, arguments):
    raise asyncio.CancelledError


async def cancelled_later(name, arguments):
    raise asyncio.CancelledError


def turn(*pairs, ids=None):
    """A turn in which each call of (name, arguments) came to a result."""
    steps = []
    for number, (name, arguments, result) in enumerate(pairs):
        id = ids[number] if ids else f"r{number}"
        steps += [
            Message(role="assistant", tool_calls=(call(name, arguments, id),)),
            Message(role="tool", text=result, tool_call_id=id),
        ]
    return Turn(id="t", question="q", steps=tuple(steps))


def place(*turns, depth=1, before=()):
    return CallPlace(conversation=Conversation(id="c", turns=turns or (turn(),)), depth=depth, before=before)


def listed(arguments, match="subset"):
    return ListedResults(results=(ListedResult(name="find", arguments=arguments, text="hit"),), match=match)


@pytest.mark.parametrize(
    ("listed_arguments", "given", "subset", "exact"),
    [
        ({"id": 7}, {"id": 7}, True, True),
        ({"id": 7}, {"id": 7.0}, True, True),
        ({"id": 1}, {"id": True}, False, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, True),
        ({"id": 7}, {"id": 7, "more": 1}, True, False),
        ({"in": {"id": 7}}, {"in": {"id": 7, "more": 1}}, True, False),
        ({"ids": [1]}, {"ids": [1, 2]}, False, False),
        ({"ids": [{"id": 1}]}, {"ids": [{"id": 1, "more": 2}]}, True, False),
        ({"id": 7}, {}, False, False),
        ({}, {"id": 7}, True, False),
        (ANY, {"id": 7}, True, True),
        ("no JSON", "no JSON", True, True),
        (ANY, "no JSON", True, True),
    ],
)
async def test_listed_arguments_are_compared_as_json_values(listed_arguments, given, subset, exact):
    for match, fits in (("subset", subset), ("exact", exact)):
        found = await listed(listed_arguments, match).result(call(arguments=given), place())
        assert found == ("hit" if fits else None)
    assert await listed(ANY).result(call("other"), place()) is None


async def test_the_first_listed_result_that_fits_counts():
    results = [ListedResult(name="find", arguments=a, text=t) for a, t in (({"id": 1}, "one"), (ANY, "any"))]
    source = ListedResults(results=tuple(results))
    assert await source.result(call(arguments={"id": 1}), place()) == "one"
    assert await source.result(call(arguments={"id": 2}), place()) == "any"


RECORDED = RecordedResults()


async def test_a_recorded_result_is_found_by_its_arguments_in_this_turn_and_then_in_others():
    first = turn(("find", {"id": 1}, "one"), ("find", {"id": 2}, "two"))
    second = turn(("find", {"id": 1}, "one, later"))
    assert await RECORDED.result(call(arguments={"id": 2}), place(first, second)) == "two"
    assert await RECORDED.result(call(arguments={"id": 1}), place(first, second, depth=2)) == "one, later"
    assert await RECORDED.result(call(arguments={"id": 2}), place(first, second, depth=2)) == "two"


async def test_the_same_call_again_gets_what_it_got_when_it_was_recorded_again():
    here = place(turn(("find", {}, "pending"), ("find", {}, "done")))
    before = []
    for expected in ("pending", "done", "done"):
        again = CallPlace(conversation=here.conversation, depth=1, before=tuple(before))
        assert await RECORDED.result(call(), again) == expected
        before.append(call())


async def test_arguments_in_other_words_get_the_results_in_their_order_and_not_more_of_them():
    here = turn(("find", {"name": "Ann"}, "A"), ("find", {"name": "Bob"}, "B"), ("cancel", {}, "ok"))
    before = ()
    for expected in ("A", "B", None):
        found = await RECORDED.result(call(arguments={"name": "?"}), place(here, before=before))
        assert found == expected
        before += (call(arguments={"name": "?"}),)
    assert await RECORDED.result(call("unheard"), place(here)) is None
    assert await RECORDED.result(call(arguments={"name": "?"}), place(turn(), here)) is None, "another turn's"


async def test_recorded_calls_without_a_result_or_with_one_id_for_all_are_no_trouble():
    unanswered = Turn(
        id="t", question="q", steps=(Message(role="assistant", tool_calls=(call(), call("cancel", id="y"))),)
    )
    assert await RECORDED.result(call(), place(unanswered)) is None
    same_ids = turn(("find", {"id": 1}, "one"), ("find", {"id": 2}, "two"), ids=["", ""])
    assert await RECORDED.result(call(arguments={"id": 2}), place(same_ids)) == "two"


def plain(name, arguments):
    return {"thread": threading.current_thread() is threading.main_thread(), "got": [name, arguments]}


async def waiting(name, arguments):
    await asyncio.sleep(0)
    return f"{name} {arguments['id']}"


async def test_a_function_is_asked_with_name_and_arguments_async_or_in_a_thread():
    one = call(arguments={"id": 3})
    found = await FunctionResults(function=plain, target="t.py:f").result(one, place())
    assert json.loads(found) == {"thread": False, "got": ["find", {"id": 3}]}
    assert await FunctionResults(function=waiting, target="t.py:f").result(one, place()) == "find 3"
    nothing = FunctionResults(function=lambda name, arguments: None, target="t.py:f")
    assert await nothing.result(one, place()) is None


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda name, arguments: arguments["order"], "KeyError: 'order' (test_tool_results.py, line"),
        (lambda name, arguments: {1, 2}, "set is no JSON value"),
        (lambda name, arguments: float("nan"), "ValueError"),
        (lambda name, arguments: next(iter(())), "StopIteration"),
        (cancelled, "it raised CancelledError"),
        (cancelled_later, "it raised CancelledError"),
        (lambda name, arguments: sys.exit("no"), "it raised SystemExit"),
    ],
)
async def test_a_function_that_fails_is_named_with_the_call(function, said):
    source = FunctionResults(function=function, target="t.py:f")
    with pytest.raises(ToolLoopError) as failure:
        await source.result(call(arguments={"id": 3}), place())
    assert '"t.py:f" fails for find({"id": 3})' in str(failure.value)
    assert said in str(failure.value)


async def test_a_function_that_never_returns_holds_nobody_up_who_gave_it_up():
    never = threading.Event()
    source = FunctionResults(function=lambda name, arguments: never.wait(), target="t.py:f")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(source.result(call(), place()), 0.01)
    never.set()


async def test_sources_are_asked_in_their_order():
    class Says:
        signature = "says"

        def __init__(self, text):
            self.text = text

        async def result(self, call, place):
            return self.text

    assert await Tools(sources=(Says(None), Says("b"), Says("c"))).result(call(), place()) == "b"
    assert await Tools(sources=(Says(None), Says(""))).result(call(), place()) == "", "an empty result is one"


def test_a_result_is_a_text_or_json():
    assert result_text("as it is") == "as it is"
    assert result_text({"é": [1, None, True]}) == '{"é": [1, null, true]}'
    with pytest.raises(ValueError, match="object is no JSON value"):
        result_text(object())


def test_a_signature_tells_all_that_may_move_a_result():
    def one(name="find", arguments=ANY, text="a"):
        return (ListedResult(name=name, arguments=arguments, text=text),)

    kinds = [
        Tools(sources=()),
        Tools(sources=(), missing="a"),
        Tools(sources=(), missing="b"),
        Tools(sources=(), max_steps=3),
        Tools(sources=(), timeout_s=3),
        Tools(sources=(RECORDED,)),
        Tools(sources=(FunctionResults(function=plain, target="t.py:f"),)),
        *(
            Tools(sources=(ListedResults(results=results, match=match),))
            for match in ("subset", "exact")
            for results in (one(), one("other"), one(arguments=None), one(arguments="any"), one(text="b"))
        ),
    ]
    assert len({tools.signature for tools in kinds}) == len(kinds)
    assert kinds[6].signature == "function:t.py:f|missing:error|max_steps:10|timeout_s:300"
