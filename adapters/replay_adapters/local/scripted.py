"""
A system that says what it is told to: given answers, delays and faults.

For testing a scenario, a policy or a report without a real system, and for rehearsing what a run does
when its system misbehaves. The same settings give the same replies, delays and faults in any order of
play: nothing is counted across conversations.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from replay import (
    CANNOT_ANSWER,
    AdapterConnectionError,
    AdapterError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    AdapterReplyError,
    AdapterTimeoutError,
    ChatReply,
    ChatRequest,
    Conversation,
    HistoryKeeper,
    Passage,
)
from replay_adapters.setting_checks import check_count

FaultKind = Literal["timeout", "hang", "connection", "rate-limited", "refused", "bad-reply"]

ANY_CONVERSATION = "*"

ERRORS: Mapping[str, type[AdapterError]] = {
    "timeout": AdapterTimeoutError,
    "connection": AdapterConnectionError,
    "rate-limited": AdapterRateLimitedError,
    "refused": AdapterRefusedError,
    "bad-reply": AdapterReplyError,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedAnswer:
    """One answer with what goes along with it."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    text: str
    delay_s: float | None = None
    """Instead of the adapter's own delay."""
    passages: tuple[Passage, ...] = ()

    def __post_init__(self) -> None:
        if self.delay_s is not None:
            _check_delay(self.delay_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedFault:
    """
    What goes wrong, and when: at every ask that fits all the conditions given.

    ``hang`` never answers, so that the caller's own deadline is what ends it; ``timeout`` reports
    one at once.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: FaultKind
    conversation: str | None = None
    depth: int | None = None
    attempt: int | None = None
    """1 for the first ask of a turn within a session."""
    every: int | None = None
    """Each so many-th ask of a session, retries counted."""
    retry_after_s: float | None = None
    status: int | None = None
    retryable: bool | None = None
    """By default a connection fault, a rate limit and a status of 408, 409 or 5xx are."""

    def __post_init__(self) -> None:
        for name in ("depth", "attempt", "every"):
            check_count(name, getattr(self, name))
        if self.retry_after_s is not None:
            _check_delay(self.retry_after_s, "retry_after_s")

    def hits(self, conversation: str, depth: int, attempt: int, count: int) -> bool:
        """Return whether it strikes the *count*-th ask of a session."""
        return (
            self.conversation in (None, conversation)
            and self.depth in (None, depth)
            and self.attempt in (None, attempt)
            and (self.every is None or count % self.every == 0)
        )

    def error(self) -> AdapterError:
        """Return the error to raise; ``hang`` has none."""
        status = self.status or 429 if self.kind == "rate-limited" else self.status
        at_the_door = self.kind in ("connection", "rate-limited")
        passing = self.kind == "refused" and status is not None and (status in (408, 409) or status >= 500)
        return ERRORS[self.kind](
            f'scripted fault "{self.kind}"',
            retryable=at_the_door or passing if self.retryable is None else self.retryable,
            reached=not at_the_door,
            retry_after_s=self.retry_after_s if self.kind in ("rate-limited", "refused") else None,
            status=status if self.kind not in ("timeout", "connection") else None,
        )


Script = list[str | ScriptedAnswer]
"""The answers of one conversation, that of depth 1 first."""


@dataclass(kw_only=True)
class ScriptedAdapter:
    """Answers from a script."""

    answers: Literal["gold", "other-gold"] | dict[str, Script] | Script | Path = "gold"
    """``gold`` (the recorded answers, CANNOTANSWER where there is none), ``other-gold`` (the second reference
    where there is one), one list for every
    conversation, a list for each conversation id (``"*"`` for all others), or a JSON or YAML file
    with either."""
    delay_s: float | tuple[float, float] = 0.0
    """The same before every reply, or evenly spread between two bounds."""
    seed: int = 0
    """Of the delays."""
    faults: Sequence[ScriptedFault] = ()
    """The first that fits an ask is played, after the delay."""
    history: HistoryKeeper = "client"
    """Who keeps the conversation."""

    def __post_init__(self) -> None:
        bounds = self.delay_s if isinstance(self.delay_s, tuple | list) else (self.delay_s, self.delay_s)
        for bound in bounds:
            _check_delay(bound)
        if bounds[0] > bounds[1]:
            raise ValueError(
                f"delay_s goes from {bounds[0]:g} down to {bounds[1]:g}; give the smaller one first"
            )
        answers = _read_answers(self.answers) if isinstance(self.answers, Path) else self.answers
        self._scripts: Mapping[str, Script] = {}
        if isinstance(answers, dict):
            self._scripts = answers
        elif not isinstance(answers, str):
            self._scripts = {ANY_CONVERSATION: answers}

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[ScriptedSession]:
        yield ScriptedSession(self, conversation)

    def answer_for(self, conversation: Conversation, depth: int) -> ScriptedAnswer:
        """
        Return the scripted answer to the turn at *depth* of *conversation*.

        Raises:
            AdapterReplyError: the script has none.
        """
        if not self._scripts and isinstance(self.answers, str):
            references = (
                conversation.turns[depth - 1].gold_answers if depth <= len(conversation.turns) else ()
            )
            other = references[1:] if self.answers == "other-gold" else ()
            return ScriptedAnswer(text=next(iter((*other, *references)), "") or CANNOT_ANSWER)
        script = self._scripts.get(conversation.id, self._scripts.get(ANY_CONVERSATION))
        if script is None:
            raise AdapterReplyError(
                f'the script has no answers for conversation "{conversation.id}"; '
                f'add them, or a list for all others under "{ANY_CONVERSATION}"'
            )
        if depth > len(script):
            raise AdapterReplyError(
                f'the script of conversation "{conversation.id}" has {len(script)} answers, '
                f"turn {depth} was asked; add answers"
            )
        entry = script[depth - 1]
        return ScriptedAnswer(text=entry) if isinstance(entry, str) else entry


class ScriptedSession:
    """One conversation with the script."""

    def __init__(self, adapter: ScriptedAdapter, conversation: Conversation) -> None:
        self._adapter = adapter
        self._conversation = conversation
        self._count = 0
        self._attempts: dict[int, int] = {}

    async def ask(self, request: ChatRequest) -> ChatReply:
        adapter, conversation = self._adapter, self._conversation
        self._count += 1
        attempt = self._attempts[request.depth] = self._attempts.get(request.depth, 0) + 1
        fault = next(
            (f for f in adapter.faults if f.hits(conversation.id, request.depth, attempt, self._count)), None
        )
        answer = None if fault else adapter.answer_for(conversation, request.depth)
        delay_s = (
            answer.delay_s if answer and answer.delay_s is not None else self._delay_s(request.depth, attempt)
        )
        if delay_s:
            await asyncio.sleep(delay_s)
        if fault is not None:
            if fault.kind == "hang":
                await asyncio.get_running_loop().create_future()
            raise fault.error()
        assert answer is not None
        return ChatReply(text=answer.text, passages=answer.passages)

    def _delay_s(self, depth: int, attempt: int) -> float:
        if not isinstance(self._adapter.delay_s, tuple | list):
            return self._adapter.delay_s
        low, high = self._adapter.delay_s
        # Drawn from what is asked and not from one stream, which would give each conversation other
        # delays whenever another one overtakes it.
        place = f"{self._adapter.seed}/{self._conversation.id}/{depth}/{attempt}"
        return random.Random(place).uniform(low, high)


def _check_delay(value: float, name: str = "delay_s") -> None:
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} {value} is not a number of seconds, 0 or more")


def _read_answers(path: Path) -> dict[str, Script] | Script:
    """
    Raises:
        ValueError: the file can't be read or holds something else than answers.
    """
    import yaml
    from pydantic import TypeAdapter, ValidationError

    try:
        text = path.read_text(encoding="utf-8-sig")
        value: Any = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ValueError(f"answers: {path} can't be read: {error}") from error
    kind: TypeAdapter[dict[str, Script] | Script] = TypeAdapter(dict[str, Script] | Script)
    try:
        return kind.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(
            f"answers: {path}: {first['msg']}; expected a list of answers, "
            "or such a list for each conversation id"
        ) from error
