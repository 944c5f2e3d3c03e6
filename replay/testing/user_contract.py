"""
What every user must keep, as tests: subclass, give the fixture ``user``, and they run.

``wording_request()`` is a turn to be worded; what is named is put in place of its own.
"""

from __future__ import annotations

import asyncio
import typing
from typing import Any

import pytest
from msgspec.structs import replace

from replay.core.conversation import Conversation, Turn, UserGoal
from replay.core.history import Exchange
from replay.core.record import Move, Occasion, RejectedWording
from replay.core.settings.plugins import misfit
from replay.testing.cases import check_signature
from replay.users.faithful import knowledge, unfaithful
from replay.users.user import ENDINGS, GoalUser, User, UserFact, Wording, WordingRequest

ATTEMPTS = 3
SHOP = Conversation(
    id="shop",
    title="Where is it?",
    turns=(
        Turn(
            id="1",
            question="Hello, where is my order 40233?",
            gold_answers=("Your order 40233 (bread knife) arrives on 12 May.",),
        ),
        Turn(
            id="2",
            question="Can I still cancel it?",
            gold_answers=("No, the parcel has left our store in Dunmore.",),
            standalone="Can I still cancel the bread knife of order 40233?",
        ),
        Turn(id="3", question="And send it elsewhere?", gold_answers=("No, I'm sorry.",)),
    ),
)
_EVIDENCE: dict[Occasion, str] = {
    "asked-back": "which order is it about?",
    "refused": "i can't help with that.",
    "not-understood": "didn't understand",
    "misread": "garden hose",
    "failed": "no complete reply within 60 s",
    "drifted": "",
}
_REPLIES: dict[Occasion, str] = {
    "asked-back": "Which order is it about? Please tell me its number.",
    "refused": "I can't help with that.",
    "not-understood": "Sorry, I didn't understand that.",
    "misread": "The garden hose can be returned.",
}


def wording_request(occasion: Occasion = "asked-back", **changes: Any) -> WordingRequest:
    """Return the second turn of a conversation with a shop, to be worded on *occasion*."""
    turn = SHOP.turns[1]
    history: tuple[Exchange, ...] = (Exchange(question=SHOP.turns[0].question, answer="It is on its way."),)
    if occasion in _REPLIES:
        history += (Exchange(question=turn.question, answer=_REPLIES[occasion]),)
    request = WordingRequest(
        conversation=SHOP.id,
        depth=2,
        occasion=occasion,
        evidence=_EVIDENCE.get(occasion, ""),
        question=turn.question,
        standalone=turn.standalone,
        rewritten="Can I still cancel my order 40233?",
        meanings=(("it", "my order 40233"),),
        misread="garden hose" if occasion == "misread" else None,
        facts=(UserFact(kind="number", value="40233"),),
        history=history,
        own_turns=tuple(one.question for one in SHOP.turns),
        next_question=SHOP.turns[2].question,
    )
    return replace(request, **changes)


class UserContract:
    """Subclasses are called ``Test...``."""

    @pytest.fixture
    def user(self) -> User:
        raise NotImplementedError("give a fixture `user` that returns the user to be tested")

    @pytest.fixture(params=tuple(_EVIDENCE))
    def request_to_word(self, request: pytest.FixtureRequest) -> WordingRequest:
        """Return a turn on each occasion that a recorded conversation gives."""
        return wording_request(request.param)

    def test_it_is_a_user(self, user: User) -> None:
        assert not (why := misfit(user, User)), f"this is no user: {why}"

    @pytest.mark.asyncio
    async def test_it_says_something_or_skips(self, user: User, request_to_word: WordingRequest) -> None:
        wording = await user.word(request_to_word)
        assert isinstance(wording, Wording), f"word gave {wording!r}: return a Wording"
        moves = typing.get_args(Move)
        assert wording.move in moves, f'"{wording.move}" is no move; one of {", ".join(moves)}'
        assert bool(wording.text.strip()) == (wording.move != "skip"), (
            f'the move is "{wording.move}" and the text "{wording.text}": a skip says nothing, all else does'
        )
        assert wording.move == "skip" or wording.source, "source is empty: say where the words come from"

    @pytest.mark.asyncio
    async def test_what_it_says_can_be_said(self, user: User, request_to_word: WordingRequest) -> None:
        """In three attempts at most, each with the reason against the one before; or it skips."""
        known = knowledge(SHOP, 2, request_to_word)
        reason = None
        for _ in range(ATTEMPTS):
            wording = await user.word(request_to_word)
            if wording.move == "skip" or not (reason := unfaithful(wording, request_to_word, known)):
                return
            rejected = RejectedWording(text=wording.text, reason=reason)
            request_to_word = replace(request_to_word, rejected=(*request_to_word.rejected, rejected))
        raise AssertionError(f'three wordings were rejected, the last one "{wording.text}": {reason}')

    @pytest.mark.asyncio
    async def test_what_was_rejected_is_not_said_again(
        self, user: User, request_to_word: WordingRequest
    ) -> None:
        first = await user.word(request_to_word)
        again = replace(request_to_word, rejected=(RejectedWording(text=first.text, reason="too long"),))
        second = await user.word(again)
        assert first.move == "skip" or second.text != first.text, (
            f'"{first.text}" was rejected and worded again: say something else, or skip'
        )

    @pytest.mark.asyncio
    async def test_the_same_turn_gets_the_same_words(
        self, user: User, request_to_word: WordingRequest
    ) -> None:
        """Whatever was worded in between, and however many are worded side by side."""
        first = await user.word(request_to_word)
        await user.word(replace(request_to_word, conversation="other", question="Why?", standalone=None))
        together = await asyncio.gather(*(user.word(request_to_word) for _ in range(3)))
        assert {(one.move, one.text) for one in together} == {(first.move, first.text)}, (
            "the same turn is worded otherwise: keep nothing from one call to the next, draw by the request"
        )

    @pytest.mark.asyncio
    async def test_a_turn_of_which_little_is_known_can_be_worded(self, user: User) -> None:
        bare = wording_request(
            standalone=None, rewritten=None, meanings=(), facts=(), history=(), next_question=None
        )
        for question in ("Why?", "☃ \ud800 ☃", "Und warum?"):
            assert isinstance(await user.word(replace(bare, question=question)), Wording)

    @pytest.mark.asyncio
    async def test_who_says_so_talks_without_a_script(self, user: User) -> None:
        if not isinstance(user, GoalUser):
            pytest.skip("it has no for_goals")
        talking = user.for_goals()
        assert not (why := misfit(talking, User)), f"for_goals gave no user: {why}"
        goal = UserGoal(wants="You want to cancel order 40233.", facts={"item": "bread knife"})
        bare = {"standalone": None, "rewritten": None, "meanings": (), "next_question": None}
        for history in ((), wording_request().history):
            request = wording_request(
                "simulated", goal=goal, question=goal.wants, own_turns=(), history=history, **bare
            )
            wording = await talking.word(request)
            assert wording.move in ("message", *ENDINGS), (
                f'the move is "{wording.move}": without a script it is "message", or an end'
            )
            assert wording.move != "message" or wording.text.strip(), "it says nothing"

    @pytest.mark.asyncio
    async def test_the_signature_is_one_word_and_stays(self, user: User) -> None:
        before = user.signature
        await user.word(wording_request())
        check_signature(user, before)
