"""
Conversations asked by a loop of one's own, turn by turn: what to ask next and after which history, the
answer put back, and all of it scored in the end.

For harnesses that ask by themselves. The plans, the drift and the records are those of a run; nothing is
stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from replay.core.adapter import ChatReply, ChatRequest, WireTimes
from replay.core.conversation import Conversation
from replay.core.errors import AdapterCutOffError, AdapterError, Fault, ScenarioError
from replay.core.history import PlayedTurn, with_recorded_context
from replay.core.record import Timing, TurnRecord
from replay.core.safety.consent import code_may_run
from replay.core.settings.choice import Choice, read_choice
from replay.core.settings.faults import faults_of
from replay.core.settings.in_memory import with_names
from replay.datasets.data_file import SourceLocation
from replay.datasets.reader import check
from replay.play.turn_record import OnFailure, ends_conversation, played_turn, turn_record, unasked_turn
from replay.policies.policy import PlannedTurn, Policy, most_turns
from replay.policies.rewrite import open_policies
from replay.scenario.assembly import detector_of
from replay.scenario.part_builder import PartBuilder
from replay.scenario.reading import in_plain_form
from replay.scenario.sections import DriftSection
from replay.scorers.scorer import Scorer
from replay.statistics.score_column import ScoreColumn, score_columns, survey_scorers

if TYPE_CHECKING:
    import pandas as pd


@asynccontextmanager
async def drive(
    policy: Any,
    *,
    drift: Mapping[str, Any] | None = None,
    system: str = "system",
    on_failure: OnFailure = "stop",
    folder: str | Path = ".",
) -> AsyncIterator[ConversationDriver]:
    """
    Yield a driver that plans and records conversations under *policy*; it works while the block lasts.

    Args:
        policy: As written in a scenario, or a policy object.
        drift: As written in a scenario; without ``nlp_workers`` the resolver works in this process.
        system: The name of the asked system in the records.
        on_failure: What follows a failed turn: as ``play.on_failure`` of a scenario.
        folder: The folder from which relative paths start.

    Raises:
        ScenarioError: the policy or the drift detection can't be built.
    """
    builder = PartBuilder(Path(folder))
    section = drift_section({"nlp_workers": 0, **(drift or {})})
    choices = _choices("policies", [policy])
    with code_may_run():
        service = builder.service(section)
        policies = builder.policies(choices, detector=detector_of(builder, service, section))
    if builder.faults or service is None:
        raise ScenarioError("drive", builder.faults)
    built = policies[choices[0].label]
    assert built is not None
    async with service, open_policies([built]):
        yield ConversationDriver(built, choices[0].label, system, on_failure, Path(folder))


def drift_section(drift: Mapping[str, Any]) -> DriftSection:
    """
    Return the section ``drift`` of a scenario.

    Raises:
        ScenarioError: it has faults.
    """
    content = with_names(drift)
    try:
        return DriftSection.model_validate(content)
    except ValidationError as error:
        raise ScenarioError("drive", faults_of(error, DriftSection, content, "drift")) from error


def _choices(kind: str, given: Sequence[Any]) -> list[Choice]:
    """
    Raises:
        ScenarioError: one is in none of the forms that a scenario allows.
    """
    content = with_names(in_plain_form({kind: list(given)})[kind])
    try:
        return [Choice.model_validate(read_choice(one)) for one in content]
    except ValueError as error:
        raise ScenarioError("drive", [Fault(path=kind, message=str(error))]) from error


@code_may_run()
def made_scorers(scorers: Sequence[Any], folder: Path = Path()) -> dict[str, Scorer[Any]]:
    """
    Build *scorers* and return them by label.

    Args:
        scorers: Each as written in a scenario, or an object.
        folder: The folder from which relative paths start.

    Raises:
        ScenarioError: one can't be built.
    """
    builder = PartBuilder(folder)
    built: dict[str, Scorer[Any] | None] = builder.scorers(_choices("scorers", scorers))
    if builder.faults:
        raise ScenarioError("scorers", builder.faults)
    return {label: scorer for label, scorer in built.items() if scorer}


class ConversationDriver:
    """Conversations that the caller asks, of one system under one policy."""

    def __init__(
        self,
        policy: Policy,
        label: str,
        system: str,
        on_failure: OnFailure,
        folder: Path,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.records: list[TurnRecord] = []
        """All turns so far, in the order in which they were recorded."""
        self._policy = policy
        self._label = label
        self._system = system
        self._on_failure = on_failure
        self._folder = folder
        self._begun: dict[str, Conversation] = {}
        self.clock = clock
        self._start = clock()

    def begin(self, conversation: Conversation) -> DrivenConversation:
        """
        Begin *conversation*; several may be under way side by side.

        Raises:
            DatasetError: it has no turns, or an empty question.
            ValueError: one with its id was begun before, or the policy needs a goal where it has recorded
                questions, or the other way round.
        """
        check(conversation, SourceLocation(path=Path("drive")))
        if conversation.id in self._begun:
            raise ValueError(
                f'conversation "{conversation.id}" was begun already; records are kept by its id, so give '
                "another play of it another id"
            )
        most = most_turns(self._policy)
        if (most is None) != (conversation.goal is None):
            needed = "recorded questions" if most is None else "a goal"
            raise ValueError(f'"{self._label}" needs {needed}, and conversation "{conversation.id}" has none')
        if most is not None:
            conversation = conversation.with_open_turns(most)
        self._begun[conversation.id] = conversation
        return DrivenConversation(self, conversation)

    @property
    def signature(self) -> str:
        """The policy's."""
        return self._policy.signature

    async def plan(self, play: DrivenConversation, depth: int) -> PlannedTurn:
        """Return the policy's plan for the turn at *depth* of *play*."""
        return await self._policy.plan(play.conversation, depth, tuple(play.played))

    def keep(
        self,
        play: DrivenConversation,
        planned: PlannedTurn,
        outcome: Any,
        times: WireTimes | None,
        **more: Any,
    ) -> bool:
        """Keep the record of *play*'s next turn; returns whether another can follow it."""
        record = turn_record(
            play.conversation,
            len(play.played) + 1,
            planned,
            outcome,
            system=self._system,
            policy=self._label,
            timing=None if times is None else self._timing(times),
            **more,
        )
        self.records.append(record)
        play.played.append(played_turn(play.conversation, record))
        return not ends_conversation(record, self._on_failure)

    def _timing(self, times: WireTimes) -> Timing:
        sent, done = times.sent - self._start, times.done - self._start
        return Timing(scheduled_s=sent, sent_s=sent, done_s=done)

    def turns(self, scorers: Sequence[Any] = ("em", "f1")) -> pd.DataFrame:
        """
        Return one row per turn so far, as ``Run.turns`` does.

        Args:
            scorers: Each as written in a scenario, or an object.

        Raises:
            ScenarioError, PluginError: a scorer can't be built, or fails.
        """
        from replay.statistics.score_column import turns_frame

        return turns_frame(self.records, self._scores(scorers))

    def depth_table(
        self, scorers: Sequence[Any] = ("em", "f1"), *, resamples: int = 1000, seed: int = 0
    ) -> pd.DataFrame:
        """Return the depth table of the turns so far, as ``Run.depth_table`` does; errors as in ``turns``."""
        from replay.statistics.depth_table import depth_table

        played = Counter(record.conversation for record in self.records)
        lengths = {name: played[name] if one.goal else len(one.turns) for name, one in self._begun.items()}
        return depth_table(
            self.records,
            self._scores(scorers),
            lengths,
            only_last=all(one.asked_from == len(one.turns) for one in self._begun.values()),
            resamples=resamples,
            seed=seed,
        ).to_frame()

    @code_may_run()
    def _scores(self, scorers: Sequence[Any]) -> dict[str, ScoreColumn]:
        made = made_scorers(scorers, self._folder)
        return score_columns(self.records, survey_scorers(made, lambda: iter(self.records)))


class DrivenConversation:
    """One conversation; ``next_turn`` and ``answered`` or ``failed`` take turns."""

    def __init__(self, loop: ConversationDriver, conversation: Conversation) -> None:
        self.conversation = conversation
        before = conversation.turns[: conversation.asked_from - 1]
        self.played: list[PlayedTurn] = [unasked_turn(turn) for turn in before]
        """The turns behind us, with what really was asked and answered."""
        self.planned: PlannedTurn | None = None
        """The turn that waits for its answer, as the policy planned it: its edit and its drift."""
        self._loop = loop
        self._over = False
        self._sent = 0.0

    async def next_turn(self) -> ChatRequest | None:
        """
        Return the next question with the history to show; None if the conversation is over.

        A turn that the policy doesn't ask (``filter``) is recorded as skipped and passed over.

        Raises:
            RuntimeError: the turn before has no answer yet.
            ResolverError: drift can't be detected.
        """
        if self.planned is not None:
            raise RuntimeError(
                f"turn {len(self.played) + 1} waits for its answer; call answered or failed before next_turn"
            )
        while not self._over and len(self.played) < len(self.conversation.turns):
            depth = len(self.played) + 1
            planned = await self._loop.plan(self, depth)
            if planned.edit == "ended":
                self._over = True
                break
            if planned.edit == "filtered":
                self._over = not self._loop.keep(self, planned, "skipped", None, attempts=0, asks=0)
                continue
            self.planned = planned
            turn = self.conversation.turns[depth - 1]
            history, asked_with = with_recorded_context(planned.history, self.played, turn)
            self._sent = self._loop.clock()
            return ChatRequest(question=planned.question, history=history, depth=depth, asked_with=asked_with)
        return None

    def answered(self, answer: str | ChatReply) -> None:
        """
        Record the system's *answer* to the turn that was asked last.

        The time since ``next_turn`` counts as its latency, unless a reply has times of its own.

        A reply's ``steps`` are the tools that were called on the way, with what they came to.

        Raises:
            RuntimeError: no turn waits for one.
            ValueError: it is no answer yet, but calls tools.
        """
        reply = ChatReply(text=answer) if isinstance(answer, str) else answer
        if reply.tool_calls:
            raise ValueError(
                f"the reply calls {reply.tool_calls[0].name} and is no answer yet: ask again with the "
                "results, and give the last reply, with those calls and results as its steps"
            )
        self._end("answered", reply.times, reply=reply, usage=reply.usage, cost_usd=reply.cost_usd)

    def failed(self, error: AdapterError) -> None:
        """
        Record that no answer came to the turn that was asked last; *error* says why.

        The conversation then ends, or goes on after the gold answer, as ``on_failure`` says.

        Raises:
            RuntimeError: no turn waits for an answer.
        """
        partial = error.partial if isinstance(error, AdapterCutOffError) else None
        self._end(error.outcome, None, error=str(error), partial=partial)

    def _end(self, outcome: str, times: WireTimes | None, **more: Any) -> None:
        planned, self.planned = self.planned, None
        if planned is None:
            raise RuntimeError("no turn waits for an answer; await next_turn first")
        times = times or WireTimes(sent=self._sent, done=self._loop.clock())
        self._over = not self._loop.keep(self, planned, outcome, times, **more)
