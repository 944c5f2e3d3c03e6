"""A conversation that every judge by name can judge, and what a model would reply about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import msgspec

from replay.core.conversation import Conversation, Passage, Turn, UserGoal
from replay.core.record import TurnRecord
from replay.scorers.judges.itemized import ItemizedJudge
from replay.scorers.judges.items import (
    AnswerRelevancyJudge,
    CompletenessJudge,
    ContextPrecisionJudge,
    ContextRecallJudge,
    FaithfulnessJudge,
    KnowledgeRetentionJudge,
    RoleAdherenceJudge,
    UserFrustrationJudge,
)
from replay.scorers.judges.judge import Case
from replay.testing.cases import turn

SAID = (
    ("I'm Ann and my parcel 77 is late.", "Sorry, Ann. Which parcel is it?"),
    ("I said it already: 77!", "It left on Monday. Parcels take two days. I love pizza."),
    ("Fine. And what is the fee?", "The fee is 5 euros."),
)
GOLD = (("Sorry.",), ("It left on Monday and comes on Wednesday.",), ("4 euros.",))
FOUND = (
    Passage(id="a", text="Cats sleep a lot."),
    Passage(id="b", text="Parcel 77 left the store on Monday."),
    Passage(id="c", title="Rules", text="A parcel takes two days."),
)
PARCEL = Conversation(
    id="c1",
    turns=tuple(
        Turn(id=f"t{depth}", question=question, gold_answers=gold)
        for depth, ((question, _), gold) in enumerate(zip(SAID, GOLD, strict=True), 1)
    ),
    metadata={"role": "A clerk of a parcel service who speaks of parcels only."},
)


def records(**changes: Any) -> tuple[TurnRecord, ...]:
    """The three turns; *changes* are of the second."""
    found = [
        turn(answer, *gold, depth=depth, turn=f"t{depth}", recorded=question, asked=question, passages=FOUND)
        for depth, ((question, answer), gold) in enumerate(zip(SAID, GOLD, strict=True), 1)
    ]
    found[1] = msgspec.structs.replace(found[1], **changes)
    return tuple(found)


def turn_case(**changes: Any) -> Case:
    """The second turn, with *changes*."""
    return Case(conversation=PARCEL, records=records(**changes)[:2])


def whole_case(**changes: Any) -> Case:
    """The whole conversation of a user with a goal."""
    wanted = msgspec.structs.replace(PARCEL, goal=UserGoal(wants="Your parcel."))
    return Case(conversation=wanted, records=records(**changes))


@dataclass(frozen=True, kw_only=True)
class NamedJudge:
    """A judge with a case, a reply that holds, one whose evidence doesn't, and what they give."""

    judge: type[ItemizedJudge]
    items: list[dict[str, Any]]
    value: float
    unsound: dict[str, Any]
    """Put in the place of the first item."""
    complaint: str
    """What the judge is told of it."""
    without: float
    """The value without the first item."""

    @property
    def case(self) -> Case:
        return turn_case() if self.judge.level == "turn" else whole_case()

    def reply(self, items: list[dict[str, Any]] | None = None) -> str:
        return json.dumps({self.judge.items: self.items if items is None else items})

    @property
    def unsound_reply(self) -> str:
        return self.reply([self.unsound, *self.items[1:]])


STATEMENTS = [
    {"statement": "Parcel 77 left on Monday.", "supported": True, "quote": "left the store on Monday"},
    {"statement": "Parcels take two days.", "supported": True, "quote": "TAKES two... days."},
    {"statement": "The system loves pizza.", "supported": False},
]
# Shown in the order of their texts' digests: b, a, c.
USEFUL = [
    {"passage": 1, "useful": True, "quote": "on Monday"},
    {"passage": 2, "useful": False},
    {"passage": "passage 3", "useful": "yes", "quote": "two days"},
]
NAMED = [
    NamedJudge(
        judge=FaithfulnessJudge,
        items=STATEMENTS,
        value=2 / 3,
        unsound={"statement": "It left.", "supported": True, "quote": "left on Tuesday"},
        complaint='item 1: "quote" isn\'t in the words of the passages: left on Tuesday',
        without=1 / 2,
    ),
    NamedJudge(
        judge=ContextRecallJudge,
        items=STATEMENTS[:2],
        value=1.0,
        unsound={"statement": "It left.", "supported": True},
        complaint='item 1: "quote" is missing',
        without=1.0,
    ),
    NamedJudge(
        judge=ContextPrecisionJudge,
        items=USEFUL,
        value=(1 / 2 + 2 / 3) / 2,
        unsound={"passage": 4, "useful": False},
        complaint="item 1: there is no passage 4 to judge; passage 1 has no verdict",
        without=1 / 2,
    ),
    NamedJudge(
        judge=AnswerRelevancyJudge,
        items=[
            {"quote": "It left on Monday", "relevant": True},
            {"quote": "Parcels take two days", "relevant": True},
            {"quote": "I love pizza", "relevant": False},
        ],
        value=2 / 3,
        unsound={"quote": "It left on Tuesday", "relevant": True},
        complaint='item 1: "quote" isn\'t in the words of the answer: It left on Tuesday',
        without=1 / 2,
    ),
    NamedJudge(
        judge=CompletenessJudge,
        items=[
            {"intention": "find it", "turn": 1, "quote": "is late", "satisfied": True, "answer": "It left"},
            {"intention": "fee", "turn": 3, "quote": "the fee", "satisfied": True, "answer": "5 euros"},
            {"intention": "be heard", "turn": 2, "quote": "I said it already", "satisfied": False},
        ],
        value=2 / 3,
        unsound={"intention": "x", "turn": 9, "quote": "is late", "satisfied": False},
        complaint="item 1: there is no turn 9 to judge",
        without=1 / 2,
    ),
    NamedJudge(
        judge=KnowledgeRetentionJudge,
        items=[
            {"turn": 1, "retained": False, "told": "parcel 77", "quote": "Which parcel is it"},
            {"turn": 2, "retained": True},
            {"turn": 3, "retained": None},
        ],
        value=1 / 2,
        unsound={"turn": 1, "retained": False, "told": "I said it already", "quote": "Which parcel is it"},
        complaint='item 1: "told" isn\'t in the words of the user until turn 1: I said it already',
        without=1.0,
    ),
    NamedJudge(
        judge=RoleAdherenceJudge,
        items=[
            {"turn": 1, "in_role": True},
            {"turn": 2, "in_role": False, "quote": "I love pizza"},
            {"turn": 3, "in_role": True},
        ],
        value=2 / 3,
        unsound={"turn": 1, "in_role": False, "quote": "I love pizza"},
        complaint='item 1: "quote" isn\'t in the words of the system at turn 1: I love pizza',
        without=1 / 2,
    ),
    NamedJudge(
        judge=UserFrustrationJudge,
        items=[
            {"turn": 2, "frustrated": True, "quote": "I said it already"},
            {"turn": 3, "frustrated": False},
        ],
        value=1 / 2,
        unsound={"turn": 1, "frustrated": False},
        complaint="item 1: there is no turn 1 to judge; turn 2 has no verdict",
        without=0.0,
    ),
]
