"""
``react`` and ``simulate``: a user speaks where the recorded script does not do, or where there is none.

``react`` plays the recorded script over the system's own history, as long as it fits. Where the verdict says
that a question means something else now, a user words it from the recorded intent. Where a reply asks back,
refuses, was not understood or did not come, and the recorded one did, the user follows it up, a few times at
most. Then the script goes on. A rephrasing is tested by the verdict as well: after both histories it has to
mean the same.

Under ``simulate`` a user who has a goal leads a conversation without recorded questions. Each turn is what
they say to what the system really said, until they have what they want, see that they won't get it, or there
have been as many turns as there may be. There is no recorded meaning to hold it against, but what the goal
says is all that they know. How they end it is kept beside the turns, as no turn of its own.

What a user words is tested by code before it is said (``replay.users.faithful``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from msgspec.structs import replace

from replay.core.asking.costs import NO_PRICES, PriceTable
from replay.core.conversation import Conversation
from replay.core.drift_evidence import Drift, MentionDrift
from replay.core.history import PlayedTurn, own_history
from replay.core.record import Edit, Intervention
from replay.core.settings.plugins import NestedChoice
from replay.coreference.drift import DriftDetector
from replay.coreference.reading.rewriting import rewrite
from replay.coreference.reading.words import comparable_words, words
from replay.policies.policy import PlannedTurn, Reacting, SeenOccasion
from replay.users.faithful import Knowledge, goal_knowledge, knowledge, reason_against_end, unfaithful
from replay.users.rules import RulesUser, unexpected_in
from replay.users.user import (
    ATTEMPTS,
    ENDINGS,
    GoalUser,
    User,
    UserFact,
    Wording,
    WordingRequest,
    build_user,
    known_facts,
    word_turn,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactPolicy:
    """Own answers in the history; a user where the recorded question does not do."""

    history: ClassVar[Literal["own"]] = "own"
    detector: DriftDetector
    user: User = field(default_factory=RulesUser)
    extra: int = 2
    """Exchanges that a turn may take beside its own."""

    def __post_init__(self) -> None:
        if self.extra < 0:
            raise ValueError(f"extra: {self.extra} is not a number of exchanges")

    @property
    def signature(self) -> str:
        return f"react|user:{self.user.signature}|extra:{self.extra}|{self.detector.signature}"

    @property
    def reacting(self) -> Reacting:
        """Itself."""
        return self

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        planned = await self._as_recorded(conversation, depth, played)
        if planned.drift is None or not planned.drift.invalid:
            return planned
        drift = planned.drift
        seen = SeenOccasion(
            occasion="drifted", evidence=f"{100 * drift.probability:.0f} % likely to have drifted"
        )
        return _with_words(planned, await self.follow_up(conversation, depth, played, seen, drift))

    async def plan_again(
        self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn], done: Intervention
    ) -> PlannedTurn:
        return _with_words(await self._as_recorded(conversation, depth, played), done)

    async def _as_recorded(
        self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]
    ) -> PlannedTurn:
        recorded = conversation.turns[depth - 1].question
        drift = (await self.detector.assess(conversation, depth, played)).drift
        return PlannedTurn(question=recorded, history=own_history(played), edit="kept", drift=drift)

    def occasion(
        self,
        conversation: Conversation,
        depth: int,
        played: Sequence[PlayedTurn],
        *,
        drift: Drift | None,
        so_far: Sequence[Intervention],
        failure: str | None,
    ) -> SeenOccasion | None:
        if len(so_far) >= self.extra or drift is None or drift.valid is None:
            return None
        turn, now = conversation.turns[depth - 1], played[-1]
        if failure is not None:
            return SeenOccasion(occasion="failed", evidence=failure)
        reply = now.answer or ""
        if found := unexpected_in(reply, turn.gold_answers):
            return SeenOccasion(occasion=found[0], evidence=found[1])
        said = now.exchanges[-1].question if now.exchanges else now.asked
        if (mention := _misread(reply, said, drift)) is not None:
            return SeenOccasion(occasion="misread", evidence=mention.predicted.antecedent or "")
        return None

    async def follow_up(
        self,
        conversation: Conversation,
        depth: int,
        played: Sequence[PlayedTurn],
        seen: SeenOccasion,
        drift: Drift | None,
    ) -> Intervention:
        """Return what the user does, tested; the recorded answers from *depth* on go no further than to the
        tests."""
        request = await self._request(conversation, depth, played, seen, drift)
        known = knowledge(conversation, depth, request)

        async def reason_against(wording: Wording, request: WordingRequest) -> str | None:
            return await self._reason_against(wording, request, known, conversation, depth, played)

        done = await word_turn(self.user, request, reason_against)
        return replace(done, evidence=seen.evidence)

    async def _request(
        self,
        conversation: Conversation,
        depth: int,
        played: Sequence[PlayedTurn],
        seen: SeenOccasion,
        drift: Drift | None,
    ) -> WordingRequest:
        turn = conversation.turns[depth - 1]
        readings = await self.detector.gold_readings(conversation, depth)
        found = () if isinstance(readings, Drift) else readings
        rewritten = rewrite(turn.question, found)
        misread = None
        if seen.occasion == "misread" and drift is not None:
            misread = seen.evidence
            found = tuple(m.gold for m in drift.mentions if m.predicted.antecedent == misread)
        last = depth == len(conversation.turns)
        return WordingRequest(
            conversation=conversation.id,
            depth=depth,
            occasion=seen.occasion,
            evidence="" if seen.occasion == "drifted" else seen.evidence,
            question=turn.question,
            standalone=turn.standalone,
            rewritten=None if rewritten == turn.question else rewritten,
            meanings=tuple((one.mention.text, one.antecedent) for one in found if one.antecedent),
            misread=misread,
            facts=known_facts(conversation),
            history=own_history(played),
            own_turns=tuple(one.question for one in conversation.turns),
            next_question=None if last else conversation.turns[depth].question,
        )

    async def _reason_against(
        self,
        wording: Wording,
        request: WordingRequest,
        known: Knowledge,
        conversation: Conversation,
        depth: int,
        played: Sequence[PlayedTurn],
    ) -> str | None:
        if wording.move == "skip":
            return None
        if reason := unfaithful(wording, request, known):
            return reason
        if wording.move != "rephrasing" or request.occasion == "failed":
            return None
        turn = replace(conversation.turns[depth - 1], question=wording.text)
        reworded = replace(
            conversation, turns=(*conversation.turns[: depth - 1], turn, *conversation.turns[depth:])
        )
        drift = (await self.detector.assess(reworded, depth, played)).drift
        if drift.invalid:
            return "after what was really said it does not mean what the user wants; name what it is about"
        return None


def _with_words(planned: PlannedTurn, one: Intervention) -> PlannedTurn:
    """Return *planned* with what the user did in place of its question."""
    if one.said is not None:
        edit: Edit = "replaced" if one.source == "standalone" else "rewritten"
        return replace(planned, question=one.said, edit=edit, interventions=(one,))
    # What failed the tests says nothing of the question, which then is asked as it was recorded.
    edit = "rewrite-failed" if one.rejected else "filtered"
    return replace(planned, edit=edit, edit_note=one.note, interventions=(one,))


def _misread(reply: str, said: str, drift: Drift) -> MentionDrift | None:
    """Return the first mention that *reply* misreads; None if there is none."""
    spoken, asked = set(words(reply)), set(words(said))
    for mention in drift.mentions:
        meant, taken = (
            set(comparable_words(one.antecedent or "")) for one in (mention.gold, mention.predicted)
        )
        other = taken - meant - asked
        if (
            mention.state == "drifted"
            and other
            and taken <= spoken | asked
            and other <= spoken
            and not meant & spoken
        ):
            return mention
    return None


def react_policy(
    *,
    detector: DriftDetector,
    folder: Path,
    price_table: PriceTable = NO_PRICES,
    user: NestedChoice = "rules",
    extra: int = 2,
) -> ReactPolicy:
    """
    Return the policy from a scenario's settings.

    Args:
        detector: Judges whether a question still means the same.
        folder: The folder that relative file names start from.
        price_table: The scenario's, for a user's model.
        user: The user's name, or a mapping from its name to its settings.
        extra: The most exchanges that the user adds to a turn, at least 0.

    Raises:
        ScenarioError: the user can't be built.
        ValueError: *extra* is below 0.
    """
    return ReactPolicy(detector=detector, user=build_user(user, folder, price_table), extra=extra)


TURNS = 10
"""Turns of a conversation at most, where neither it nor the scenario says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatePolicy:
    """A user with a goal in the place of recorded questions, after the system's own answers."""

    history: ClassVar[Literal["own"]] = "own"
    user: User
    """As they talk without a script."""
    turns: int = TURNS
    """The most turns where the goal doesn't say."""

    def __post_init__(self) -> None:
        if self.turns < 1:
            raise ValueError(f"turns: {self.turns} is not a positive whole number")

    @property
    def signature(self) -> str:
        return f"simulate|user:{self.user.signature}|turns:{self.turns}"

    @property
    def most_turns(self) -> int:
        return self.turns

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        goal, history = conversation.goal, own_history(played)
        assert goal is not None, "a run lets only conversations with a goal come here"
        if depth == 1 and goal.opener:
            one = Intervention(
                occasion="simulated", evidence="", move="message", said=goal.opener, source="opener"
            )
        else:
            is_over = depth > (goal.turns or self.turns)
            one = await self._word(conversation, depth, played, attempts=1 if is_over else ATTEMPTS)
            if is_over and one.move not in ("goal-reached", "given-up"):
                one = replace(one, move="turn-limit", said=None, source="", note=None)
        return PlannedTurn(
            question=one.said or "",
            history=history,
            edit="simulated" if one.said is not None else "ended",
            edit_note=one.note,
            interventions=(one,),
        )

    async def _word(
        self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn], *, attempts: int
    ) -> Intervention:
        assert conversation.goal is not None
        goal = conversation.goal
        request = WordingRequest(
            conversation=conversation.id,
            depth=depth,
            occasion="simulated",
            evidence="",
            question=goal.wants,
            standalone=None,
            rewritten=None,
            facts=tuple(UserFact(kind=kind, value=value) for kind, value in goal.facts.items()),
            history=own_history(played),
            own_turns=(goal.opener,) if goal.opener else (),
            goal=goal,
        )
        known = goal_knowledge(goal, request)

        async def reason_against(wording: Wording, request: WordingRequest) -> str | None:
            if wording.move in ENDINGS:
                return reason_against_end(wording, request)
            return unfaithful(wording, request, known)

        return await word_turn(self.user, request, reason_against, attempts=attempts)


def simulate_policy(
    *,
    folder: Path,
    price_table: PriceTable = NO_PRICES,
    user: NestedChoice | None = None,
    turns: int = TURNS,
) -> SimulatePolicy:
    """
    Return the policy from a scenario's settings.

    Args:
        folder: The folder that relative file names start from.
        price_table: The scenario's, for a user's model.
        user: The user's name, or a mapping from its name to its settings.
        turns: The most turns of a conversation whose goal doesn't say, at least 1.

    Raises:
        ScenarioError: the user can't be built.
        ValueError: there is none, or none who can talk without a script, or *turns* is below 1.
    """
    if user is None:
        raise ValueError(
            "simulate needs a user with a model, as in user: {llm: {adapter: openai, settings: {...}}}"
        )
    built = build_user(user, folder, price_table)
    if not isinstance(built, GoalUser):
        name = user if isinstance(user, str) else next(iter(user), "")
        raise ValueError(
            f'the user "{name}" has words for recorded questions alone and can\'t talk from a goal; use llm, '
            "or one of your own that has for_goals (docs/plugins.md)"
        )
    return SimulatePolicy(user=built.for_goals(), turns=turns)
