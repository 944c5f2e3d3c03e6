"""
A question taken through a system's calls of tools to its end.

The system is asked; it calls tools; it is asked again with their results behind the question, and so on
until it answers. Several calls of one reply are looked up in their order, one after another, so that a
function that remembers things meets them in the same order each time.

Where the policy's user follows the answer up (``follow_ups``), that answer becomes a step as well, and what
is said to it, and the loop goes on with an exchange more, which has asks and times of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec.structs import replace

from replay.core.adapter import ChatReply, ChatRequest, WireTimes
from replay.core.asking.costs import Prices, cost_usd
from replay.core.conversation import Conversation
from replay.core.errors import AdapterError, AdapterTimeoutError, ToolLoopError
from replay.core.message import Message, ToolCall
from replay.core.record import Intervention, ServerTimes, Step, Usage
from replay.play.tool_results import CallPlace, Tools, describe_call

Ask = Callable[[ChatRequest, int], Awaitable[tuple[ChatReply | AdapterError, int, WireTimes]]]
"""Asks, with retries, after so many attempts of the turn; gives its own attempts, and the last's times. No
attempt: the reply came from a cache."""
Keep = Callable[[int, Step], Awaitable[None]]
"""To be awaited until the step of that number, from 0, is durable."""


class ToolLoop:
    """What a turn's question came to, and all that this took."""

    # Most turns are one ask, and under load each line counts: what all begin with is set here, once.
    outcome: ChatReply | AdapterError
    """Set once it was asked, or where an earlier session had a reply that a user was about to follow up."""
    attempts: int = 0
    asks: int = 0
    is_resumed: bool = False
    exchange_start: int = 0
    """The place of the first step of the exchange under way; 0 in a turn of one."""
    _first_sent: float | None = None
    _exchange_asks: int = 0
    """Asks before the exchange under way."""
    _exchange_sent: float | None = None
    _ask: WireTimes | None = None
    """The last ask, where it ended the turn."""
    _asking_since: float | None = None
    _last_attempts: int = 0
    _server: ServerTimes | None = None
    """Of the exchange's asks together, where each reply said something."""

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        prices: Prices | None = None,
        begun: Sequence[Step] = (),
        keep: Keep | None = None,
    ) -> None:
        """*begun* is what an earlier session of the run came to; *prices* are for replies without costs."""
        self._clock = clock
        self._prices = prices
        self._keep = keep
        self._steps = list(begun)
        if begun:
            self._resume()

    def _resume(self) -> None:
        """Take up what the steps of an earlier session came to."""
        self.is_resumed = True
        self.attempts = sum(step.attempts for step in self._steps)
        self.asks = sum(step.is_reply for step in self._steps)
        # The time in which nobody was there is left out: the turn goes on as if its last step had just come.
        self._first_sent = self._clock() - self._steps[-1].times_s[1]
        self.exchange_start = max(
            (n for n, step in enumerate(self._steps, 1) if step.intervention), default=0
        )
        self._exchange_asks = sum(step.is_reply for step in self._steps[: self.exchange_start])
        if (reply := self.reply_to_follow_up) is not None:
            self.outcome = reply

    async def ask(self, ask: Ask, request: ChatRequest) -> None:
        """Ask once, whatever comes of it."""
        if steps := self._steps[self.exchange_start :]:
            request = replace(request, steps=tuple([step.message for step in steps]))
        self.outcome, attempts, self._ask = await ask(request, self.attempts)
        self.asks += 1
        self.attempts += attempts
        self._last_attempts = attempts
        if self._first_sent is None:
            self._first_sent = self._ask.sent
        if self._exchange_sent is None and self.exchange_start:
            self._exchange_sent = self._ask.sent
        server = self._ask.server
        if self.asks - self._exchange_asks > 1:  # most turns are one ask
            server = self._server.plus(server) if self._server and server else None
        self._server = server

    async def run(
        self, ask: Ask, request: ChatRequest, tools: Tools | None, conversation: Conversation
    ) -> None:
        """Ask, and ask again with the results of the tools that are called, until there is an outcome."""
        if tools is None:
            await self.ask(ask, request)
            return
        elapsed_s = self._elapsed_s
        try:
            async with asyncio.timeout(max(0.0, tools.timeout_s - elapsed_s)) as turns_time:
                while await self._go_on(ask, request, tools, conversation):
                    pass
        except ToolLoopError as error:
            self.outcome = error
        except TimeoutError as error:
            if not turns_time.expired():  # a plug-in's own
                raise
            self._timed_out(tools, error)

    async def _go_on(self, ask: Ask, request: ChatRequest, tools: Tools, conversation: Conversation) -> bool:
        """Ask once, after doing what the last reply called for; return whether there is more to do."""
        calls = self._unanswered_calls
        asks = self.asks - self._exchange_asks
        if calls and asks >= tools.max_steps:
            raise ToolLoopError(
                f"it was asked {asks} times in this turn and still calls {describe_call(calls[0])}; raise "
                "tools.max_steps if it may take more, or see by its steps whether it goes in circles"
            )
        for call in calls:
            place = CallPlace(conversation=conversation, depth=request.depth, before=self._looked_up)
            began = self._since_sent(self._clock())
            text = await tools.result(call, place)
            message = Message(role="tool", text=text, tool_call_id=call.id, name=call.name)
            await self._add(Step(message=message, times_s=(began, self._since_sent(self._clock()))))
        self._asking_since = self._clock()
        await self.ask(ask, request)
        self._asking_since = None
        reply = self.outcome
        if isinstance(reply, AdapterError) or not reply.tool_calls:
            return False
        asked, self._ask = self._ask, None
        await self._add_reply(reply, asked)
        return True

    @property
    def _elapsed_s(self) -> float:
        """Seconds that the exchange under way has taken in an earlier session of the run."""
        if len(self._steps) <= max(0, self.exchange_start):
            return 0.0
        began_s = self._steps[self.exchange_start - 1].times_s[1] if self.exchange_start else 0.0
        return self._steps[-1].times_s[1] - began_s

    @property
    def reply_to_follow_up(self) -> ChatReply | None:
        """The reply that an earlier session of the run ended with, before anything was said to it."""
        last = self._steps[-1] if self._steps else None
        if last is None or not last.is_reply or last.message.tool_calls:
            return None
        return ChatReply(text=last.message.text, usage=last.usage, cost_usd=last.cost_usd)

    async def set_aside(self) -> None:
        """Make the answer a step, durable before anything is said to it; a failed ask leaves none."""
        if self.reply_to_follow_up is not None or isinstance(self.outcome, AdapterError):
            return
        await self._add_reply(replace(self.outcome, tool_calls=()), self._ask)

    def take_back(self) -> None:
        """Let the answer that was set aside be the turn's after all."""
        if self.reply_to_follow_up is not None:
            self._last_attempts = self._steps.pop().attempts
            assert isinstance(self.outcome, ChatReply)
            self.outcome = replace(self.outcome, steps=())  # which are steps already

    async def follow_up(self, said: Intervention) -> None:
        """Begin an exchange with what a user said."""
        now_s = self._since_sent(self._clock())
        message = Message(role="user", text=said.said or "")
        await self._add(Step(message=message, times_s=(now_s, now_s), intervention=said))
        self.exchange_start, self._exchange_asks = len(self._steps), self.asks
        self._exchange_sent = self._ask = None

    @property
    def follow_ups(self) -> tuple[Intervention, ...]:
        """Return what a user said in the turn so far, in order."""
        return tuple([step.intervention for step in self._steps if step.intervention])

    async def _add_reply(self, reply: ChatReply, asked: WireTimes | None) -> None:
        """Add *reply*, which came of the ask at these times, with the steps that it brings."""
        assert asked is not None
        times_s = self._since_sent(asked.sent), self._since_sent(asked.done)
        for message in reply.steps:
            await self._add(Step(message=message, times_s=times_s))
        message = Message(role="assistant", text=reply.text, tool_calls=reply.tool_calls)
        await self._add(
            Step(
                message=message,
                times_s=times_s,
                is_reply=True,
                attempts=self._last_attempts,
                usage=reply.usage,
                cost_usd=cost_usd(reply, self._prices),
            )
        )

    async def _add(self, step: Step) -> None:
        self._steps.append(step)
        if self._keep is not None:
            await self._keep(len(self._steps) - 1, step)

    def _timed_out(self, tools: Tools, error: TimeoutError) -> None:
        if self._asking_since is not None:
            self.asks += 1
            self.attempts += 1  # at least: how often it was tried again is not known
            self._ask = WireTimes(sent=self._asking_since, done=self._clock())
        self.outcome = AdapterTimeoutError(
            f"no answer within {tools.timeout_s:g} s, in which it was asked {self.asks} times and called "
            f"{len(self._looked_up)} tools; raise tools.timeout_s if the turn may take longer"
        )
        self.outcome.__cause__ = error

    def _since_sent(self, moment: float) -> float:
        assert self._first_sent is not None
        return moment - self._first_sent

    @property
    def _unanswered_calls(self) -> Sequence[ToolCall]:
        """Calls of the last reply that have no result yet."""
        for position in range(len(self._steps) - 1, self.exchange_start - 1, -1):
            if self._steps[position].is_reply:
                return self._steps[position].message.tool_calls[len(self._steps) - 1 - position :]
        return ()

    @property
    def _looked_up(self) -> Sequence[ToolCall]:
        """The calls that have a result."""
        calls = [call for step in self._steps if step.is_reply for call in step.message.tool_calls]
        return calls[: len(calls) - len(self._unanswered_calls)]

    @property
    def steps(self) -> tuple[Message, ...]:
        """All messages since the question, without the answer."""
        return tuple([step.message for step in self._steps])

    @property
    def step_times_s(self) -> tuple[tuple[float, float], ...]:
        """Return ``TurnRecord.step_times_s``; of a turn with several exchanges, since the last one began."""
        if not self._steps:
            return ()
        times = [step.times_s for step in self._steps]
        if self._ask is not None:
            times.append((self._since_sent(self._ask.sent), self._since_sent(self._ask.done)))
        if self._exchange_sent is not None:
            shift = self._since_sent(self._exchange_sent)
            times = [(begin - shift, end - shift) for begin, end in times]
        return tuple(times)

    @property
    def is_cached(self) -> bool:
        """Return whether a reply came from a cache: the times are not the system's then."""
        if isinstance(self.outcome, ChatReply) and not self._last_attempts:
            return True
        return bool(self._steps) and any(step.is_reply and not step.attempts for step in self._steps)

    @property
    def times(self) -> WireTimes:
        """From the first ask's sending to the last one's end; of several exchanges, in the last one."""
        last = self._ask or WireTimes(sent=0.0, done=self._clock())
        sent = self._first_sent if self._exchange_sent is None else self._exchange_sent
        return last if sent is None or sent == last.sent else replace(last, sent=sent, server=self._server)

    @property
    def _spent_last(self) -> tuple[Usage | None, float | None] | None:
        """The same of the reply that ended the turn; None where none did."""
        reply = self.outcome
        if not isinstance(reply, ChatReply):
            return None
        return reply.usage, _spent(cost_usd(reply, self._prices), self._last_attempts)

    @property
    def spent(self) -> tuple[Usage | None, float | None]:
        """
        Return the tokens and the USD that all replies cost together.

        Returns:
            Usage and cost, each None if one of the replies does not say. Replies from a cache cost nothing.
        """
        last = self._spent_last
        if not self._steps:
            return last or (None, None)
        replies = [step for step in self._steps if step.is_reply]
        replied = [(step.usage, _spent(step.cost_usd, step.attempts)) for step in replies]
        if last is not None:
            replied.append(last)
        usages = [usage or Usage() for usage, _ in replied]
        counts = {name: _sum([getattr(one, name) for one in usages]) for name in Usage.__struct_fields__}
        usage = Usage(**counts)
        return None if usage == Usage() else usage, _sum([cost for _, cost in replied])


def _spent(cost: float | None, attempts: int) -> float | None:
    return 0.0 if cost is not None and not attempts else cost


def _sum(numbers: Sequence[Any]) -> Any:
    return None if not numbers or None in numbers else sum(numbers)
