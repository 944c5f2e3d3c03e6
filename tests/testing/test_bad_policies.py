"""The contract tells the author of a bad policy what to do."""

from __future__ import annotations

import pytest

from replay import PlannedTurn, gold_history, own_history
from replay.testing import PolicyContract
from tests.testing.checking import bad_ones, said


class Own:
    """A good policy, but for what is put in its place."""

    history = "own"
    signature = "own"

    async def plan(self, conversation, depth, played):
        question = conversation.turns[depth - 1].question
        return PlannedTurn(question=question, history=own_history(played), edit="kept")


def policy(plan=Own.plan, **members):
    return type("Bad", (Own,), {"plan": plan, **members})()


async def own_plan(conversation, depth, played, **changes):
    planned = await Own().plan(conversation, depth, played)
    return PlannedTurn(
        **{"question": planned.question, "history": planned.history, "edit": planned.edit, **changes}
    )


async def shows_gold(self, conversation, depth, played):
    return await own_plan(conversation, depth, played, history=gold_history(conversation, depth))


async def shows_the_last_turn(self, conversation, depth, played):
    return await own_plan(conversation, depth, played, history=own_history(played)[-1:])


async def says_hello_and_nothing_of_it(self, conversation, depth, played):
    return await own_plan(conversation, depth, played, question=f"Hello! {conversation.turns[0].question}")


async def tells_the_answer(self, conversation, depth, played):
    known = " or ".join(conversation.turns[depth - 1].gold_answers)
    return await own_plan(conversation, depth, played, question=f"Is it {known}?", edit="augmented")


async def counts(self, conversation, depth, played):
    self.count = getattr(self, "count", 0) + 1
    return await own_plan(conversation, depth, played, question=f"{self.count}?", edit="augmented")


async def plans_a_text(self, conversation, depth, played):
    return conversation.turns[depth - 1].question


@bad_ones(
    {
        "it_is_a_policy": [(policy(history="mine"), "history is 'mine': set it to \"own\"")],
        "a_first_turn_can_be_planned_with_nothing_played": [
            (policy(plans_a_text), "return a replay.PlannedTurn")
        ],
        "the_history_is_the_one_it_says": [
            (policy(shows_gold), "show replay.own_history(played)"),
            (policy(shows_the_last_turn), "sets whole_history = False"),
            (policy(history="gold"), "no answer of the system"),
        ],
        "the_edit_says_what_was_done_to_the_question": [
            (policy(says_hello_and_nothing_of_it), 'asked as "Hello')
        ],
        "a_plan_shows_nothing_of_what_comes_later": [
            (policy(tells_the_answer), "look at what came before it")
        ],
        "a_plan_depends_on_what_it_is_given_and_nothing_else": [(policy(counts), "keep nothing")],
        "turns_that_left_no_trace_are_not_shown": [(policy(shows_gold), "leave them out")],
        "the_signature_is_one_word_and_stays": [(policy(signature="my own"), "write it as one word")],
    }
)
async def test_a_bad_policy(test, bad, words):
    assert words in await said(PolicyContract(), test, policy=bad)


async def test_a_good_policy_may_show_a_part_of_the_history_if_it_says_so():
    class Part(PolicyContract):
        whole_history = False

    await Part().test_the_history_is_the_one_it_says(policy(shows_the_last_turn))
    with pytest.raises(AssertionError, match="show no gold answer"):
        await Part().test_the_history_is_the_one_it_says(policy(shows_gold))
