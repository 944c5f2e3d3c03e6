"""
What every judge must keep, as tests: subclass, give the fixtures ``judge`` and ``good``, and they run.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from replay.core.adapter import ChatReply
from replay.core.errors import AdapterRateLimitedError, AdapterReplyError, AdapterTimeoutError
from replay.scorers.judges.judge import Case, Judge
from replay.scorers.scorer import Unscored
from tests.scorers.judges.samples import case

Replying = Callable[[str, str], ChatReply]
"""Takes step and prompt; may raise."""


class RecordingAsk:
    """An ``Ask`` that replies as it is told and remembers what it was asked."""

    def __init__(self, reply: Replying) -> None:
        self.reply = reply
        self.asked: list[tuple[str, Mapping[str, Any], int]] = []

    async def __call__(
        self, step: str, prompt: str, *, parameters: Mapping[str, Any], sample: int = 0, once: bool = False
    ) -> ChatReply:
        self.asked.append((prompt, parameters, sample))
        return self.reply(step, prompt)


def always(text: str) -> Replying:
    """The same reply to everything."""
    return lambda step, prompt: ChatReply(text=text)


class JudgeContract:
    """Subclasses are called ``Test...``; the answers of ``case()`` must be worth asking about."""

    garbage = ("", "...", "Je ne sais pas.", "{", "<html>502</html>", "☃ \ud800 ☃")

    @pytest.fixture
    def judge(self) -> Judge:
        raise NotImplementedError("say which judge is tested")

    @pytest.fixture
    def good(self) -> Replying:
        """Replies that give every output a value."""
        raise NotImplementedError("say what it can read")

    @pytest.fixture
    def judged(self) -> Case:
        return case(2)

    def test_it_is_a_judge(self, judge):
        assert isinstance(judge, Judge)
        names = [output.name for output in judge.outputs]
        assert names
        assert len(set(names)) == len(names)

    def test_the_signature_is_one_word_and_stays(self, judge):
        judge.plan(case(2))

        assert judge.signature == judge.signature
        assert not any(character.isspace() for character in judge.signature)

    async def test_a_good_reply_gives_every_output_a_number(self, judge, good, judged):
        opinion = await judge.opinion(judged, RecordingAsk(good))

        assert set(opinion.values) == {output.name for output in judge.outputs}
        assert all(math.isfinite(value) for value in opinion.values.values())

    async def test_evidence_is_json(self, judge, good, judged):
        opinion = await judge.opinion(judged, RecordingAsk(good))

        assert json.loads(json.dumps(msgspec.to_builtins(opinion.evidence), allow_nan=False)) is not None

    @pytest.mark.parametrize(
        "error", [AdapterTimeoutError("slow"), AdapterRateLimitedError("busy"), AdapterReplyError("empty")]
    )
    async def test_a_failed_ask_is_a_reason_and_never_a_number(self, judge, judged, error):
        def fail(step, prompt):
            raise error

        opinion = await judge.opinion(judged, RecordingAsk(fail))

        assert set(opinion.values.values()) == {Unscored(reason=f"judge {error.outcome}")}

    async def test_what_cant_be_read_is_a_reason_and_never_a_number(self, judge, judged):
        for text in self.garbage:
            opinion = await judge.opinion(judged, RecordingAsk(always(text)))
            assert all(isinstance(value, Unscored) for value in opinion.values.values()), text

    async def test_being_cancelled_gets_out(self, judge, judged):
        def cancel(step, prompt):
            raise asyncio.CancelledError

        with pytest.raises(asyncio.CancelledError):
            await judge.opinion(judged, RecordingAsk(cancel))

    def test_what_was_not_answered_is_not_asked_about(self, judge):
        why = judge.why_not(case(1, None))

        assert isinstance(why, Unscored)
        assert judge.why_not(case(1)) is None

    async def test_the_plan_is_what_is_asked(self, judge, good, judged):
        """An estimate that plans other asks than are made would be no estimate."""
        ask = RecordingAsk(good)
        await judge.opinion(judged, ask)

        certain = [(p.prompt, p.parameters, p.sample) for p in judge.plan(judged) if p.certain]
        assert ask.asked[: len(certain)] == certain
        assert len(ask.asked) <= len(judge.plan(judged))

    async def test_the_answer_is_in_the_prompt(self, judge, good, judged):
        ask = RecordingAsk(good)
        await judge.opinion(judged, ask)

        assert any(judged.record.answer in prompt for prompt, *_ in ask.asked)
