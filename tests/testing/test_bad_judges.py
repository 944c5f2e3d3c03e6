"""The contract tells the author of a bad judge what to do."""

from __future__ import annotations

import asyncio

from replay import AdapterError, Unscored, why_unanswered
from replay.scorers.judges.judge import Opinion, Output, PlannedAsk, ask_failure
from replay.testing import JudgeContract, always, case, failure
from tests.testing.checking import bad_ones, said


class Polite:
    """A good judge, but for what is put in its place."""

    level = "turn"
    outputs = (Output(voting="majority"),)
    needed_parameters = ()
    signature = "polite"

    def why_not(self, case):
        return why_unanswered(case.record)

    def plan(self, case):
        return [PlannedAsk(prompt=case.record.answer, parameters={}, completion_tokens=1)]

    async def opinion(self, case, ask):
        try:
            reply = await ask("polite", case.record.answer, parameters={})
        except AdapterError as error:
            return Opinion(values={"": ask_failure(error)})
        return Opinion(values={"": {"yes": 1.0}.get(reply.text, Unscored(reason="no"))})


def judge(**members):
    return type("Bad", (Polite,), members)()


async def takes_anything_for_no(self, case, ask):
    reply = await ask("polite", case.record.answer, parameters={})
    return Opinion(values={"": float("yes" in reply.text)})


async def swallows_everything(self, case, ask):
    try:
        return await Polite().opinion(case, ask)
    except asyncio.CancelledError:
        return Opinion(values={"": 0.0})


async def asks_something_else(self, judged, ask):
    return await Polite().opinion(case(1), ask)


async def gives_another_name(self, case, ask):
    return Opinion(values={"x": 1.0}, evidence={"why": float("nan")})


@bad_ones(
    {
        "it_is_a_judge": [
            (judge(level="word"), "level is 'word'"),
            (judge(outputs=()), "give an Output for each number"),
        ],
        "the_signature_is_one_word_and_stays": [(judge(signature="very polite"), "write it as one word")],
        "a_good_reply_gives_every_output_a_number": [
            (judge(opinion=gives_another_name), "one for each output")
        ],
        "evidence_is_json": [(judge(opinion=gives_another_name), "is no JSON")],
        "a_failed_ask_is_a_reason_and_never_a_number": [
            (judge(opinion=takes_anything_for_no), "catch AdapterErr")
        ],
        "what_cant_be_read_is_a_reason_and_never_a_number": [
            (judge(opinion=takes_anything_for_no), "Unscored")
        ],
        "being_cancelled_gets_out": [(judge(opinion=swallows_everything), "not BaseException")],
        "what_was_not_answered_is_not_asked_about": [
            (judge(why_not=lambda self, case: None), "nothing to ask")
        ],
        "the_plan_is_what_is_asked": [
            (judge(plan=lambda self, case: []), "1 asks were made and 0 planned"),
            (judge(opinion=asks_something_else), "as they are asked"),
        ],
        "the_answer_is_in_the_prompt": [
            (judge(opinion=asks_something_else), "holds the answer that is judged")
        ],
    }
)
async def test_a_bad_judge(test, bad, words):
    given = {"judge": bad, "good": always("yes"), "judged": case(2), "error": failure("timed-out")}
    assert words in await said(JudgeContract(), test, **given)
