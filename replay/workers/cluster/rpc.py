"""
Calls between the program that plays a run and an actor: each calls methods of the other's.

Pickled, since both ends are the same program, and nobody else can reach the wire.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Coroutine
from itertools import count
from typing import Any, Protocol

from replay.core.errors import ReplayError
from replay.workers.process import WorkerFailure

END = "end"
"""The method whose call ends ``serve``; whoever served answers it with what all of it came to."""
_ANSWER, _REFUSAL = "", "!"
"""In the place of a method's name: the message is what became of a call."""


class PeerGoneError(ReplayError):
    """The process at the other end is gone."""


class Transport(Protocol):
    """Carries messages to another process and back, each once and in their order."""

    def write(self, messages: list[bytes]) -> None:
        """Send *messages*."""
        ...

    async def read(self) -> bytes | None:
        """
        The next message; None where the other end is gone.

        Raises:
            PeerGoneError: it is, and the wire knows why.
        """
        ...

    async def wait_reachable(self) -> None:
        """Return when the other end is not known to be out of reach."""
        ...

    def close(self) -> None:
        """Nothing more is sent."""
        ...

    async def finish(self) -> None:
        """Wait until the other end has all that was sent, and has closed the wire."""
        ...


class RpcConnection:
    """One end. What came in a message is looked at before the next one is; calls are then served side by
    side."""

    def __init__(self, wire: Transport, *, gone: str) -> None:
        """*gone* is what to say where the other end is no longer there."""
        self._wire = wire
        self._gone = gone
        self._numbers = count()
        self._awaited: dict[int, asyncio.Future[Any]] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._unsent: list[bytes] = []
        self._is_closed = False

    def call(self, method: str, *arguments: Any) -> asyncio.Future[Any]:
        """
        What *method* of the other end gives.

        Raises:
            PeerGoneError, ReplayError: by the future: nobody is there, or what the method raised.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._is_closed:
            answer.set_exception(PeerGoneError(self._gone))
            return answer
        number = next(self._numbers)
        self._awaited[number] = answer
        self._send(number, method, arguments)
        return answer

    def notify(self, method: str, *arguments: Any) -> None:
        """Call *method* of the other end, whatever comes of it."""
        self._send(None, method, arguments)

    def pass_on(self, messages: Any) -> None:
        """Send *messages* that ``packed`` made, or what stands for them on this wire."""
        self._write()
        self._wire.write(messages)

    def answer(self, number: int | None, value: Any) -> None:
        """*value* is what the call of that *number* gives."""
        self._send(number, _ANSWER, value)

    def refuse(self, number: int | None, error: Exception) -> None:
        """The call of that *number* raises *error*."""
        self._send(number, _REFUSAL, WorkerFailure.of(error).error)

    async def first_call(self) -> tuple[int | None, Any]:
        """Number and only argument of the other end's first call; None where it is gone before that."""
        number, _, arguments = await self._receive() or (None, None, [None])
        return number, arguments[0]

    async def serve(self, served: object) -> int | None:
        """
        Let the other end call the methods of *served* until it calls ``END`` or is gone; what is still under
        way then is cancelled.

        Returns:
            The number of that call, which is still to be answered; None where the other end is gone.
        """
        is_there = True
        try:
            while (message := await self._receive()) is not None:
                number, method, content = message
                if method == END:
                    return number
                if method in (_ANSWER, _REFUSAL):
                    self._settle(number, method, content)
                else:
                    self._serve(number, served, method, content)
            is_there = False
            return None
        except PeerGoneError as error:
            is_there, self._gone = False, str(error)
            return None
        finally:
            for task in self._serving:
                task.cancel()
            if self._serving:
                await asyncio.wait(self._serving)
            if not is_there:
                self._fail_pending()

    async def wait_reachable(self) -> None:
        """Return when the other end is not known to be out of reach."""
        await self._wire.wait_reachable()

    def close(self) -> None:
        """Nothing more is said."""
        self._write()
        self._wire.close()

    async def finish(self) -> None:
        """Say all there is to say, and wait until the other end has heard it and closed the connection."""
        self._write()
        await self._wire.finish()

    def _send(self, number: int | None, method: str, content: Any) -> None:
        if not self._unsent:  # what is said in one turn of the loop goes out together
            asyncio.get_running_loop().call_soon(self._write)
        self._unsent.append(_packed(number, method, content))

    def _write(self) -> None:
        unsent, self._unsent = self._unsent, []
        if unsent:
            self._wire.write(unsent)

    async def _receive(self) -> tuple[int | None, str, Any] | None:
        data = await self._wire.read()
        if data is None:
            return None
        message: tuple[int | None, str, Any] = pickle.loads(data)
        return message

    def _settle(self, number: int | None, how: str, content: Any) -> None:
        answer = self._awaited.pop(number) if number is not None else None
        if answer is None or answer.done():
            return
        if how == _ANSWER:
            answer.set_result(content)
        else:
            answer.set_exception(content)
            answer.exception()  # whoever waits gets it; nobody waiting is no news

    def _serve(self, number: int | None, served: object, method: str, arguments: Any) -> None:
        try:
            found = getattr(served, method)(*arguments)
        except Exception as error:  # noqa: BLE001 - the caller gets it
            self._report(number, error)
            return
        if asyncio.isfuture(found):  # made by whoever was called, and no task of ours
            found.add_done_callback(lambda done: self._report_future(number, done))
        elif isinstance(found, Coroutine):
            task = asyncio.create_task(self._report_coroutine(number, found))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        elif number is not None:
            self.answer(number, found)

    def _report_future(self, number: int | None, done: asyncio.Future[Any]) -> None:
        if done.cancelled():
            return
        if (error := done.exception()) is not None:
            assert isinstance(error, Exception)
            self._report(number, error)
        elif number is not None:
            self.answer(number, done.result())

    async def _report_coroutine(self, number: int | None, found: Coroutine[Any, Any, Any]) -> None:
        try:
            value = await found
        except Exception as error:  # noqa: BLE001 - the caller gets it
            self._report(number, error)
        else:
            if number is not None:
                self.answer(number, value)

    def _report(self, number: int | None, error: Exception) -> None:
        if number is not None:
            self.refuse(number, error)

    def _fail_pending(self) -> None:
        self._is_closed = True
        awaited, self._awaited = self._awaited, {}
        for answer in awaited.values():
            if not answer.done():
                answer.set_exception(PeerGoneError(self._gone))
                answer.exception()


def packed(method: str, *arguments: Any) -> bytes:
    """The message that calls *method*, whatever comes of it: for several lines, packed once."""
    return _packed(None, method, arguments)


def _packed(number: int | None, method: str, content: Any) -> bytes:
    return pickle.dumps((number, method, content), pickle.HIGHEST_PROTOCOL)
