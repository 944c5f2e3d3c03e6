"""Conversations without recorded questions, led by a user who has a goal."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from replay.core.conversation import Conversation, UserGoal
from replay.core.errors import ScenarioError
from replay.policies.simulated_user import SimulatePolicy, simulate_policy
from replay.testing import failure
from replay.users.user import ATTEMPTS, Wording
from tests.data_tables import from_table
from tests.samples import Fake, play

GOAL = UserGoal(
    wants="You want your money back for the kettle of order 40172.",
    persona="In a hurry.",
    facts={"name": "Ann Holt", "email": "ann@x.org", "reason": "the lid of box 7781 does not close"},
)
ASKS = "I'd like my money back for order 40172."
WHY = "Why do you send it back, and what is your name?"
DONE = "I have refunded 39.00 dollars."


class Talking:
    """A user who says this, one after the other, in whatever form."""

    signature = "talking"

    def __init__(self, *said: str) -> None:
        self.said = list(said)
        self.requests: list = []

    async def word(self, request):
        self.requests.append(request)
        text = self.said.pop(0)
        move = {"REACHED": "goal-reached", "GAVE UP": "given-up", "": "skip"}.get(text, "message")
        return Wording(move=move, text=text, source="test", note=None if text else "nothing to say")


def talk(goal: UserGoal = GOAL, most: int = 10) -> Conversation:
    return Conversation(id="kettle", turns=(), goal=goal).with_open_turns(most)


async def played(system, user, *, goal=GOAL, turns=10, **more):
    """The turns, and the end; None where there is none."""
    records = await play(system, SimulatePolicy(user=user, turns=turns), talk(goal, turns), **more)
    ends = [record for record in records if record.is_end]
    return [record for record in records if not record.is_end], ends[0] if ends else None


async def test_a_user_talks_until_they_have_what_they_want():
    system = Fake(WHY, DONE)
    user = Talking(ASKS, "I'm Ann Holt, and the lid does not close.", "REACHED")
    turns, end = await played(system, user)
    assert [(turn.depth, turn.asked, turn.answer, turn.edit, turn.recorded) for turn in turns] == [
        (1, ASKS, WHY, "simulated", ""),
        (2, "I'm Ann Holt, and the lid does not close.", DONE, "simulated", ""),
    ]
    assert (end.depth, end.edit, end.outcome, end.interventions[0].move) == (
        *(3, "ended", "skipped"),
        "goal-reached",
    )
    assert [e.question for e in system.requests[1].history] == [ASKS]
    assert [len(request.history) for request in user.requests] == [0, 1, 2]
    assert all(turn.drift is None and turn.exchanges == 1 for turn in turns)


@pytest.mark.parametrize(("said", "move"), [("GAVE UP", "given-up"), ("", "skip")])
async def test_or_until_they_give_up_or_have_no_words(said, move):
    turns, end = await played(Fake("I can't do that."), Talking(ASKS, said))
    assert (len(turns), end.interventions[0].move) == (1, move)
    assert end.edit_note == (None if said else "nothing to say")


async def test_after_the_most_turns_they_are_asked_once_more_whether_they_have_it():
    for last, move in (("REACHED", "goal-reached"), ("And now?", "turn-limit"), ("User: hm", "turn-limit")):
        user = Talking(ASKS, "Hello?", last)
        turns, end = await played(Fake(WHY, DONE), user, turns=2)
        assert (len(turns), end.interventions[0].move, end.asked) == (2, move, "")
        assert user.said == []


async def test_the_goal_says_how_many_turns_where_it_does():
    user = Talking(ASKS, "So?", "And?", "Well?", "Still?")
    turns, end = await played(Fake(*["Wait."] * 4), user, goal=replace(GOAL, turns=4), turns=2)
    assert (len(turns), end.depth) == (4, 5)


async def test_the_opener_is_said_word_for_word_and_stays_in_the_history():
    system, user = Fake(WHY, DONE), Talking("I'm Ann Holt.", "REACHED")
    turns, _ = await played(system, user, goal=replace(GOAL, opener="Hi there!"))
    assert (turns[0].asked, turns[0].recorded, turns[0].interventions[0].source) == (
        *("Hi there!", "Hi there!"),
        "opener",
    )
    assert user.requests[0].history[0].question == "Hi there!"
    assert system.requests[1].history[0].question == "Hi there!"


@from_table
async def test_what_can_not_be_said_is_worded_again(text, reason):
    user = Talking(text, ASKS, "REACHED")
    turns, _ = await played(Fake(DONE), user)
    (rejected,) = turns[0].interventions[0].rejected
    assert reason in rejected.reason
    assert turns[0].asked == ASKS


@pytest.mark.parametrize(
    "text", [ASKS, "I'm Ann Holt, ann@x.org, box 7781.", "Yes, the 55555, for Karl Moss."]
)
async def test_what_is_asked_for_and_what_the_system_has_told_can_be_said(text):
    asks = "Is it 55555? Please tell me your name, your address and the box."
    turns, _ = await played(Fake(asks, DONE), Talking("Hello, my kettle is broken.", text, "REACHED"))
    assert [(turn.asked, turn.interventions[0].rejected) for turn in turns[1:]] == [(text, ())]


async def test_the_opening_is_not_said_twice():
    user = Talking(ASKS, ASKS, "I'm Ann Holt.", "REACHED")
    turns, _ = await played(Fake(WHY, DONE), user)
    assert "said before" in turns[1].interventions[0].rejected[0].reason


async def test_who_has_no_words_that_hold_ends_it_and_says_why():
    user = Talking(ASKS, *["It's about order 90871."] * ATTEMPTS)
    turns, end = await played(Fake(WHY), user)
    assert len(turns) == 1
    assert (end.interventions[0].move, len(end.interventions[0].rejected)) == ("skip", ATTEMPTS)
    assert end.edit_note == end.interventions[0].rejected[-1].reason


async def test_the_system_is_not_told_the_goal():
    opened = []

    class Curious(Fake):
        def session(self, conversation):
            opened.append(conversation)
            return super().session(conversation)

    await played(Curious(DONE), Talking(ASKS, "REACHED"), goal=replace(GOAL, opener=None))
    assert [(one.id, one.goal) for one in opened] == [("kettle", None)]
    assert GOAL.wants not in str(opened)


async def test_a_failed_ask_ends_it_without_an_end_of_the_users():
    for on_failure in ("stop", "gold"):
        turns, end = await played(
            Fake(WHY, failure("bad-reply", retryable=False)),
            Talking(ASKS, "I'm Ann Holt."),
            on_failure=on_failure,
        )
        assert ([turn.outcome for turn in turns], end) == (["answered", "bad-reply"], None)


async def test_it_goes_on_after_the_turns_that_are_there():
    whole = [ASKS, "I'm Ann Holt.", "REACHED"]
    first, _ = await played(Fake(WHY, DONE), Talking(*whole))
    user, system = Talking(*whole[1:]), Fake(DONE)
    turns, end = await played(system, user, records=first[:1])
    assert [turn.depth for turn in turns] == [2]
    assert end.depth == 3
    assert [e.answer for e in user.requests[0].history] == [WHY]


async def test_a_system_that_keeps_the_history_and_one_that_is_shown_a_part_of_it():
    from replay.core.history import HistoryView
    from replay.policies.policy import ViewedPolicy, most_turns

    system = Fake(WHY, DONE, history="server")
    turns, _ = await played(system, Talking(ASKS, "I'm Ann Holt.", "REACHED"))
    assert [request.history for request in system.requests] == [(), ()]
    assert len(turns) == 2

    system = Fake(WHY, "Which box?", DONE)
    inner = SimulatePolicy(user=Talking(ASKS, "I'm Ann Holt.", "Box 7781.", "REACHED"), turns=4)
    policy = ViewedPolicy(policy=inner, view=HistoryView(last=1))
    await play(system, policy, talk(most=4))
    assert most_turns(policy) == 4
    assert [len(request.history) for request in system.requests] == [0, 1, 1]


@from_table
def test_what_can_not_simulate_is_told_in_a_sentence(tmp_path, settings, message):
    with pytest.raises((ScenarioError, ValueError)) as caught:
        simulate_policy(folder=Path(tmp_path), **settings)
    assert message in str(caught.value)
