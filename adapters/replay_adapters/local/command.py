"""
A program on this machine, in any language, that reads a JSON line for each question and prints one.

One process for each conversation, or one for all of them, in which lines carry the conversation's id. No
shell is started; the program runs with all our rights, so a scenario that names one is as trusted as it.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self
from uuid import uuid4

from replay import (
    AdapterConnectionError,
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
    HistoryKeeper,
    Template,
    WireTimes,
)
from replay_adapters.http.reply import ReceivedText, decode_json
from replay_adapters.http.request import question_variables
from replay_adapters.json_reply import ReplyPath
from replay_adapters.local.command_process import CommandProcess, secrets_in, spawn
from replay_adapters.setting_checks import (
    check_count,
    check_seconds,
    check_variables,
    unsent_system_prompts,
    uses_seed,
)

MEBIBYTE = 1024 * 1024
PASSING = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Of errors in starting a program, those that may pass."""
SEND = {"question": "{{question}}", "history": "{{history}}", "conversation": "{{session_id}}"}


@dataclass(kw_only=True)
class CommandAdapter:
    """A local program."""

    command: tuple[str, ...]
    """Program and arguments. ``python`` is the Python that runs us; a program with a slash in its name is
    looked up from the scenario's folder, where it is also run."""
    folder: Path = Path()
    per: Literal["conversation", "run"] = "conversation"
    """How long a process lives."""
    history: HistoryKeeper = "client"
    """``server``: the program remembers what was said."""
    send: Any = field(default_factory=lambda: dict(SEND))
    """Template of the JSON value in a line to the program. ``session_id`` tells conversations apart."""
    answer: str = "answer"
    """JMESPath of the answer in the line it prints."""
    passages: str | None = None
    """JMESPath of the passages it used: texts, or objects with id, text or title."""
    steps: str | None = None
    """JMESPath of the tools that it says it called before it answered: messages of Chat Completions,
    or objects with name, arguments and perhaps result."""
    error: str = "error"
    """JMESPath of the reason in a line that says that it can't answer."""
    conversation: str = "conversation"
    """JMESPath of the ``session_id`` that a line answers to. Where it gives nothing, lines answer in the
    order of the questions."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """More environment variables, besides our own."""
    grace_s: float = 2.0
    """How long it may take to end when its stdin is closed, and again when it is told to."""
    max_line_bytes: int = 16 * MEBIBYTE
    """The longest line that is read."""

    @property
    def local_code(self) -> str:
        """Named by `replay validate`, since a scenario from somebody else then runs code here."""
        return shlex.join(self.command)

    def __post_init__(self) -> None:
        check_variables(self.send, "send")
        check_seconds("grace_s", self.grace_s)
        check_count("max_line_bytes", self.max_line_bytes)
        if self.per == "run" and "session_id" not in repr(self.send):
            raise ValueError(
                "send: one process for all conversations needs {{session_id}} to tell them apart"
            )
        named = ("answer", "passages", "steps", "error", "conversation")
        self._paths = {name: ReplyPath(getattr(self, name), name) for name in named}
        self._command = _resolve_program(self.command, self.folder)
        self._send = Template(self.send)
        self._shared = ProcessPool(self)

    @property
    def unsent_system_prompts(self) -> str | None:
        return unsent_system_prompts(self.send, where="send")

    @property
    def takes_seed(self) -> bool:
        """Return whether a template sends the seed."""
        return uses_seed(self.send)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._shared.close()

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[CommandSession]:
        keeper = self._shared if self.per == "run" else ProcessPool(self)
        try:
            yield CommandSession(self, keeper, conversation)
        finally:
            if self.per == "conversation":
                await keeper.close()

    async def start(self) -> CommandProcess:
        """
        Return a new process.

        Raises:
            AdapterConnectionError: it can't be started.
        """
        # A Python program's prints otherwise stay in a buffer while we wait for them.
        always = {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
        environment, place = {**always, **os.environ, **self.environment}, f'"{self.local_code}"'
        try:
            process, watched = await spawn(
                self._command, self.folder.resolve(), environment, self.max_line_bytes
            )
        except (OSError, ValueError) as error:
            passing = isinstance(error, OSError) and error.errno in PASSING
            step = "play fewer conversations at a time" if passing else "check that it can be run by hand"
            raise AdapterConnectionError(
                f"{place} can't be started ({error}); {step}", retryable=passing, reached=False
            ) from error
        return CommandProcess(
            process=process,
            watched=watched,
            place=place,
            read=self._value_and_key,
            max_line_bytes=self.max_line_bytes,
            grace_s=self.grace_s,
            secrets=secrets_in(environment),
        )

    def line(self, conversation: Conversation, request: ChatRequest, session_id: str) -> bytes:
        """Return the line that asks *request*."""
        variables = question_variables(conversation, request, self.history, session_id)
        try:
            return json.dumps(self._send.render(variables)).encode() + b"\n"
        except (TypeError, ValueError) as error:
            raise AdapterRefusedError(f"the question can't be put: {error}", reached=False) from error

    def reply_in(self, line: ReceivedText, value: Any, sent: float) -> ChatReply:
        """
        Return the program's answer in *line*.

        Args:
            line: The line.
            value: Its JSON.
            sent: When the question was sent.

        Raises:
            AdapterRefusedError: it says that it can't answer.
            AdapterReplyError: there is no usable answer in it.
        """
        reason = self._paths["error"].find(line, value)
        if reason is not None and reason is not False and reason != "":
            raise AdapterRefusedError(f"{line.place} says that it can't answer: {line.excerpt()}")
        return ChatReply(
            text=self._paths["answer"].text(line, value),
            passages=self._paths["passages"].passages(line, value),
            steps=self._paths["steps"].steps(line, [value]),
            times=WireTimes(sent=sent, done=line.at),
            raw=line.content,
        )

    def _value_and_key(self, line: ReceivedText) -> tuple[Any, str | None]:
        try:
            value = decode_json(line.content)
        except ValueError as error:
            raise AdapterReplyError(
                f"{line.place} printed a line that can't be read as JSON ({error}): {line.excerpt()}; "
                "let it print answers only, and logs to stderr"
            ) from error
        key = self._paths["conversation"].find(line, value)
        return value, key if self.per == "run" and isinstance(key, str) else None


class ProcessPool:
    """The process of a conversation, or of a run: started when it is needed, again when it is gone."""

    def __init__(self, adapter: CommandAdapter) -> None:
        self._adapter = adapter
        self._process: CommandProcess | None = None
        self._starting = asyncio.Lock()
        self._ending: set[asyncio.Task[None]] = set()

    async def process(self) -> CommandProcess:
        """
        Return a process that can be asked.

        Raises:
            AdapterReplyError: the one before went out of step when nobody waited for it.
            AdapterConnectionError: none can be started.
        """
        async with self._starting:
            last = self._process
            if last is not None and not last.usable:
                self.drop()
                if isinstance(last.failure, AdapterReplyError) and not last.told:
                    raise last.failure
            if self._process is None:
                self._process = await self._adapter.start()
            return self._process

    def drop(self) -> None:
        """Have the process ended, without waiting for it."""
        process, self._process = self._process, None
        if process is not None:
            ending = process.end()
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """End all that was started, and wait for it."""
        self.drop()
        try:
            while self._ending:
                await asyncio.wait(self._ending)
        finally:
            for ending in self._ending:  # only if the wait itself was cancelled
                ending.cancel()
            while self._ending:
                await asyncio.wait(self._ending)


class CommandSession:
    """One conversation with the program."""

    def __init__(self, adapter: CommandAdapter, keeper: ProcessPool, conversation: Conversation) -> None:
        self._adapter = adapter
        self._keeper = keeper
        self._conversation = conversation
        # A fresh id, not the conversation's: several policies play the same conversation at a time.
        self._session_id = uuid4().hex
        self._remembers: CommandProcess | None = None

    async def ask(self, request: ChatRequest) -> ChatReply:
        process = await self._keeper.process()
        self._check_memory(process)
        line = self._adapter.line(self._conversation, request, self._session_id)
        try:
            answer, value, sent = await process.ask(line, self._session_id)
        except asyncio.CancelledError:
            self._given_up(process)
            raise
        return self._adapter.reply_in(answer, value, sent)

    def _check_memory(self, process: CommandProcess) -> None:
        if self._adapter.history == "client":
            return
        if self._remembers not in (None, process):
            why = (self._remembers and self._remembers.failure) or "it was ended by us"
            raise AdapterConnectionError(
                f'"{self._adapter.local_code}", started anew, does not remember this conversation: {why}',
                reached=False,
            )
        self._remembers = process

    def _given_up(self, process: CommandProcess) -> None:
        """After a question that the program may never answer, or answer too late."""
        if self._adapter.history == "client":
            # So that a late answer can't be taken for one to the next question.
            self._session_id = uuid4().hex
        # A process that answers in order is stuck with that question; others may still wait for one that
        # serves all conversations, and one that names them can go on without it.
        if self._adapter.per == "conversation" or not (process.waited_for or process.names_keys):
            process.end(stuck=True)


def _resolve_program(command: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """
    Return *command* with its program's whole path.

    Raises:
        ValueError: there is no such program.
    """
    if not command or not command[0]:
        raise ValueError("command: names no program; write it as a list, as in [python, bot.py]")
    program, *arguments = command
    if program == "python":
        path: str | None = sys.executable
        if arguments and arguments[0].endswith(".py") and not (folder / arguments[0]).is_file():
            raise ValueError(f'command: there is no file "{folder / arguments[0]}"')
    elif "/" in program or os.sep in program:
        path = shutil.which((folder / program).resolve())
        if path is None:
            raise ValueError(f'command: there is no program "{folder / program}" that can be run')
    else:
        path = shutil.which(program)
        if path is None:
            raise ValueError(
                f'command: there is no program "{program}" on the PATH (for one beside the scenario, '
                f'write "./{program}")'
            )
    return (path or program, *arguments)
