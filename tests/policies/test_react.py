"""The script as long as it fits, a user where it does not, then the script again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from replay.core.history import Exchange
from replay.core.message import Message
from replay.policies.simulated_user import ReactPolicy
from replay.testing import failure
from replay.users.user import ATTEMPTS, Wording
from tests.samples import ALICE, SINGER, Fake, conversation, detector, play

SHOP = conversation(
    ("Hello, where is my order 40233?", "Your order 40233 (bread knife) arrives on 12 May."),
    ("Can I still cancel it?", "No, it has left our store."),
    ("Then I'd like to return it.", "You can return it within thirty days."),
)


class Saying:
    """A user who words a turn in these ways, one after the other."""

    signature = "saying"

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.requests: list = []

    async def word(self, request):
        self.requests.append(request)
        text = self.texts[len(request.rejected)]
        return Wording(move="answer" if text else "skip", text=text, source="test")


async def played(system, talk=SHOP, *, resolver=ALICE, user=None, extra=2, **more):
    async with detector(resolver=resolver, window=6) as found:
        chosen = {} if user is None else {"user": user}
        policy = ReactPolicy(detector=found, extra=extra, **chosen)
        return await play(system, policy, talk, **more)


def dialogue(record) -> Sequence[tuple[str, str]]:
    return [(step.role, step.text) for step in record.steps]


async def test_as_long_as_the_script_fits_nobody_intervenes():
    system = Fake(*(turn.gold_answer for turn in SHOP.turns))
    records = await played(system)
    assert [(r.asked, r.edit, r.interventions, r.exchanges) for r in records] == [
        (turn.question, "kept", (), 1) for turn in SHOP.turns
    ]


async def test_a_drifted_question_is_worded_by_the_user_and_the_script_goes_on():
    system = Fake("It is a song.", "In Port Ellis.", "Her aunt Dilys.", "The viola.")
    records = await played(system, SINGER)
    (one,) = records[1].interventions
    assert (one.occasion, one.move, one.source) == ("drifted", "rephrasing", "standalone")
    assert records[1].asked == one.said == "Where was the singer Alice Okafor born?"
    assert (records[1].edit, records[1].exchanges) == ("replaced", 1)
    assert records[3].asked == SINGER.turns[3].question
    assert records[3].interventions == ()
    assert system.requests[2].history[1].question == one.said


async def test_a_user_without_words_skips_the_intent():
    talk = replace(SINGER, turns=tuple(replace(turn, standalone=None) for turn in SINGER.turns[:3]))
    system = Fake("It is a song.", "Her aunt.")
    records = await played(system, talk, user=Saying("", ""))
    assert [(r.outcome, r.edit, r.exchanges) for r in records[1:]] == [("skipped", "filtered", 0)] * 2
    assert records[1].interventions[0].move == "skip"


async def test_what_the_system_asks_back_is_answered_within_the_turn():
    system = Fake(
        "It arrives on 12 May.", "Which order is it about? Please tell me its number.", "Too late.", "Yes."
    )
    records = await played(system)
    (one,) = records[1].interventions
    assert (one.occasion, one.move, one.said, one.source) == ("asked-back", "answer", "It's 40233.", "facts")
    assert one.evidence == "which order is it about?"
    assert dialogue(records[1]) == [
        ("assistant", "Which order is it about? Please tell me its number."),
        ("user", "It's 40233."),
    ]
    assert (records[1].asked, records[1].answer) == ("Can I still cancel it?", "Too late.")
    assert (records[1].depth, records[1].exchanges, records[1].asks) == (2, 2, 2)
    asked = [request.question for request in system.requests]
    assert asked == [SHOP.turns[0].question, SHOP.turns[1].question, "It's 40233.", SHOP.turns[2].question]
    last = system.requests[-1].history
    assert [(e.question, e.answer) for e in last[1:]] == [
        ("Can I still cancel it?", "Which order is it about? Please tell me its number."),
        ("It's 40233.", "Too late."),
    ]


async def test_a_system_that_keeps_the_history_is_told_in_its_session():
    system = Fake("On 12 May.", "Which order is it about?", "Too late.", "Yes.", history="server")
    records = await played(system)
    assert [request.question for request in system.requests][2] == "It's 40233."
    assert not any(request.history for request in system.requests)
    assert records[1].answer == "Too late."


async def test_where_the_recorded_answer_asked_back_too_the_script_goes_on():
    talk = conversation(("Please cancel my order.", "Which order is it about?"), ("It's 40180.", "Done."))
    records = await played(Fake("Which one do you mean?", "Done."), talk)
    assert [r.interventions for r in records] == [(), ()]


async def test_a_turn_takes_so_many_more_exchanges_and_no_more():
    answers = ["On 12 May.", *["I can't help with that."] * 4]
    user = Saying("Can I cancel the order 40233?", "It's 40233.", "Please cancel 40233.")
    for extra in (0, 1):
        records = await played(Fake(*answers), user=user, extra=extra)
        assert records[1].exchanges == 1 + extra
        assert records[1].answer == "I can't help with that."


async def test_a_failed_ask_is_tried_in_fuller_words_once():
    refused = failure("bad-reply", retryable=False)
    talk = replace(
        SHOP, turns=(SHOP.turns[0], replace(SHOP.turns[1], standalone="Can I still cancel the order 40233?"))
    )
    system = Fake("On 12 May.", refused, "Too late.")
    records = await played(system, talk)
    (one,) = records[1].interventions
    assert (one.occasion, one.said) == ("failed", "Can I still cancel the order 40233?")
    assert (records[1].outcome, records[1].answer, records[1].exchanges) == ("answered", "Too late.", 2)
    records = await played(Fake("On 12 May.", refused, refused), talk)
    assert (records[1].outcome, len(records[1].interventions)) == ("bad-reply", 1)


async def test_after_a_failure_a_session_of_the_systems_own_is_left_alone():
    system = Fake("On 12 May.", failure("bad-reply", retryable=False), history="server")
    records = await played(system)
    assert (records[1].outcome, records[1].interventions) == ("bad-reply", ())


async def test_what_fails_the_tests_is_worded_again_with_the_reason_and_then_not_said():
    system = Fake("On 12 May.", "Which order is it about?", "Yes.")
    user = Saying("User: 40233", "It's 90871.", "###STOP###")
    records = await played(system, user=user)
    (one,) = records[1].interventions
    assert (one.move, one.said) == ("skip", None)
    assert [rejected.text for rejected in one.rejected] == list(user.texts)
    assert one.note == one.rejected[-1].reason
    assert len(one.rejected) == ATTEMPTS
    assert [len(request.rejected) for request in user.requests] == [0, 1, 2]
    assert (records[1].answer, records[1].exchanges) == ("Which order is it about?", 1)
    assert records[2].answer == "Yes."


async def test_a_second_wording_that_holds_is_said():
    system = Fake("On 12 May.", "Which order is it about?", "Too late.", "Yes.")
    records = await played(system, user=Saying("It's 90871.", "It's 40233."))
    (one,) = records[1].interventions
    assert (one.said, [rejected.text for rejected in one.rejected]) == ("It's 40233.", ["It's 90871."])


async def test_no_recorded_answer_reaches_the_user():
    user = Saying("", "", "")
    system = Fake("It is a song.", "I don't know.", "I don't know.", "I don't know.")
    await played(system, SINGER, user=user)
    assert user.requests
    for request in user.requests:
        for turn in SINGER.turns:
            assert turn.gold_answer not in str(request)


async def test_a_view_of_the_history_is_kept_in_a_follow_up():
    from replay.core.history import HistoryView
    from replay.policies.policy import ViewedPolicy

    system = Fake("On 12 May.", "Which order is it about?", "Too late.", "Yes.")
    async with detector(resolver=ALICE, window=6) as found:
        policy = ViewedPolicy(policy=ReactPolicy(detector=found), view=HistoryView(last=1))
        await play(system, policy, SHOP)
    assert [[e.question for e in request.history] for request in system.requests] == [
        [],
        [SHOP.turns[0].question],
        [SHOP.turns[1].question],
        ["It's 40233."],
    ]


async def test_what_a_question_came_with_stands_before_its_first_exchange():
    told = Message(role="system", text="Be brief.")
    first, second, third = SHOP.turns
    talk = replace(SHOP, turns=(first, replace(second, asked_with=(told,)), third))
    system = Fake("On 12 May.", "Which order is it about?", "Too late.", "Yes.")
    await played(system, talk)
    follow_up, last = system.requests[2:]
    assert follow_up.asked_with == ()
    assert [e.asked_with for e in follow_up.history] == [(), (told,)]
    assert [e.asked_with for e in last.history] == [(), (told,), ()]


@pytest.mark.parametrize("extra", [-1])
async def test_a_number_of_exchanges_is_not_below_none(extra):
    async with detector() as found:
        with pytest.raises(ValueError, match="extra: -1"):
            ReactPolicy(detector=found, extra=extra)


async def test_a_reply_about_something_else_is_corrected():
    talk = conversation(
        ("Who is handling my claim?", "Karen Holt is handling it."),
        ("When can I reach her?", "Weekdays from 9 to 5."),
    )
    system = Fake("David Brandt is handling it.", "David Brandt is there from 8 to 4.", "From 9 to 5.")
    records = await played(system, talk, resolver="embedded")
    last = records[-1].interventions[-1]
    assert (last.occasion, last.said) == ("misread", "No, I meant Karen Holt.")
    assert system.requests[-1].history[-1] == Exchange(
        question=records[-1].asked, answer="David Brandt is there from 8 to 4."
    )
