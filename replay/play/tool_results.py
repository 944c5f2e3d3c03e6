"""
Where the results of a system's tool calls come from: a list, the conversation as it was recorded, a function.

A source that doesn't know a call says None, and the next one is asked.
"""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import inspect
import json
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from replay.core.conversation import Conversation
from replay.core.decoding import holds_json, same_json
from replay.core.errors import ToolLoopError
from replay.core.message import Message, ToolCall
from replay.core.settings.plugin_bugs import describe_error


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPlace:
    """Where in its conversation a tool is called."""

    conversation: Conversation
    depth: int
    before: Sequence[ToolCall]
    """The calls that this turn's question has led to so far."""


class ToolSource(Protocol):
    """Knows the results of some calls."""

    @property
    def signature(self) -> str:
        """Return what identifies the source and so its results, as in ``function:tools.py:answer``."""
        ...

    async def result(self, call: ToolCall, place: CallPlace) -> str | None:
        """
        Return the result of *call* as text; None if this source does not know it.

        Raises:
            ToolLoopError: it can't be found out.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a system's calls of tools come to, and how long it may go on calling."""

    sources: tuple[ToolSource, ...]
    """Asked one after another."""
    missing: str | None = None
    """The result of a call that no source knows; None fails the turn."""
    max_steps: int = 10
    """Asks of a turn at most, retries not counted."""
    timeout_s: float = 300.0
    """For a turn with all its asks and calls."""

    @property
    def signature(self) -> str:
        """Return the sources' signatures, the default result, and a turn's limits on steps and time."""
        missing = "error" if self.missing is None else _hash(self.missing)
        known = [*(source.signature for source in self.sources), f"missing:{missing}"]
        return "|".join([*known, f"max_steps:{self.max_steps}", f"timeout_s:{self.timeout_s:g}"])

    async def result(self, call: ToolCall, place: CallPlace) -> str:
        """
        Return the result of *call* from the first source that knows it, else the default result.

        Raises:
            ToolLoopError: no source knows it and there is no default, or a source failed.
        """
        for source in self.sources:
            found = await source.result(call, place)
            if found is not None:
                return found
        if self.missing is None:
            raise ToolLoopError(
                f"it calls {describe_call(call)}, and nothing knows the result; add it to tools.results, or "
                "say with tools.missing what such a call comes to"
            )
        return self.missing


def describe_call(call: ToolCall) -> str:
    """Return *call* in short, as in ``find_order({"id": 7})``."""
    arguments = call.arguments if len(call.arguments) <= 300 else f"{call.arguments[:300]} ..."
    return f"{call.name[:100]}({arguments})"


def result_text(result: Any) -> str:
    """
    Return *result* as text for a system: a text as it is, all else as JSON.

    Raises:
        ValueError: it is no JSON value.
    """
    if isinstance(result, str):
        return result
    try:
        return json.dumps(result, ensure_ascii=False, allow_nan=False)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"{type(result).__name__} is no JSON value: {error}") from error


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:12]}"


class AnyArguments:
    """In the place of arguments: whatever they are."""


ANY = AnyArguments()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedResult:
    """What calls of a tool come to."""

    name: str
    arguments: Any
    """A JSON value, or ``ANY``."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedResults:
    """Results by name and arguments; the first that fits counts."""

    results: tuple[ListedResult, ...]
    match: Literal["subset", "exact"] = "subset"

    @property
    def signature(self) -> str:
        listed = [
            [one.name, None if one.arguments is ANY else [one.arguments], one.text] for one in self.results
        ]
        return f"results:{len(listed)},{_hash(listed)},{self.match}"

    async def result(self, call: ToolCall, place: CallPlace) -> str | None:
        given = call.parsed_arguments
        fits = holds_json if self.match == "subset" else same_json
        for one in self.results:
            if one.name == call.name and (one.arguments is ANY or fits(given, one.arguments)):
                return one.text
        return None


@dataclass(frozen=True, slots=True)
class RecordedResults:
    """
    What calls came to when the conversation was recorded.

    By name and arguments: in the turn itself, else in any other one. Else by name alone, in the turn's order:
    a system that writes its arguments in other words gets the results that were recorded.
    """

    @property
    def signature(self) -> str:
        return "recorded"

    async def result(self, call: ToolCall, place: CallPlace) -> str | None:
        turns = place.conversation.turns
        here = _recorded_results(turns[place.depth - 1].steps, call.name)
        anywhere = [one for turn in turns for one in _recorded_results(turn.steps, call.name)]
        given = call.parsed_arguments
        for found in (here, anywhere):
            same = [text for arguments, text in found if same_json(arguments, given)]
            if same:
                asked = sum(
                    one.name == call.name and same_json(one.parsed_arguments, given) for one in place.before
                )
                return same[min(asked, len(same) - 1)]
        position = sum(one.name == call.name for one in place.before)
        return here[position][1] if position < len(here) else None


def _recorded_results(steps: Sequence[Message], name: str) -> list[tuple[Any, str]]:
    """Return arguments and result of each recorded call of the tool *name*, in order."""
    results: dict[str | None, list[Message]] = {}
    for message in steps:
        if message.role == "tool":
            results.setdefault(message.tool_call_id, []).append(message)
    found = []
    for call in (call for message in steps for call in message.tool_calls):
        # An id that comes twice stands for its results in their order.
        if results.get(call.id):
            text = results[call.id].pop(0).text
            if call.name == name:
                found.append((call.parsed_arguments, text))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionResults:
    """
    What a Python function says, which is called with the tool's name and the arguments as a JSON value.

    It may be ``async``; if it isn't, it is called in a thread. One that returns None doesn't know the call.
    """

    function: Callable[[str, Any], Any]
    target: str
    """How the scenario calls it."""

    @property
    def signature(self) -> str:
        return f"function:{self.target}"

    async def result(self, call: ToolCall, place: CallPlace) -> str | None:
        try:
            found = await _call_function(self.function, call.name, call.parsed_arguments)
            return None if found is None else result_text(found)
        except Exception as error:
            raise ToolLoopError(
                f'"{self.target}" fails for {describe_call(call)}: {describe_error(error)}'
            ) from error


async def _call_function(function: Callable[..., Any], *arguments: Any) -> Any:
    if inspect.iscoroutinefunction(function):
        return await _await_result(function(*arguments))
    found = await _in_thread(lambda: function(*arguments))
    return await _await_result(found) if inspect.isawaitable(found) else found


async def _await_result(result: Awaitable[Any]) -> Any:
    task = asyncio.current_task()
    assert task is not None
    try:
        return await result
    except asyncio.CancelledError as error:
        if task.cancelling():
            raise
        raise _handed_over(error) from error  # its own, which would pass for the end of the run


def _handed_over(error: BaseException) -> Exception:
    """Return *error*, or what says that it was raised where it would mean something else here."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):  # which no future can hold
        return error
    return RuntimeError(f"it raised {type(error).__name__}")


def _in_thread(work: Callable[[], Any]) -> asyncio.Future[Any]:
    """
    Return a future with the result of *work*, called in a new daemon thread.

    Nothing joins that thread: Python can't end a thread, and a function that never returns must keep neither
    the loop nor the program from ending, as it would in the loop's default pool.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(found: Any, error: BaseException | None) -> None:
        if future.done():  # cancelled
            return
        if error is None:
            future.set_result(found)
        else:
            future.set_exception(_handed_over(error))

    def run() -> None:
        found: Any = None
        failure: BaseException | None = None
        try:
            found = context.run(work)
        except BaseException as error:  # noqa: BLE001 - handed over: a thread that dies of it settles nothing
            failure = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, found, failure)

    threading.Thread(target=run, name="tool-function", daemon=True).start()
    return future
