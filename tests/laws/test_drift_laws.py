"""What must hold of every verdict and every policy, whatever the conversation."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import msgspec
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from replay.core.conversation import Conversation, Turn
from replay.core.history import PlayedTurn
from replay.core.safety.consent import code_may_run
from replay.coreference.drift import DriftDetector
from replay.coreference.reading.resolver import CharSpan
from replay.coreference.service.service import CoreferenceService, ResolverChoice
from replay.policies.augment import AugmentPolicy
from replay.policies.recorded import FilterPolicy, GoldPolicy, PredPolicy, ReplacePolicy
from replay.policies.rewrite import RewritePolicy
from tests.samples import SINGER, Fake, detector, play

NAMES = ["Ann Lee", "Bob Stone", "the Tin Lanterns", "Port Ellis", "Blue Harbour", "the album", "1987"]
ANSWERS = st.one_of(
    st.sampled_from([*NAMES, "I don't know.", "CANNOTANSWER", ""]),
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).map(
        lambda p: f"{p[0]} went with {p[1]} in 1990."
    ),
    st.text(max_size=40),
)
QUESTIONS = st.one_of(
    st.sampled_from(
        [
            "Who was she?",
            "What did he do with it?",
            "Did they like that album?",
            "Where was her band in that year?",
            "Why?",
            "Who is Ann Lee?",
            "Was this true of them?",
        ]
    ),
    st.text(min_size=1, max_size=40),
)
SOME = settings.default.max_examples // 2
"""Examples of which each plays a conversation."""
MODES = [("strict", "f1"), ("hard", "f1"), ("evalconvqa", "f1"), ("evalconvqa", "em")]
CONVERSATIONS = st.lists(st.tuples(QUESTIONS, ANSWERS), min_size=1, max_size=5).map(
    lambda turns: Conversation(
        id="c",
        title="Ann Lee",
        turns=tuple(Turn(id=str(n), question=q, gold_answers=(a,)) for n, (q, a) in enumerate(turns)),
    )
)


@given(talk=CONVERSATIONS, window=st.integers(0, 4), mode=st.sampled_from(MODES))
def test_identical_histories_are_always_valid_if_they_can_be_read(talk, window, mode):
    async def check():
        async with detector(window=window, mode=mode[0], match=mode[1]) as drift:
            for depth in range(1, len(talk.turns) + 1):
                played = [
                    PlayedTurn(turn=t, asked=t.question, answer=t.gold_answers[0])
                    for t in talk.turns[: depth - 1]
                ]
                found = (await drift.assess(talk, depth, played)).drift
                assert found.valid or found.not_judged
                assert found.probability == 0 or mode[0] == "evalconvqa"

    asyncio.run(check())


class Touchy:
    """A resolver whose reading of the question's first word turns on every letter before it."""

    signature = "touchy"
    languages = None

    def resolve(self, documents):
        return [self._clusters(document.text(), len(document.context())) for document in documents]

    def _clusters(self, text, question_start):
        words = [CharSpan(start=m.start(), end=m.end()) for m in re.finditer(r"\w+", text)]
        said = [span for span in words if span.end <= question_start]
        asked = [span for span in words if span.start >= question_start]
        return [(said[question_start % len(said)], asked[0])] if asked else []


@given(
    talk=CONVERSATIONS,
    window=st.integers(0, 4),
    mode=st.sampled_from(MODES),
    resolver=st.sampled_from(["embedded", f"{__name__}:Touchy"]),
    data=st.data(),
)
def test_identical_answers_are_valid_whatever_was_asked_before(talk, window, mode, resolver, data):
    """An edit of an earlier question is no drift."""

    async def check():
        choice = ResolverChoice(name=resolver, settings={}, folder=Path())
        with code_may_run():
            made = CoreferenceService(choice, workers=0)
        async with made as service:
            drift = DriftDetector(service=service, window=window, mode=mode[0], match=mode[1])
            depth, played = len(talk.turns), []
            for n, turn in enumerate(talk.turns[:-1], start=1):
                asked = data.draw(st.one_of(st.just(turn.question), QUESTIONS))
                gold = n >= depth - window  # before the window anything may have been answered
                played.append(
                    PlayedTurn(turn=turn, asked=asked, answer=turn.gold_answers[0] if gold else "No.")
                )
            found = (await drift.assess(talk, depth, played)).drift
            assert found.valid or found.not_judged

    asyncio.run(check())


@given(talk=CONVERSATIONS, answer=ANSWERS, mode=st.sampled_from(["strict", "hard", "evalconvqa"]))
def test_an_answer_whose_gold_is_unknown_makes_no_question_invalid(talk, answer, mode):
    unknown = replace(talk, turns=tuple(replace(turn, gold_answers=()) for turn in talk.turns))

    async def check():
        async with detector(mode=mode) as drift:
            for depth in range(1, len(unknown.turns) + 1):
                played = [
                    PlayedTurn(turn=t, asked=t.question, answer=answer) for t in unknown.turns[: depth - 1]
                ]
                assert not (await drift.assess(unknown, depth, played)).drift.invalid

    asyncio.run(check())


@given(talk=CONVERSATIONS, data=st.data())
@settings(max_examples=SOME)
def test_gold_and_augment_never_show_a_predicted_answer(talk, data):
    marked = [f"PREDICTED {n}" for n in range(len(talk.turns))]

    async def check():
        async with detector() as drift:
            for policy in (GoldPolicy(), AugmentPolicy(detector=drift)):
                system = Fake(*marked)
                await play(system, policy, talk)
                seen = [e.answer for r in system.requests for e in r.history] + [
                    r.question for r in system.requests
                ]
                assert not any("PREDICTED" in text for text in seen)

    asyncio.run(check())


@given(talk=CONVERSATIONS, data=st.data())
@settings(max_examples=SOME)
def test_the_same_replies_give_the_same_records_to_the_byte(talk, data):
    answers = data.draw(st.lists(ANSWERS, min_size=len(talk.turns), max_size=len(talk.turns)))

    async def records(workers):
        found = []
        async with detector() as drift:
            for policy in (PredPolicy, RewritePolicy, ReplacePolicy, AugmentPolicy, FilterPolicy):
                found += await play(Fake(*answers), policy(detector=drift), talk)
        return found

    # repr, since generated text may hold what JSON can't
    assert repr(asyncio.run(records(0))) == repr(asyncio.run(records(0)))


async def verdicts(workers: int, together: bool) -> bytes:
    async with detector(workers=workers) as drift:
        answers = [("It is a song.", "x", "y", "z"), ("Bob Stone did.", "There.", "Ann Lee did.", "No.")]
        plays = [play(Fake(*a), RewritePolicy(detector=drift), SINGER) for a in answers * 3]
        if together:
            found = await asyncio.gather(*plays)
        else:
            found = [await one for one in plays]
    return msgspec.json.encode(found)


async def test_the_verdict_does_not_depend_on_workers_or_on_what_else_is_asked():
    alone = await verdicts(0, together=False)
    assert await verdicts(0, together=True) == alone
    assert await verdicts(2, together=True) == alone
