"""
What every judge must keep, as tests: subclass, give the fixtures ``judge`` and ``good``, and they run.
"""

from __future__ import annotations

import asyncio
import json
import math

import msgspec
import pytest

from replay.core.adapter import ChatReply
from replay.core.errors import (
    AdapterError,
    AdapterRateLimitedError,
    AdapterReplyError,
    AdapterTimeoutError,
)
from replay.core.settings.plugins import misfit
from replay.scorers.judges.judge import Case, Judge, Opinion
from replay.scorers.scorer import Unscored
from replay.testing.cases import RecordingAsk, Replying, always, case, check_signature


class JudgeContract:
    """Subclasses are called ``Test...``; the answers of ``case()`` must be worth asking about."""

    garbage: tuple[str, ...] = ("", "...", "Je ne sais pas.", "{", "<html>502</html>", "☃ \ud800 ☃")
    """Replies that the judge can read nothing from."""

    @pytest.fixture
    def judge(self) -> Judge:
        raise NotImplementedError("give a fixture `judge` that returns the judge to be tested")

    @pytest.fixture
    def good(self) -> Replying:
        """Return replies that give every output a value, such as ``always("Yes")``."""
        raise NotImplementedError("give a fixture `good` that returns replies which the judge can read")

    @pytest.fixture
    def judged(self) -> Case:
        """Return the case that the judge is tried with: the second turn of a conversation, answered."""
        return case(2)

    def test_it_is_a_judge(self, judge: Judge) -> None:
        assert not (why := misfit(judge, Judge)), f"this is no judge: {why}"
        assert judge.level in ("turn", "dialogue"), (
            f'level is {judge.level!r}: set it to "turn" or "dialogue"'
        )
        names = [output.name for output in judge.outputs]
        assert names, "outputs is empty: give an Output for each number"
        assert len(set(names)) == len(names), f"outputs are called {names}: give each a name of its own"

    def test_the_signature_is_one_word_and_stays(self, judge: Judge) -> None:
        before = judge.signature
        judge.plan(case(2))
        check_signature(judge, before)

    @pytest.mark.asyncio
    async def test_a_good_reply_gives_every_output_a_number(
        self, judge: Judge, good: Replying, judged: Case
    ) -> None:
        opinion = await judge.opinion(judged, RecordingAsk(good))

        assert isinstance(opinion, Opinion), f"opinion gave {opinion!r}: return an Opinion"
        wanted = {output.name for output in judge.outputs}
        assert set(opinion.values) == wanted, (
            f"values are called {sorted(opinion.values)}, outputs {sorted(wanted)}: give one for each output"
        )
        for name, value in opinion.values.items():
            assert not isinstance(value, Unscored), (
                f'"{name}" has no value ({value}): read one from the replies of `good`, or mend those'
            )
            assert math.isfinite(value), (
                f'"{name}" is {value}: give a finite number, or Unscored with a reason'
            )

    @pytest.mark.asyncio
    async def test_evidence_is_json(self, judge: Judge, good: Replying, judged: Case) -> None:
        evidence = msgspec.to_builtins((await judge.opinion(judged, RecordingAsk(good))).evidence)
        try:
            json.dumps(evidence, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise AssertionError(
                f"the evidence is kept with the run and is no JSON ({error}): {evidence}"
            ) from error

    @pytest.mark.asyncio
    @pytest.mark.parametrize(
        "error", [AdapterTimeoutError("slow"), AdapterRateLimitedError("busy"), AdapterReplyError("empty")]
    )
    async def test_a_failed_ask_is_a_reason_and_never_a_number(
        self, judge: Judge, judged: Case, error: AdapterError
    ) -> None:
        def fail(step: str, prompt: str) -> ChatReply:
            raise error

        try:
            opinion = await judge.opinion(judged, RecordingAsk(fail))
        except AdapterError as raised:
            raise AssertionError(
                "a failed ask got out of opinion: catch AdapterError around each ask, and give "
                "failed(error) in the place of the values"
            ) from raised
        found = set(opinion.values.values())
        assert found == {Unscored(reason=f"judge {error.outcome}")}, (
            f"after a failed ask the values are {opinion.values}: give failed(error) in their place"
        )

    @pytest.mark.asyncio
    async def test_what_cant_be_read_is_a_reason_and_never_a_number(self, judge: Judge, judged: Case) -> None:
        for text in self.garbage:
            opinion = await judge.opinion(judged, RecordingAsk(always(text)))
            assert all(isinstance(value, Unscored) for value in opinion.values.values()), (
                f"the reply {text!r} became {opinion.values}: give Unscored with a reason where a reply "
                "doesn't say what was asked for"
            )

    @pytest.mark.asyncio
    async def test_being_cancelled_gets_out(self, judge: Judge, judged: Case) -> None:
        def cancel(step: str, prompt: str) -> ChatReply:
            raise asyncio.CancelledError

        try:
            opinion = await judge.opinion(judged, RecordingAsk(cancel))
        except asyncio.CancelledError:
            return
        raise AssertionError(
            f"cancelled, opinion went on and gave {opinion}: catch AdapterError, not BaseException"
        )

    def test_what_was_not_answered_is_not_asked_about(self, judge: Judge, judged: Case) -> None:
        why = judge.why_not(case(1, None))

        assert isinstance(why, Unscored), (
            f"why_not of a turn without an answer is {why!r}: give Unscored with a reason, since there is "
            "nothing to ask about"
        )
        assert judge.why_not(judged) is None, "why_not of an answered turn must be None"

    @pytest.mark.asyncio
    async def test_the_plan_is_what_is_asked(self, judge: Judge, good: Replying, judged: Case) -> None:
        """An estimate that plans other asks than are made would be no estimate."""
        ask = RecordingAsk(good)
        await judge.opinion(judged, ask)

        plan = judge.plan(judged)
        certain = [(p.prompt, p.parameters, p.sample) for p in plan if p.certain]
        assert ask.asked[: len(certain)] == certain, (
            f"asked was {ask.asked}, and planned {certain}: let plan name prompts, parameters and samples "
            "as they are asked, those that are asked for certain first"
        )
        assert len(ask.asked) <= len(plan), (
            f"{len(ask.asked)} asks were made and {len(plan)} planned: let plan name those that may "
            "follow, too, with certain=False"
        )

    @pytest.mark.asyncio
    async def test_the_answer_is_in_the_prompt(self, judge: Judge, good: Replying, judged: Case) -> None:
        ask = RecordingAsk(good)
        await judge.opinion(judged, ask)

        assert judged.record.answer is not None
        assert any(judged.record.answer in prompt for prompt, *_ in ask.asked), (
            f"none of the prompts holds the answer that is judged: {[prompt for prompt, *_ in ask.asked]}"
        )
