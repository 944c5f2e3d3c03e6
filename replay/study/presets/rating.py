"""
``rating``: answers of runs, judged one by one, the same ones by every rater.

As in the thesis' human answer check: two raters, the same 100 randomly drawn answers, shown question,
passage, gold answer and generated answer; 1 if the answer covers the information of the gold answer; Cohen's
kappa. Beyond that any ordered scales, several criteria at once, and a further person for the answers that
raters part on (``adjudication.py``).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import msgspec

from replay.core.conversation import Conversation
from replay.core.errors import InputError
from replay.core.history import Exchange
from replay.core.settings.choice import Count
from replay.scorers.scorer import SHARE
from replay.study.preset import (
    Block,
    HumanScore,
    Material,
    PracticeItem,
    Preset,
    Results,
    StudyStep,
    TaskContent,
    Text,
    Transcript,
)
from replay.study.presets.adjudication import (
    STEP,
    Adjudication,
    Criterion,
    adjudications,
    disagreement_table,
    is_rated_on,
    rated_answers,
)
from replay.study.presets.run_turns import (
    RunTurn,
    added_turn,
    conversation_of,
    draw_turns,
    gold_block,
    passage_block,
    practice_turn,
    results_of_turns,
    run_turns,
)
from replay.study.tasks import Answer, Assignment, NewTask, StudyState, TalkTurn, Task

INSTRUCTIONS = """\
You will see questions from conversations, each with the passage that it is about, the answer that is known \
to be right, and an answer that was given.

Say whether the given answer covers the information of the right one. It need not have the same words, and \
it may say more, as long as nothing of that is wrong."""

COVERS = Criterion(question="Does the answer cover the information of the right answer?")


class AddedAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of further answers to rate."""

    question: str
    answer: str
    gold_answer: str | None = None
    passage: str = ""
    system: str = "added"


class RatingPractice(PracticeItem, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of its practice file."""

    question: str
    answer: str
    gold_answer: str | None = None
    rating: int | None = None
    """The right one, where there is one criterion."""
    ratings: Mapping[str, int] = {}
    """The right ones by criterion."""
    passage: str = ""
    history: tuple[Exchange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating(Preset):
    """Its settings, and what it does with them."""

    text: ClassVar[str] = INSTRUCTIONS
    contents: ClassVar[tuple[type[TaskContent], ...]] = (RunTurn, Adjudication)
    practice_item: ClassVar[type[PracticeItem]] = RatingPractice
    added_item: ClassVar[type[msgspec.Struct] | None] = AddedAnswer

    answers: Count = 100
    """How many are drawn of all answers."""
    stratify: tuple[Literal["system", "policy", "depth"], ...] = ()
    """Draw from each of these in proportion, in the place of from all at once."""
    criteria: Mapping[str, Criterion] = field(default_factory=lambda: {"rating": COVERS})
    """What is asked of each answer, by the name that its scores have in tables."""
    show: tuple[Literal["passage", "history", "gold"], ...] = ("passage", "history", "gold")
    """What stands beside question and answer; without ``gold``, answers without a known one are drawn too."""
    raters: Count | None = None
    """How many people rate each answer; None for everyone."""
    adjudicate: bool = False
    """Give answers that raters part on to another person, whose rating is final."""
    adjudicator: str | int | None = None
    """That person's name, or their number among the raters, who then rates nothing else; None for anyone who
    hasn't rated the answer."""
    adjudicate_above: int = 0
    """Raters part on an answer where two ratings of it lie further apart than this."""
    adjudicator_sees_ratings: bool = False
    """Show the ratings that were given, without names, to whoever adjudicates."""

    def __post_init__(self) -> None:
        bad = [name for name in self.criteria if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name)]
        if bad or not self.criteria:
            named = f'"{bad[0]}" can\'t name a criterion' if bad else "criteria: there are none"
            raise ValueError(f"{named}; write small letters, digits and _, as in covers_gold")
        if self.adjudicator is not None and not self.adjudicate:
            raise ValueError("adjudicator: has nothing to do without adjudicate: true")

    def tasks(self, material: Material) -> Sequence[NewTask]:
        needs_gold = "gold" in self.show
        found = [one for one in run_turns(material) if one.record.gold_answers or not needs_gold]
        if not found:
            lacking = "both an answer and a gold answer" if needs_gold else "an answer"
            raise InputError(f"runs: no turn has {lacking}, so there is nothing to rate")
        never = self._adjudicator(material)
        return [
            one.task(
                one.record.recorded_conversation,
                system=one.record.system,
                raters=self.raters,
                never=never,
            )
            for one in draw_turns(found, self.answers, random.Random(material.seed), stratum=self._stratum)
        ]

    def _stratum(self, turn: RunTurn) -> tuple[str | int, ...]:
        return tuple(getattr(turn.record, name) for name in self.stratify)

    def _adjudicator(self, material: Material) -> tuple[int, ...]:
        """
        Return the id of who only adjudicates.

        Raises:
            InputError: nobody is called so, or nobody would be left to adjudicate.
        """
        if self.adjudicator is None:
            all_rate = self.raters is None or (self.raters >= len(material.raters) and not material.more_come)
            if self.adjudicate and all_rate:
                raise InputError(
                    "preset.rating.adjudicate: nobody is left to, since everybody rates every answer; "
                    "name an adjudicator, or set raters below the number of people who take part"
                )
            return ()
        found = [
            id
            for id, name in zip(material.raters, material.rater_names, strict=True)
            if self._is_it(id, name)
        ]
        if not found:
            names = ", ".join(material.rater_names)
            raise InputError(
                f'preset.rating.adjudicator: nobody is called "{self.adjudicator}" (raters: {names})'
            )
        return tuple(found)

    def _is_it(self, rater: int, name: str) -> bool:
        """Return whether the rater with that id and *name* is the adjudicator."""
        return self.adjudicator in (rater, name)

    def practice(self, item: RatingPractice) -> NewTask:
        right = dict(item.ratings)
        if item.rating is not None:
            if len(self.criteria) > 1:
                raise InputError("rating: says nothing of which criterion; write ratings: {NAME: NUMBER}")
            right[next(iter(self.criteria))] = item.rating
        unknown = [name for name in right if name not in self.criteria]
        if unknown:
            known = ", ".join(self.criteria)
            raise InputError(f'ratings: there is no criterion "{unknown[0]}" (criteria: {known})')
        if "gold" in self.show and item.gold_answer is None:
            raise InputError("gold_answer: is missing, and raters are shown it")
        turn = practice_turn(
            item.question, item.answer, item.gold_answer, passage=item.passage, history=item.history
        )
        return turn.task(turn.record.conversation, practice={STEP: right})

    def added_task(self, item: AddedAnswer, conversation: str) -> tuple[NewTask, Conversation]:
        turn = added_turn(
            item.question,
            item.answer,
            item.gold_answer,
            passage=item.passage,
            system=item.system,
            conversation=conversation,
        )
        return turn.task(conversation, system=item.system), conversation_of(turn)

    def screens(
        self,
        task: Task,
        content: RunTurn | Adjudication,
        turns: Sequence[TalkTurn],
        answers: Mapping[str, Answer],
    ) -> Sequence[StudyStep]:
        if isinstance(content, RunTurn):
            turn, asked, before = content, list(self.criteria), ""
        else:
            turn, asked, before = content.turn, list(content.criteria), content.ratings
        blocks: list[Block] = passage_block(turn.passages) if "passage" in self.show else []
        if "history" in self.show and turn.history:
            blocks.append(Transcript(heading="Before", exchanges=turn.history))
        blocks.append(Text(heading="Question", text=turn.record.asked))
        if "gold" in self.show and turn.record.gold_answers:
            blocks.append(gold_block(turn.record))
        blocks.append(Text(heading="Answer to judge", text=turn.record.answer or ""))
        if before and self.adjudicator_sees_ratings:
            blocks.append(Text(heading="What others said", text=before))
        fields = tuple(self.criteria[name].as_field(name) for name in asked)
        return [StudyStep(id=STEP, heading="Answer", blocks=tuple(blocks), fields=fields, alone=True)]

    def follow_ups(self, state: StudyState, ended: Assignment) -> Sequence[NewTask]:
        return self._adjudications(state, [state.tasks[ended.task]])

    def further(self, state: StudyState, rater: int) -> Sequence[NewTask] | None:
        # What follows from no rating: somebody left of whom one was expected, or has corrected theirs.
        if found := self._adjudications(state, state.tasks.values()):
            return found
        return () if self._may_settle(state, rater) else None

    def to_come(self, state: StudyState, rater: int) -> float | None:
        # Whether others will part nobody knows.
        return None if self._may_settle(state, rater) else 0

    def _may_settle(self, state: StudyState, rater: int) -> bool:
        """Return whether something that others have yet to rate may come to *rater*."""
        name = next(one.name for one in state.raters if one.id == rater)
        may = self.adjudicator is None or self._is_it(rater, name)
        return self.adjudicate and may and is_rated_on(state, rater)

    def _adjudications(self, state: StudyState, tasks: Iterable[Task]) -> list[NewTask]:
        if not self.adjudicate:
            return []
        only = tuple(one.id for one in state.raters if self._is_it(one.id, one.name))
        return adjudications(
            state,
            tasks,
            self.criteria,
            above=self.adjudicate_above,
            only=None if self.adjudicator is None else only,
        )

    def results(self, state: StudyState) -> Results:
        answers = rated_answers(state)
        scores = []
        for one in answers:
            for name, criterion in self.criteria.items():
                for rater, rating in one.ratings(name).items():
                    score = HumanScore(name=f"human_{name}", turn=one.turn.key, rater=rater, value=rating)
                    scores.append(score)
                if self.adjudicate:
                    value = one.final(name, criterion)
                    final = HumanScore(name=f"final_{name}", turn=one.turn.key, rater="final", value=value)
                    scores.append(final)
        turns = [one.turn for one in answers]
        return results_of_turns(
            state,
            turns,
            scores=scores,
            tables=[disagreement_table(answers, self.criteria)],
            units={
                f"{kind}_{name}": SHARE if criterion.is_yes_or_no else ""
                for name, criterion in self.criteria.items()
                for kind in ("human", "final")
            },
        )
