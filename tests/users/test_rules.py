"""The user without a model, to the letter."""

from __future__ import annotations

import pytest

from replay.core.conversation import Conversation, Turn
from replay.core.history import Exchange
from replay.core.record import RejectedWording
from replay.testing import UserContract, wording_request
from replay.users.rules import RulesUser, unexpected_in
from replay.users.user import UserFact, facts_in, known_facts
from tests.data_tables import from_table


class TestRules(UserContract):
    @pytest.fixture
    def user(self):
        return RulesUser()


async def said(occasion="asked-back", **changes):
    wording = await RulesUser().word(wording_request(occasion, **changes))
    return wording.move, wording.text, wording.source


def asked(reply, question=None):
    history = (Exchange(question="Can I still cancel it?", answer=reply),)
    return {"history": history, "evidence": question or reply.casefold()}


FULL = "Can I still cancel the bread knife of order 40233?"


async def test_a_drifted_question_is_put_in_the_words_of_the_data_or_else_in_ours():
    assert await said("drifted") == ("rephrasing", FULL, "standalone")
    ours = "Can I still cancel my order 40233?"
    assert await said("drifted", standalone=None) == ("rephrasing", ours, "rewriting")


async def test_without_other_words_there_is_nothing_to_say():
    assert await said("drifted", standalone=None, rewritten=None) == ("skip", "", "")


async def test_what_was_said_in_full_is_not_put_in_lesser_words():
    """The rewriting may name less, or something else."""
    history = (Exchange(question=FULL, answer="I don't know."),)
    assert (await said("refused", history=history))[0] == "skip"


async def test_a_failed_ask_may_be_put_again_as_it_was():
    rejected = tuple(
        RejectedWording(text=text, reason="no") for text in (FULL, "Can I still cancel my order 40233?")
    )
    assert await said("failed", rejected=rejected) == ("rephrasing", "Can I still cancel it?", "script")


async def test_a_number_that_is_asked_for_is_given():
    assert await said() == ("answer", "It's 40233.", "facts")
    mail = (UserFact(kind="email", value="ann@x.org"),)
    reply = asked("What is your e-mail address?")
    assert await said(facts=mail, **reply) == ("answer", "My email address is ann@x.org.", "facts")


async def test_what_the_data_calls_a_fact_is_asked_for_by_its_name():
    facts = (UserFact(kind="membership level", value="gold"),)
    assert await said(facts=facts, **asked("What membership level do you have?")) == (
        "answer",
        "gold.",
        "facts",
    )


async def test_of_several_numbers_only_the_intents_own_is_given():
    others = tuple(UserFact(kind="number", value=value) for value in ("40180", "40172"))
    found = await said(facts=others, standalone="Can I still cancel the knife?", rewritten=None)
    assert found == ("answer", "Can I still cancel the knife?", "standalone")
    assert (await said(facts=(*others, UserFact(kind="number", value="40233"))))[1] == "It's 40233."


async def test_yes_is_said_where_the_script_goes_on_as_if_it_had_been():
    reply = asked("Do you want to cancel order 40233?")
    assert await said(**reply) == ("confirmation", "Yes, please.", "script")


@pytest.mark.parametrize(
    "changes",
    [
        {"next_question": "No, wait."},
        {"next_question": None},
        asked("Do you want to return the garden hose?"),
    ],
)
async def test_nothing_is_confirmed_that_the_script_does_not_presuppose(changes):
    reply = asked("Do you want to cancel order 40233?")
    assert (await said(**{**reply, **changes}))[0] == "skip"


async def test_a_misread_question_is_corrected():
    found = await said("misread", meanings=(("it", "The bread knife"),))
    assert found == ("correction", "No, I meant the bread knife.", "rewriting")


def test_facts_are_what_the_user_said_first():
    talk = Conversation(
        id="c",
        metadata={"user_facts": {"membership level": "gold"}},
        turns=(
            Turn(id="1", question="Where is my order?", gold_answers=("Which one, 40180 or 40233?",)),
            Turn(id="2", question="It's 40180.", gold_answers=("It arrives on 12 May.",)),
            Turn(id="3", question="Mail Ann Lee at ann@x.org on 12 May, and 77123 too."),
        ),
    )
    assert [(fact.kind, fact.value) for fact in known_facts(talk)] == [
        ("membership level", "gold"),
        ("email", "ann@x.org"),
        ("number", "77123"),
        ("name", "Ann Lee"),
    ]


@from_table
def test_facts_by_their_looks(text, found):
    assert [(fact.kind, fact.value) for fact in facts_in(text)] == found


@from_table
def test_what_a_reply_does_that_the_recorded_one_does_not(reply, occasion):
    found = unexpected_in(reply, ["It arrives on 12 May."])
    assert (found and found[0]) == occasion


@pytest.mark.parametrize("recorded", [[], ["Which order do you mean?"], ["I'm sorry, I can't do that."]])
def test_where_the_recorded_answer_does_so_too_or_is_unknown_the_script_goes_on(recorded):
    assert unexpected_in("Which order is it about?", recorded) is None
