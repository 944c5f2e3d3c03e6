"""What may not be said: each way in which users are known to go wrong, by code."""

from __future__ import annotations

from msgspec.structs import replace

from replay.core.history import Exchange
from replay.testing import wording_request
from replay.testing.user_contract import SHOP
from replay.users.faithful import knowledge, unfaithful
from replay.users.user import UserFact, Wording
from tests.data_tables import from_table

TALK = replace(
    SHOP,
    turns=(
        replace(SHOP.turns[0], question="Hello, I'm Ann Lee, ann@x.org, of Dover. Where is my order 40233?"),
        *SHOP.turns[1:],
    ),
)
FACTS = tuple(
    UserFact(kind=kind, value=value)
    for kind, value in (("number", "40233"), ("name", "Ann Lee"), ("email", "ann@x.org"), ("name", "Dover"))
)
BUSINESS = (
    Exchange(question=TALK.turns[0].question, answer="It is on its way."),
    Exchange(question="Can I still cancel it?", answer="Yes. Do you mean the order 55555 of Karen Holt?"),
)


@from_table
def test_a_known_failure_is_not_said(failure, text, reason):
    request = wording_request(history=BUSINESS, facts=FACTS, own_turns=tuple(t.question for t in TALK.turns))
    found = unfaithful(Wording(move="answer", text=text), request, knowledge(TALK, 2, request))
    assert found is not None, failure
    assert reason in found


@from_table
def test_what_the_user_knows_can_be_said(text):
    replies = {"answer": "Which order is it about?"} if text.startswith("Yes") else {}
    history = (BUSINESS[0], replace(BUSINESS[1], **replies))
    request = wording_request(history=history, facts=FACTS)
    assert unfaithful(Wording(move="answer", text=text), request, knowledge(TALK, 2, request)) is None


def test_what_an_earlier_answer_told_is_known():
    """A parcel is in the answer to come; once the system has spoken of it, it is no secret."""
    text = "Can I cancel the parcel?"
    request = wording_request("refused")
    assert unfaithful(Wording(move="rephrasing", text=text), request, knowledge(TALK, 2, request))
    told = wording_request(
        "refused", history=(Exchange(question="Hello?", answer="Your parcel is on its way."),)
    )
    assert unfaithful(Wording(move="rephrasing", text=text), told, knowledge(TALK, 2, told)) is None


def test_a_drifted_question_needs_no_facts_beside_it():
    request = wording_request("drifted", facts=FACTS)
    text = "Can I still cancel the bread knife of order 40233? I'm Ann Lee."
    found = unfaithful(Wording(move="rephrasing", text=text), request, knowledge(TALK, 2, request))
    assert found == 'it tells more than is asked for ("Ann Lee")'
