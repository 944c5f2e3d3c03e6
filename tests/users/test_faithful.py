"""What may not be said: each way in which users are known to go wrong, by code."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from replay.core.history import Exchange
from replay.testing import wording_request
from replay.testing.user_contract import SHOP
from replay.users.faithful import knowledge, unfaithful
from replay.users.user import UserFact, Wording

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

KNOWN_FAILURES = [
    ("empty text", "  ", "empty"),
    ("no text", "...", "empty"),
    ("ends at once", "###STOP###", "ends the conversation"),
    ("ends at once", "Thank you, that's all. Bye!", "ends the conversation"),
    ("begins again", "Hello, I'm Ann Lee, ann@x.org, of Dover. Where is my order 40233?", "said before"),
    ("roles inverted", "I'd be happy to help you with that order.", "what the system would say"),
    ("roles inverted", "How can I help you today?", "what the system would say"),
    ("role label", "User: it's 40233", "role's name"),
    ("thoughts sent", "<think>The bot wants the number</think> It's 40233.", "thoughts or markup"),
    ("thoughts sent", "The user should now give the number 40233.", "thoughts or markup"),
    (
        "thoughts sent",
        "I should ask for the knife.\nCan I cancel the knife of order 40233?",
        "thoughts or markup",
    ),
    ("markup", '{"text": "It\'s 40233."}', "thoughts or markup"),
    (
        "states everything at once",
        "It's 40233, I'm Ann Lee, my address is ann@x.org and I live in Dover.",
        "more than is asked for",
    ),
    (
        "states everything at once",
        "Well, you see, it is a long story that began when I first came to your shop and looked for "
        "a knife that would "
        "cut the bread that my aunt bakes, and so I ordered it, and now I want to cancel it",
        "longest turn",
    ),
    ("rescues the system", "It has left for Dunmore already, I think. Can I cancel it?", "can't know yet"),
    ("invents an identifier", "It's 90871.", "nobody has said"),
    ("invents a name", "It's the order of Karl Moss.", "nobody has said"),
    ("agrees with a false premise", "Yes, that one.", "agrees to what the user never meant"),
    ("agrees with a false premise", "I mean the order 55555.", "takes over from the system"),
]


@pytest.mark.parametrize(("failure", "text", "reason"), KNOWN_FAILURES)
def test_a_known_failure_is_not_said(failure, text, reason):
    request = wording_request(history=BUSINESS, facts=FACTS, own_turns=tuple(t.question for t in TALK.turns))
    found = unfaithful(Wording(move="answer", text=text), request, knowledge(TALK, 2, request))
    assert found is not None, failure
    assert reason in found


@pytest.mark.parametrize(
    "text",
    [
        "It's 40233.",
        "Can I still cancel the bread knife of order 40233?",
        "No, not 55555, I mean 40233.",
        "The bread knife, please.",
        "Yes, please.",
    ],
)
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
