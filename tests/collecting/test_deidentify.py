"""
A conversation without personal data: the same person stays one, and what a program looks at stays valid.
"""

from __future__ import annotations

import json
import random
import re

from stdnum import iban, luhn

from replay.collecting.deidentify import deidentify, substitute
from replay.collecting.person_names import name_lists
from replay.collecting.replacements import Pseudonyms
from replay.core.conversation import Conversation, Passage, Turn
from replay.core.expectation import Expectation
from replay.core.message import Message, ToolCall
from replay.datasets.native import native_line
from tests.data_tables import from_table

CALL = ToolCall(
    id="1", name="find", arguments='{"customer_name": "Siobhan Kearney", "order": 48291, "price": 20.5}'
)
TALK = Conversation(
    id="siobhan.kearney@mail.example",
    title="Chat with Siobhan",
    background="Siobhan Kearney wrote on Monday.",
    turns=(
        Turn(
            id="siobhan-1",
            question="I'm Siobhan Kearney.\nMy card is 4539 1488 0343 6467.",
            asked_with=(
                Message(role="system", text="The customer is Ms Kearney, call +44 7911 123456."),
                Message(role="user", text="I'm Siobhan Kearney."),
                Message(role="user", text="My card is 4539 1488 0343 6467."),
            ),
            standalone="Which card does Siobhan Kearney have?",
            gold_answers=("Thanks, siobhan. What is your order number?", "Thank you, Ms Kearney."),
            gold_passages=("k-48291",),
            fact="Her card is 4539-1488-0343-6467.",
        ),
        Turn(
            id="siobhan-2",
            question="48291, and refund to DE89 3704 0044 0532 0130 00",
            steps=(
                Message(role="assistant", tool_calls=(CALL,)),
                Message(
                    role="tool",
                    tool_call_id="1",
                    text='{"order": 48291, "for": "Siobhan", "dob": "1987-02-14"}',
                ),
            ),
            gold_answers=("Kearney's order 48291 was sent to her.",),
            expect=(Expectation(kind="contains", value="48291"),),
        ),
    ),
    passages=(
        Passage(id="k-48291", title="Order 48291", text="For S. Kearney, 11 Castle Hill, Lancaster LA1 1YN"),
    ),
    metadata={"user_id": "u-77120", "timestamps": [1_700_000_000.0, 1_700_000_060.0], "ip": "81.2.69.142"},
)
SECRET = (
    "Siobhan",
    "siobhan",
    "Kearney",
    "4539",
    "48291",
    "DE89",
    "7911 123456",
    "1987-02-14",
    "Castle Hill",
    "LA1 1YN",
    "77120",
    "81.2.69.142",
)


def made(conversation: Conversation = TALK, seed: int = 0) -> Conversation:
    return deidentify(conversation, id="c0001", rng=random.Random(seed))[0]


def test_nothing_personal_is_left_in_any_text():
    line = native_line(made()).decode()
    assert [text for text in SECRET if text in line] == []


def test_what_is_not_personal_stays():
    talk = made()
    assert talk.turns[1].steps[0].tool_calls[0].name == "find"
    assert json.loads(talk.turns[1].steps[0].tool_calls[0].arguments)["price"] == 20.5
    assert talk.background.endswith("wrote on Monday.")
    assert talk.turns[1].gold_answers[0].endswith("was sent to her.")


def test_one_person_stays_one_and_a_woman_a_woman():
    talk = made()
    first, last = re.fullmatch(r"I'm (\w+) (\w+)\.", talk.turns[0].question.split("\n")[0]).groups()
    assert name_lists().gender(first.lower()) == "female"
    assert talk.title == f"Chat with {first}"
    assert talk.turns[0].gold_answers == (
        f"Thanks, {first.lower()}. What is your order number?",
        f"Thank you, Ms {last}.",
    )
    assert talk.turns[1].gold_answers[0].startswith(f"{last}'s order")
    assert json.loads(talk.turns[1].steps[0].tool_calls[0].arguments)["customer_name"] == f"{first} {last}"


def test_the_same_number_is_the_same_however_it_is_written():
    talk = made()
    card, dashed = talk.turns[0].question[-20:-1], talk.turns[0].fact[-20:-1]
    assert (card.replace(" ", ""), card[0]) == (dashed.replace("-", ""), "4")
    order = json.loads(talk.turns[1].steps[0].tool_calls[0].arguments)["order"]
    assert isinstance(order, int)
    assert talk.turns[1].question.startswith(f"{order},")
    assert talk.turns[1].expect[0].value == str(order)


def test_check_digits_hold():
    talk = made()
    assert luhn.is_valid(re.sub(r"\D", "", talk.turns[0].question))
    assert iban.is_valid(talk.turns[1].question.partition("refund to ")[2], check_country=False)


def test_user_messages_are_still_the_question():
    turn = made().turns[0]
    assert "\n".join(one.text for one in turn.asked_with if one.role == "user") == turn.question


def test_ids_are_new_and_times_move_together():
    talk = made()
    assert (talk.id, [turn.id for turn in talk.turns]) == ("c0001", ["c0001#1", "c0001#2"])
    assert talk.turns[0].gold_passages == (talk.passages[0].id,) == ("c0001/p1",)
    first, second = talk.metadata["timestamps"]
    assert second - first == 60.0
    assert (1_700_000_000.0 - first) % (7 * 86_400) == 0
    assert first < 1_700_000_000.0


def test_the_same_seed_gives_the_same_and_another_one_doesnt():
    assert made() == made()
    assert made(seed=1) != made()


def test_values_do_not_depend_on_what_they_replace():
    """Or whoever knows the seed could try all numbers of a kind."""
    values = [Pseudonyms(random.Random(0)).of("national-id", ssn) for ssn in ("536-22-8719", "218-45-0937")]
    assert values[0] == values[1]


@from_table
def test_a_date_stays_a_date_in_its_form(written, form):
    for seed in range(20):
        moved = Pseudonyms(random.Random(seed)).of("birth-date", written)
        assert re.fullmatch(form, moved), moved
        assert moved != written


def test_a_mistyped_card_stays_mistyped():
    for seed in range(20):
        assert not luhn.is_valid(Pseudonyms(random.Random(seed)).of("card", "4539148803436468"))


@from_table
def test_a_value_is_nobodys_and_has_its_form(kind, text, form):
    for seed in range(20):
        assert re.fullmatch(form, Pseudonyms(random.Random(seed)).of(kind, text))


def test_a_word_that_is_a_name_here_is_the_word_where_it_is_no_name():
    talk = Conversation(
        id="x",
        turns=(
            Turn(id="x1", question="My name is Rose Young.", gold_answers=("Rose gold, for young people?",)),
            Turn(id="x2", question="Will it do, Rose asks."),
        ),
    )
    turns = made(talk).turns
    assert turns[0].gold_answers == ("Rose gold, for young people?",)
    assert "Rose" not in turns[0].question + turns[1].question
    assert turns[1].question.startswith("Will it do, ")


def test_one_text_is_put_in_place_of_another_everywhere():
    talk, count = substitute(TALK, "48291", "7")
    assert count == 6
    assert "48291" not in native_line(talk).decode().replace("k-48291", "")
    assert json.loads(talk.turns[1].steps[0].tool_calls[0].arguments)["order"] == 7


def test_json_of_tools_is_read_by_its_keys():
    """As far as they say something; a name is a person's or a product's, and a long number somebody's."""
    result = {
        "name": {"first": "Jo", "last": "Wu"},
        "contact": 447911123456,
        "created": 1716990000,
        "items": [{"name": "Galaxy Buds", "product_id": 7712, "price": 149.5, "count": 2}],
        "holder": {"name": "ann lee", "card": "visa"},
        "reservations": ["NO6JO3", "HXDUBJ"],
        "membership": "gold",
        "address": {"line1": "Rose Cottage", "city": "Leeds"},
    }
    step = Message(role="tool", tool_call_id="1", text=json.dumps(result))
    call = Message(role="assistant", tool_calls=(ToolCall(id="1", name="look", arguments="{}"),))
    talk = Conversation(id="x", turns=(Turn(id="x1", question="Who am I?", steps=(call, step)),))
    found = json.loads(made(talk).turns[0].steps[1].text)
    for secret in ("Jo", "Wu", "447911123456", "ann", "lee", "NO6JO3", "HXDUBJ", "Rose Cottage"):
        assert not re.search(rf"\b{secret}\b", json.dumps(found)), secret
    assert found["created"] == 1716990000
    assert found["items"] == result["items"]
    assert (found["membership"], found["address"]["city"], found["holder"]["card"]) == (
        "gold",
        "Leeds",
        "visa",
    )
    assert isinstance(found["contact"], int)


def test_sessions_and_evidence_are_kept_and_named_anew():
    said = (("a", "Hi.", "siobhan-monday", ()), ("b", "Well?", "siobhan-friday", ("a",)))
    turns = tuple(Turn(id=id, question=q, session=session, evidence=e) for id, q, session, e in said)
    made, _ = deidentify(Conversation(id="log", turns=turns), id="c1", rng=random.Random(0))

    assert [(one.session, one.evidence) for one in made.turns] == [("c1/s1", ()), ("c1/s2", ("c1#1",))]
