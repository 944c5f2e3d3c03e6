"""
What every policy must keep, as tests: subclass, give the fixture ``policy``, and they run.

A policy that looks at drift takes the fixture ``detector``, which resolves with the shipped resolver.
"""

from __future__ import annotations

import asyncio
import typing
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from msgspec.structs import replace

from replay.core.conversation import Conversation, Turn
from replay.core.errors import AdapterError
from replay.core.history import Exchange, PlayedTurn, gold_history, own_history
from replay.core.record import Edit
from replay.core.settings.plugins import misfit
from replay.coreference.drift import DriftDetector
from replay.coreference.service.service import CoreferenceService, ResolverChoice
from replay.policies.policy import PlannedTurn, Policy
from replay.testing.cases import check_signature
from replay.testing.fakes import ScriptedSystem, failure, play

TALK = Conversation(
    id="singer",
    title="Stone Garden (album)",
    background="Stone Garden is the third album of Alice Okafor.",
    turns=(
        Turn(id="1", question="Who sang Stone Garden?", gold_answers=("Alice Okafor sang it.", "Okafor")),
        Turn(
            id="2",
            question="Where was she born?",
            gold_answers=("She was born in Port Ellis.",),
            standalone="Where was the singer Alice Okafor born?",
        ),
        Turn(id="3", question="What else?"),
        Turn(id="4", question="Who taught her there?", gold_answers=("CANNOTANSWER",)),
        Turn(id="5", question="Ünd what did she do ☃?", gold_answers=("Her aunt Dilys taught her.",)),
    ),
)
"""Questions that lean on gold answers, one without any, one that can't be answered, one in no plain words."""
ASTRAY = ("It is a song.", "I don't know.", "", "Nobody did that ☃.", "She left.")
"""A system's own answers, none of which is a gold one."""
RIGHT = ("Alice Okafor sang it.", "In Port Ellis.", "Nothing.", "CANNOTANSWER", "Her aunt.")
AS_RECORDED = ("kept", "not-found", "rewrite-failed", "filtered")
"""Edits that leave the question's words alone."""

Planned = list[tuple[tuple[PlayedTurn, ...], PlannedTurn]]
"""For each turn what was behind it, and its plan."""


async def plan_all(policy: Policy, conversation: Conversation, answers: Sequence[str | None]) -> Planned:
    """Plan every turn with *policy* after the system's *answers*; None is an answer that left no trace."""
    played: list[PlayedTurn] = []
    found: Planned = []
    for depth, (turn, answer) in enumerate(zip(conversation.turns, answers, strict=True), 1):
        behind = tuple(played)
        planned = await policy.plan(conversation, depth, behind)
        found.append((behind, planned))
        left = None if planned.edit == "filtered" else answer
        played.append(PlayedTurn(turn=turn, asked=planned.question, answer=left))
    return found


class PolicyContract:
    """Subclasses are called ``Test...``."""

    whole_history = True
    """With ``history`` "own" all of it is shown; False for a policy that leaves some of it out and so is not
    for systems that keep the history themselves."""

    @pytest.fixture
    def policy(self) -> Policy:
        raise NotImplementedError("give a fixture `policy` that returns the policy to be tested")

    @pytest_asyncio.fixture
    async def detector(self) -> AsyncIterator[DriftDetector]:
        """Yield a drift detector with the shipped resolver, in this process."""
        choice = ResolverChoice(settings={}, folder=Path())
        async with CoreferenceService(choice, workers=0) as service:
            yield DriftDetector(service=service)

    def test_it_is_a_policy(self, policy: Policy) -> None:
        assert not (why := misfit(policy, Policy)), f"this is no policy: {why}"
        assert policy.history in ("gold", "own", "either"), (
            f'history is {policy.history!r}: set it to "own" where the system sees its own answers, to '
            '"gold" where it sees gold ones, to "either" where both will do'
        )

    @pytest.mark.asyncio
    async def test_a_first_turn_can_be_planned_with_nothing_played(self, policy: Policy) -> None:
        for conversation in (TALK, replace(TALK, turns=(Turn(id="1", question="Why?"),), background="")):
            planned = await policy.plan(conversation, 1, ())

            assert isinstance(planned, PlannedTurn), f"plan gave {planned!r}: return a replay.PlannedTurn"
            assert planned.question.strip(), "the planned question is empty"
            assert planned.history == (), (
                f"the first turn is planned with the history {planned.history}: nothing was said before it"
            )

    @pytest.mark.asyncio
    async def test_the_history_is_the_one_it_says(self, policy: Policy) -> None:
        for behind, planned in await plan_all(policy, TALK, ASTRAY):
            gold, own = gold_history(TALK, len(behind) + 1), own_history(behind)
            shown = planned.history
            if policy.history == "own" and self.whole_history:
                assert shown == own, (
                    f'history is "own", and of {own} the plan shows {shown}: show '
                    "replay.own_history(played), which is also what a system that keeps its history "
                    "sees; a policy that leaves some of it out sets whole_history = False in its test"
                )
            elif policy.history == "own":
                assert _within(shown, own), (
                    f'history is "own", and the plan shows {shown}, which is not from {own}: leave out '
                    "what you like, but show no gold answer"
                )
            elif policy.history == "gold":
                assert _within(shown, gold), (
                    f'history is "gold", and the plan shows {shown}, which is not from {gold}: show '
                    "replay.gold_history(conversation, depth), and no answer of the system"
                )
            else:
                assert _within(shown, gold) or shown == own, (
                    f"the plan shows {shown}: show gold answers or the system's own, and never both together"
                )

    @pytest.mark.asyncio
    async def test_the_edit_says_what_was_done_to_the_question(self, policy: Policy) -> None:
        known = typing.get_args(Edit)
        for answers in (ASTRAY, RIGHT):
            for (_, planned), turn in zip(await plan_all(policy, TALK, answers), TALK.turns, strict=True):
                assert planned.edit in known, f'"{planned.edit}" is no edit; one of {", ".join(known)}'
                as_recorded = planned.question == turn.question
                assert as_recorded == (planned.edit in AS_RECORDED), (
                    f'the edit of "{turn.question}" is "{planned.edit}", and it is asked as '
                    f'"{planned.question}": questions that are asked as recorded are '
                    f"{', '.join(AS_RECORDED)}, and no others are"
                )

    @pytest.mark.asyncio
    async def test_a_plan_shows_nothing_of_what_comes_later(self, policy: Policy) -> None:
        """Neither the gold answer to the question itself, nor anything after it."""
        for behind, planned in await plan_all(policy, TALK, ASTRAY):
            depth = len(behind) + 1
            later = [
                replace(turn, question=turn.question if n == depth else "Other?", gold_answers=("Other.",))
                for n, turn in enumerate(TALK.turns[depth - 1 :], depth)
            ]
            changed = replace(TALK, turns=(*TALK.turns[: depth - 1], *later))
            again = await policy.plan(changed, depth, behind)
            assert again == planned, (
                f"with other gold answers from turn {depth} on, turn {depth} is planned as {again}, not "
                f"as {planned}: look at what came before it alone"
            )

    @pytest.mark.asyncio
    async def test_a_plan_depends_on_what_it_is_given_and_nothing_else(self, policy: Policy) -> None:
        planned = await plan_all(policy, TALK, ASTRAY)
        other = replace(TALK, id="other", turns=TALK.turns[::-1])
        await plan_all(policy, other, RIGHT)

        backwards = [await policy.plan(TALK, len(behind) + 1, behind) for behind, _ in planned[::-1]]
        together = await asyncio.gather(*(policy.plan(TALK, len(b) + 1, b) for b, _ in planned))
        first = [plan for _, plan in planned]
        assert backwards[::-1] == first, (
            "planned again, backwards and after another conversation, the turns are planned otherwise: "
            "keep nothing from one call to the next, and draw nothing at random"
        )
        assert together == first, "planned side by side, the turns are planned otherwise: keep nothing"

    @pytest.mark.asyncio
    async def test_turns_that_left_no_trace_are_not_shown(self, policy: Policy) -> None:
        """A question that the policy ``filter`` leaves out, say."""
        behind = tuple(PlayedTurn(turn=turn, asked=turn.question, answer=None) for turn in TALK.turns[:2])
        planned = await policy.plan(TALK, 3, behind)
        assert policy.history != "own" or planned.history == (), (
            f"turns without an answer of the system are shown as {planned.history}: leave them out, as "
            "replay.own_history(played) does"
        )

    @pytest.mark.asyncio
    async def test_it_can_be_played_to_the_end(self, policy: Policy) -> None:
        answers = list(ASTRAY)
        records = await play(ScriptedSystem(*answers), policy, _answerable())
        assert [r.depth for r in records] == [1, 2, 3, 4, 5], f"played {len(records)} of 5 turns: {records}"
        assert {r.outcome for r in records} <= {"answered", "skipped"}, (
            f"outcomes {[r.outcome for r in records]}: a policy makes no turn fail"
        )

    @pytest.mark.asyncio
    async def test_a_failed_turn_is_nothing_to_it(self, policy: Policy) -> None:
        """The gold answer stands in for the missing one."""
        failed: AdapterError = failure("refused")
        system = ScriptedSystem(ASTRAY[0], failed, *ASTRAY[2:])
        records = await play(system, policy, _answerable(), on_failure="gold")
        assert len(records) == 5, f"after a failed turn {len(records)} of 5 turns are played"

    @pytest.mark.asyncio
    async def test_it_can_be_played_where_the_system_keeps_the_history(self, policy: Policy) -> None:
        if policy.history == "gold" or not self.whole_history:
            pytest.skip("it is not for systems that keep the history")
        system = ScriptedSystem(*ASTRAY, history="server")
        records = await play(system, policy, _answerable())
        assert len(records) == 5, f"played {len(records)} of 5 turns"
        assert not any(request.history for request in system.requests)

    @pytest.mark.asyncio
    async def test_the_signature_is_one_word_and_stays(self, policy: Policy) -> None:
        before = policy.signature
        await plan_all(policy, TALK, ASTRAY)
        check_signature(policy, before)


def _answerable() -> Conversation:
    """Return the conversation with a gold answer to every question, so that one can stand in."""
    turns = [replace(turn, gold_answers=turn.gold_answers or ("Nothing.",)) for turn in TALK.turns]
    return replace(TALK, turns=tuple(turns))


def _within(shown: Sequence[Exchange], whole: Sequence[Exchange]) -> bool:
    """Return whether *shown* are exchanges of *whole*, in their order."""
    rest = iter(whole)
    return all(exchange in rest for exchange in shown)
