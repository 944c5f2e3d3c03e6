"""The ``python`` adapter: functions, async functions and classes as systems."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replay import (
    AdapterRateLimitedError,
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
    Exchange,
    Message,
    Passage,
    ToolCall,
    Turn,
)
from replay.core.errors import PluginError, PluginNotFoundError
from replay.core.settings.plugins import build
from replay.testing import FAIL, HANG, AdapterContract
from replay_adapters.local.python import PythonAdapter
from tests.adapters.asking import reply_of
from tests.waiting import PATIENCE_S

RELEASED = threading.Event()
"""Set at the end of each test, so that no thread hangs on."""


@pytest.fixture(autouse=True)
def _release() -> Iterator[None]:
    RELEASED.clear()
    yield
    RELEASED.set()


def harbour(question: str, history: tuple[Exchange, ...], conversation: Conversation) -> str:
    if question == HANG:
        RELEASED.wait()
    if question == FAIL:
        raise LookupError("no such harbour")
    return f"{conversation.id}: {len(history)} before"


async def async_harbour(question: str, history: tuple[Exchange, ...], conversation: Conversation) -> str:
    if question == HANG:
        await asyncio.Event().wait()
    return harbour(question, history, conversation)


class Harbour:
    """Remembers by itself what was said."""

    def __init__(self, conversation: Conversation) -> None:
        self.id = conversation.id
        self.asked = 0

    def __call__(self, question: str) -> str:
        if question == HANG:
            RELEASED.wait()
        if question == FAIL:
            raise LookupError("no such harbour")
        self.asked += 1
        return f"{self.id}: {self.asked - 1} before"


class AsyncHarbour(Harbour):
    async def __call__(self, question: str) -> str:  # type: ignore[override]
        if question == HANG:
            await asyncio.Event().wait()
        return super().__call__(question)


def _adapter(function: Any, **settings: Any) -> PythonAdapter:
    """An adapter of something in this file; how it is imported makes no matter here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("replay_adapters.local.python.load_object", lambda target, folder: function)
        return PythonAdapter(target="test:function", **settings)


class TestTheContract(AdapterContract):
    @pytest.fixture(params=[harbour, async_harbour, Harbour, AsyncHarbour])
    def adapter(self, request: pytest.FixtureRequest) -> PythonAdapter:
        return _adapter(request.param, history="server" if isinstance(request.param, type) else "client")


TALK = Conversation(
    id="c",
    turns=(Turn(id="1", question="Q?", gold_answers=("gold",), standalone="Full Q?"),),
    passages=(Passage(id="p", text="One."),),
)
REQUEST = ChatRequest(question="Q?", history=(Exchange(question="A?", answer="A."),), depth=2)


async def _ask(function: Any, **settings: Any) -> ChatReply:
    return await reply_of(_adapter(function, **settings), REQUEST, TALK)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda question: question, "Q?"),
        (lambda depth, *, history: f"{depth} {history[0].answer}", "2 A."),
        (lambda question, style="plain": style, "plain"),
        (lambda request: request.question, "Q?"),
        (lambda **given: " ".join(given), "question history conversation depth request"),
        (lambda question, *more: f"{len(more)}", "0"),
        (lambda: "nothing asked", "nothing asked"),
    ],
)
async def test_a_function_is_given_what_it_has_parameters_for(function: Any, said: str) -> None:
    assert (await _ask(function)).text == said


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda text: text, 'needs "text", which it is not given .*question, history'),
        (lambda question, /: question, 'needs "question"'),
        (max, "parameters can't be read|needs"),
        ("text", "can't be called"),
    ],
)
def test_a_function_that_needs_something_else_is_refused_at_once(function: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        _adapter(function)


async def test_a_function_does_not_see_gold_answers_or_later_questions() -> None:
    seen: list[Conversation] = []
    await _ask(lambda conversation: seen.append(conversation) or "Yes.")

    assert seen == [Conversation(id="c", turns=(), passages=TALK.passages)]


@pytest.mark.parametrize(
    "returned",
    [
        {"text": "Yes.", "passages": ["One."]},
        {"answer": "Yes.", "passages": [{"id": 1, "text": "One."}], "other": 5},
        {"text": "Yes.", "passages": (Passage(id="1", text="One."),)},
        ChatReply(text="Yes.", passages=(Passage(id="1", text="One."),)),
    ],
)
async def test_passages_come_in_a_dict_or_a_reply(returned: Any) -> None:
    reply = await _ask(lambda: returned)

    assert (reply.text, reply.passages) == ("Yes.", (Passage(id="1", text="One."),))


CALL = ToolCall(id="call_2", name="find", arguments='{"n":1}')


@pytest.mark.parametrize(
    "returned",
    [
        {"tool_calls": [{"name": "find", "arguments": {"n": 1}}]},
        {"text": "", "tool_calls": [{"id": "call_2", "function": {"name": "find", "arguments": '{"n":1}'}}]},
        ChatReply(text="", tool_calls=(CALL,)),
    ],
)
async def test_calls_of_tools_need_no_text(returned: Any) -> None:
    before = Message(role="assistant", tool_calls=(ToolCall(id="a", name="find", arguments="{}"),))
    asked = ChatRequest(question="Q?", history=(), depth=1, steps=(before,))
    assert (await reply_of(_adapter(lambda: returned), asked, TALK)).tool_calls == (CALL,)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, "returned NoneType"),
        (b"Yes.", "returned bytes"),
        ("", "an empty answer"),
        (ChatReply(text=" "), "an empty answer"),
        ({"result": "Yes."}, r'without "text" or "answer" \(keys: result\)'),
        ({"text": 5}, "without"),
        ({"text": "Yes.", "passages": "One."}, "passages that are not a list"),
        ({"text": "Yes.", "passages": [5]}, "passages that are not a list"),
        ({"text": "Yes.", "tool_calls": [{}]}, "tool_calls that are not a list of calls"),
        ({"text": "Yes.", "tool_calls": "f"}, "tool_calls that are not a list of calls"),
    ],
)
async def test_anything_else_is_a_bad_reply(returned: Any, said: str) -> None:
    with pytest.raises(AdapterReplyError, match=said):
        await _ask(lambda: returned)


async def _raise(error: Exception) -> None:
    def function() -> str:
        raise error

    await _ask(function)


async def test_an_exception_is_a_refusal_with_its_type_and_message() -> None:
    said = r"\"test:function\" raised KeyError: 'k' \(test_python\.py, line \d+\)"
    with pytest.raises(AdapterRefusedError, match=said) as caught:
        await _raise(KeyError("k"))

    assert not caught.value.retryable
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    "error", [StopIteration("end"), TimeoutError("slow"), asyncio.InvalidStateError("x")]
)
async def test_exceptions_that_mean_something_to_event_loops_are_no_different(error: Exception) -> None:
    with pytest.raises(AdapterRefusedError, match=type(error).__name__):
        await _raise(error)


async def test_an_adapter_error_is_passed_on_as_it_is() -> None:
    with pytest.raises(AdapterRateLimitedError):
        await _raise(AdapterRateLimitedError("slow down", retryable=True))


async def test_a_function_may_return_something_to_wait_for() -> None:
    async def later() -> str:
        return "Yes."

    assert (await _ask(lambda: later())).text == "Yes."


async def test_functions_run_side_by_side_in_threads_of_their_own() -> None:
    together = threading.Barrier(8, timeout=PATIENCE_S)

    def function() -> str:
        together.wait()
        return threading.current_thread().name

    async with _adapter(function, threads=8) as adapter:

        async def one() -> str:
            async with adapter.session(TALK) as session:
                return (await session.ask(REQUEST)).text

        names = await asyncio.gather(*(one() for _ in range(8)))

    assert len(set(names)) == 8
    assert all(name.startswith("python-adapter") for name in names)


async def test_a_class_may_want_nothing_at_the_start() -> None:
    class Echo:
        def __call__(self, question: str) -> str:
            return question

    assert (await _ask(Echo)).text == "Q?"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "can't be called"),
        ({"__call__": lambda self, text: text}, 'needs "text"'),
        ({"__init__": lambda self: 1 / 0}, "ZeroDivisionError"),
    ],
)
async def test_an_object_that_can_not_be_asked_is_a_refusal(body: dict[str, Any], said: str) -> None:
    with pytest.raises(AdapterRefusedError, match=said):
        await _ask(type("System", (), body))


@pytest.mark.usefixtures("code_runs")
async def test_a_file_beside_the_scenario_holds_the_function(tmp_path: Path) -> None:
    (tmp_path / "system.py").write_text("def answer(question):\n    return question.upper()\n")
    adapter = build(PythonAdapter, {"target": "system.py:answer"}, folder=tmp_path)

    async with adapter, adapter.session(TALK) as session:
        assert (await session.ask(REQUEST)).text == "Q?"


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("answer", ValueError),
        ("missing.py:answer", PluginNotFoundError),
        ("no_such_module:answer", PluginNotFoundError),
        ("broken.py:answer", PluginError),
    ],
)
def test_a_target_that_can_not_be_found_is_refused_at_once(
    target: str, error: type[Exception], tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(error):
        PythonAdapter(target=target, folder=tmp_path)


def test_no_threads_are_too_few() -> None:
    with pytest.raises(ValueError, match="threads 0"):
        _adapter(harbour, threads=0)


async def test_an_adapter_is_entered_once_and_before_its_sessions() -> None:
    adapter = _adapter(harbour)
    async with adapter.session(TALK) as session:
        with pytest.raises(RuntimeError, match="enter the adapter"):
            await session.ask(REQUEST)
    async with adapter:
        with pytest.raises(RuntimeError, match="in use already"):
            await adapter.__aenter__()
