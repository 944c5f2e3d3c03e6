"""
A Python callable as a system: a chain, a pipeline, a model in this process, or ten lines of a stub.

It runs in our own process with all our rights; a scenario that names one is as trusted as a program.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from msgspec.structs import replace

from replay import (
    AdapterError,
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
    HistoryKeeper,
    Message,
    ToolCall,
    load_object,
    match_results,
    tool_call_in,
)
from replay_adapters.json_reply import passages_of, steps_of
from replay_adapters.setting_checks import check_count

T = TypeVar("T")
_UNREAD: dict[str, Any] = {}
if sys.version_info >= (3, 14):
    from annotationlib import Format

    # Annotations are lazy there, and one may name what exists for type checkers alone.
    _UNREAD["annotation_format"] = Format.STRING

ARGUMENTS = ("question", "history", "conversation", "depth", "request")
"""What a callable is given, each if it has a parameter of that name."""

CLASS_ARGUMENTS = ("conversation",)


@dataclass(kw_only=True)
class PythonAdapter:
    """Calls a function, or one object per conversation, for each question."""

    target: str
    """``module:function`` or ``file.py:function``. A class is called once for each session, and what
    it returns for each question."""
    folder: Path = Path()
    """Where the file's path starts from."""
    history: HistoryKeeper = "client"
    """``server``: the target remembers what was said, by itself or in one object per session."""
    threads: int = 32
    """Calls of a function that isn't async run at the same time at most."""

    @property
    def local_code(self) -> str:
        """Named by `replay validate`, since a scenario from somebody else then runs code here."""
        return self.target

    @property
    def unsent_system_prompts(self) -> str | None:
        if "request" in self._names:
            return None
        return "a parameter request of the target has them, in request.messages"

    @property
    def takes_seed(self) -> bool:
        """Return whether the target has a parameter ``request``, and so sees ``request.seed``."""
        return "request" in self._names

    def __post_init__(self) -> None:
        if ":" not in self.target:
            raise ValueError(f'target "{self.target}" is not "module:function" or "file.py:function"')
        check_count("threads", self.threads)
        target = load_object(self.target, self.folder)
        if not callable(target):
            raise ValueError(f'target "{self.target}" is {type(target).__name__}, which can\'t be called')
        allowed = CLASS_ARGUMENTS if inspect.isclass(target) else ARGUMENTS
        self._names = _accepted_names(target, allowed, self.target)
        self._target = target
        self._pool: ThreadPoolExecutor | None = None

    async def __aenter__(self) -> Self:
        if self._pool is not None:
            raise RuntimeError("this adapter is in use already; build one for each run")
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="python-adapter")
        return self

    async def __aexit__(self, *_: object) -> None:
        # Not waited for: Python has no way to end a thread, and a function that never returns must
        # not keep the run from ending.
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[PythonSession]:
        # The turns hold gold answers and what is asked later; neither is the system's to see.
        seen = replace(conversation, turns=())
        target, names = self._target, self._names
        if inspect.isclass(target):
            given = {"conversation": seen} if names else {}
            target = await self.call(target, given)
            if not callable(target):
                raise AdapterRefusedError(
                    f'an object of "{self.target}" can\'t be called; give the class a method __call__'
                )
            try:
                names = _accepted_names(target, ARGUMENTS, self.target)
            except ValueError as error:
                raise AdapterRefusedError(str(error)) from error
        yield PythonSession(self, target, names, seen)

    async def call(self, function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
        """
        Return the result of *function*, called with the arguments *given* and awaited if need be.

        A plain function runs in a thread of the adapter's own pool.

        Raises:
            AdapterRefusedError: it raised an exception other than an ``AdapterError``.
        """
        if self._pool is None:
            raise RuntimeError("enter the adapter (async with adapter) before its first session")
        try:
            if _is_async(function):
                return await function(**given)
            # As asyncio.to_thread, but in threads that nobody else waits for.
            context = contextvars.copy_context()
            call = functools.partial(context.run, _outcome, function, given)
            returned, error = await asyncio.get_running_loop().run_in_executor(self._pool, call)
            if error is not None:
                raise error
            return await returned if inspect.isawaitable(returned) else returned
        except AdapterError:
            raise
        except Exception as error:  # whatever a stranger's code raises
            raise AdapterRefusedError(
                f'"{self.target}" raised {type(error).__name__}: {error}{_where(error)}'
            ) from error


@dataclass(frozen=True, slots=True)
class PythonSession:
    """One conversation with the callable."""

    adapter: PythonAdapter
    target: Callable[..., Any]
    names: tuple[str, ...]
    conversation: Conversation

    async def ask(self, request: ChatRequest) -> ChatReply:
        given = {
            "question": request.question,
            "history": request.history,
            "conversation": self.conversation,
            "depth": request.depth,
            "request": request,
        }
        returned = await self.adapter.call(self.target, {name: given[name] for name in self.names})
        return _reply(returned, self.adapter.target, request.steps)


def _outcome(
    function: Callable[..., Any], given: Mapping[str, Any]
) -> tuple[Any, None] | tuple[None, Exception]:
    try:
        return function(**given), None
    except Exception as error:  # noqa: BLE001 - handed over; not raised, since no future can hold StopIteration
        return None, error


def _where(error: Exception) -> str:
    """On which line of the function's own file it came up, in brackets; empty where it has no line."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename != __file__]
    if not frames:
        return ""
    *_, deepest = (one for one in frames if one.filename == frames[0].filename)
    return f" ({Path(deepest.filename).name}, line {deepest.lineno})"


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(type(function), "__call__", None)  # noqa: B004 - the function itself is wanted
    )


def _accepted_names(function: Callable[..., Any], offered: tuple[str, ...], target: str) -> tuple[str, ...]:
    """
    Return the names of the *offered* arguments that *function* takes.

    Raises:
        ValueError: it needs another one, or its parameters can't be read.
    """
    try:
        parameters = inspect.signature(function, **_UNREAD).parameters.values()
    except (TypeError, ValueError) as error:
        raise ValueError(f'target "{target}": its parameters can\'t be read: {error}') from error
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return offered
    by_name = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for parameter in parameters:
        needed = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL
        if needed and (parameter.name not in offered or parameter.name not in by_name):
            raise ValueError(
                f'target "{target}" needs "{parameter.name}", which it is not given '
                f"(by name it can have: {', '.join(offered)})"
            )
    return tuple(name for name in offered if name in by_name)


def _reply(returned: Any, target: str, steps: Sequence[Message]) -> ChatReply:
    """
    Return the reply that *returned* stands for; calls without ids are numbered on from those of *steps*.

    Raises:
        AdapterReplyError: *returned* is no answer.
    """
    if isinstance(returned, ChatReply):
        reply = returned
    elif isinstance(returned, str):
        reply = ChatReply(text=returned)
    elif isinstance(returned, Mapping):
        calls = _read_list(returned, "tool_calls", _tool_calls, "calls, by name", target)
        calls = match_results((*steps, Message(role="assistant", tool_calls=calls)))[-1].tool_calls
        text = returned.get("text", returned.get("answer", "" if calls else None))
        if not isinstance(text, str):
            keys = ", ".join(map(str, returned)) or "none"
            raise AdapterReplyError(f'"{target}" returned a dict without "text" or "answer" (keys: {keys})')
        texts = "texts or dicts with id, text or title"
        passages = _read_list(returned, "passages", passages_of, texts, target)
        made = _read_list(returned, "steps", steps_of, "calls of tools, by name, and their results", target)
        reply = ChatReply(text=text, tool_calls=calls, passages=passages, steps=made)
    else:
        raise AdapterReplyError(
            f'"{target}" returned {type(returned).__name__}, not a str, a dict with "text" or a ChatReply'
        )
    if not reply.text.strip() and not reply.tool_calls:
        raise AdapterReplyError(f'"{target}" returned an empty answer')
    return reply


def _read_list(
    returned: Mapping[str, Any],
    name: str,
    read: Callable[[Sequence[Any]], tuple[T, ...] | None],
    kind: str,
    target: str,
) -> tuple[T, ...]:
    """
    Return the list *name* in what *target* has *returned*, as *read* reads it; empty where there is none.

    Raises:
        AdapterReplyError: it is no list of *kind*.
    """
    listed = returned.get(name) or ()
    found = read(listed) if isinstance(listed, list | tuple) else None
    if found is None:
        raise AdapterReplyError(f'"{target}" returned {name} that are not a list of {kind}')
    return found


def _tool_calls(listed: Sequence[Any]) -> tuple[ToolCall, ...] | None:
    calls = tuple(call for call in map(tool_call_in, listed) if call is not None)
    return calls if len(calls) == len(listed) else None
