"""
What comes of a ``convqa`` study: accuracy by majority, agreement, conversations that can be replayed.

As in Li et al., *Ditch the Gold Standard* (ACL 2022), section 3, questions that all validators call invalid
are dropped, and whether an answer is correct is what most of three people say, the one who asked among them.
Where the source says nothing, we say this:

- Of a validator who finds a question unanswerable, and so doesn't see its answer, the verdict is that it is
  correct if the system said that it can't answer, and incorrect if it answered. Who calls it invalid has
  none.
- Where one of the validators calls a question answerable and the other unanswerable, the one who asked tips
  the scale by calling a system that declined right, or wrong. Where it answered the question is answerable,
  since somebody has found an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import msgspec

from replay.core.conversation import CANNOT_ANSWER, Conversation, Passage, Turn
from replay.core.decoding import convert_to
from replay.scorers.answer_text import declines
from replay.scorers.scorer import SHARE
from replay.statistics.people import HumanNumber, HumanTable, number_text
from replay.statistics.rater_agreement import RatedItem, majority
from replay.statistics.rater_table import rater_agreement_of
from replay.study.preset import HumanScore, JudgedTurnKey, Results, TaskContent
from replay.study.presets.run_turns import POLICY, LiveTalk, answers_of, live_talks, share_number
from replay.study.tasks import Answer, Assignment, StudyState

MAJORITY = "majority"
"""In the place of a rater's name, of what the asker and all validators say together."""
NOTHING_YET = "nothing validated yet"


Judged = Literal["answerable", "unanswerable", "invalid"]


class ConvQATalk(TaskContent, frozen=True, kw_only=True):
    """What a task of talking holds."""

    kind: ClassVar[str] = "talk"
    about: Conversation
    """What it is about, without its turns."""
    first_question: str


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """A question of a conversation, and the system's answer."""

    depth: int
    question: str
    answer: str


class ValidationContent(TaskContent, frozen=True, kw_only=True):
    """What a task of validating a conversation holds."""

    kind: ClassVar[str] = "validate"
    passages: tuple[Passage, ...]
    pairs: tuple[Pair, ...]
    talk: int | None
    """The assignment in which it was talked; None of practice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What a validator said of one pair."""

    question: Judged
    correct: int | None = None
    """Of an answerable question."""
    span: str | None = None
    """The right answer, where the system's is none."""

    @property
    def verdict(self) -> str:
        """All of it in a word."""
        if self.question != "answerable":
            return self.question
        return "correct" if self.correct else "incorrect"

    def correctness(self, declined: bool) -> int | None:
        """
        Return 1 if a system that *declined*, or answered, is right by this, else 0; None of an invalid
        question.
        """
        if self.question == "answerable":
            return self.correct
        return int(declined) if self.question == "unanswerable" else None


def validation_of(depth: int, answers: Mapping[str, Answer]) -> Validation:
    """Return the validation of the pair at *depth*, from the *answers* to all screens by step."""
    question = answers[f"question-{depth}"]["question"]
    if question != "answerable":
        return Validation(question="invalid" if question == "invalid" else "unanswerable")
    correct = int(answers[f"answer-{depth}"]["correct"])
    # What was copied before somebody changed their mind is still there.
    # Whoever corrects a "yes" of finished work is asked for the span afterwards, and may not have given it.
    span = None if correct else answers.get(f"span-{depth}", {}).get("span")
    return Validation(question="answerable", correct=correct, span=None if span is None else str(span))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdict:
    """What all who judged a pair say together."""

    answer: str
    declined: bool
    """The system said that it can't answer."""
    asker: int
    """Whether the answer is correct, by the one who asked."""
    validations: Mapping[str, Validation]
    """By rater."""

    @property
    def is_dropped(self) -> bool:
        """Return whether all validators call the question invalid."""
        return all(one.question == "invalid" for one in self.validations.values())

    @property
    def correct(self) -> int | None:
        """1 if the majority calls the answer correct, 0 if it calls it wrong; None if evenly split."""
        found = majority([self.asker, *(one.correctness(self.declined) for one in self.validations.values())])
        return int(found) if isinstance(found, int | float) else None

    @property
    def answerable(self) -> bool:
        said = [
            one.question == "answerable" for one in self.validations.values() if one.question != "invalid"
        ]
        if 2 * sum(said) != len(said):
            return 2 * sum(said) > len(said)
        return not (self.declined and self.asker)

    @property
    def gold_answers(self) -> tuple[str, ...]:
        """The right answers; none where nobody gave one that most agree with."""
        if not self.answerable:
            return (CANNOT_ANSWER,)
        if self.correct:
            return (CANNOT_ANSWER if self.declined else self.answer,)
        return tuple(dict.fromkeys(one.span for one in self.validations.values() if one.span is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPair:
    """A question that was asked in a talk, with all that was said of it."""

    turn: JudgedTurnKey
    topic: str
    question: str
    asker: str
    said: PairVerdict
    validated: bool
    """All have said what they are wanted for."""

    @property
    def is_kept(self) -> bool:
        """Return whether it is validated, and not dropped."""
        return self.validated and not self.said.is_dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvQAJudgedTalk:
    """A talk that its asker has judged."""

    talk: LiveTalk
    pairs: Sequence[JudgedPair]

    @property
    def is_validated(self) -> bool:
        return any(pair.validated for pair in self.pairs)


def results_of(state: StudyState, *, validators: int, declining: Sequence[str]) -> Results:
    """
    Return the results of a study in which *validators* people judge each talk besides the one who asked.

    Scores: ``human_correct`` and ``human_answerable`` of each person, and for talks with all their
    validations ``human_accuracy`` (the majority's), ``human_accuracy_answerable`` and ``human_unanswerable``.
    Of dropped questions there are none.
    """
    talks = judged_talks(state, validators=validators, declining=declining)
    pairs = [pair for talk in talks for pair in talk.pairs]
    return Results(
        records=[record for one in talks for record in one.talk.records()],
        conversations=[one.talk.conversation() for one in talks],
        scores=[score for pair in pairs for score in _scores(pair)],
        tables=[_by_system(talks), *([_agreement(pairs)] if validators > 1 else [])],
        data_set=[_with_gold(talk, validators) for talk in talks if any(pair.is_kept for pair in talk.pairs)],
    )


def judged_talks(state: StudyState, *, validators: int, declining: Sequence[str]) -> list[ConvQAJudgedTalk]:
    """Return the finished talks, in the order in which they were given."""
    names = state.names
    validating: dict[int | None, list[Assignment]] = {}
    for one in state.done:
        if state.tasks[one.task].kind == "validate":
            content = convert_to(state.tasks[one.task].content, ValidationContent)
            validating.setdefault(content.talk, []).append(one)
    found = []
    for talk in live_talks(state, lambda task: convert_to(task.content, ConvQATalk).about):
        validations = validating.get(talk.assignment.id, ())
        by_rater = {names[one.rater]: answers_of(state, one) for one in validations}
        pairs = [
            JudgedPair(
                turn=JudgedTurnKey(talk.system, POLICY, talk.id, turn.depth),
                topic=talk.about.id,
                question=turn.question,
                asker=talk.rater,
                said=PairVerdict(
                    answer=turn.answer,
                    declined=declines(turn.answer, declining),
                    asker=int(talk.answers[f"answer-{turn.depth}"]["correct"]),
                    validations={rater: validation_of(turn.depth, said) for rater, said in by_rater.items()},
                ),
                validated=0 < validators <= len(validations),
            )
            for turn in talk.turns
            if turn.answer is not None
        ]
        found.append(ConvQAJudgedTalk(talk=talk, pairs=pairs))
    return found


def _scores(pair: JudgedPair) -> list[HumanScore]:
    said = pair.said
    if pair.validated and said.is_dropped:
        return []
    values: list[tuple[str, str, int | None]] = [("human_correct", pair.asker, said.asker)]
    for rater, one in said.validations.items():
        values.append(("human_correct", rater, one.correctness(said.declined)))
        answerable = None if one.question == "invalid" else int(one.question == "answerable")
        values.append(("human_answerable", rater, answerable))
    if pair.validated:
        values.append(("human_accuracy", MAJORITY, said.correct))
        if said.answerable:
            values.append(("human_accuracy_answerable", MAJORITY, said.correct))
        values.append(("human_unanswerable", MAJORITY, int(not said.answerable)))
    return [
        HumanScore(name=name, turn=pair.turn, rater=rater, value=None if value is None else float(value))
        for name, rater, value in values
    ]


def _by_system(talks: Sequence[ConvQAJudgedTalk]) -> HumanTable:
    rows = []
    for system in sorted({one.talk.system for one in talks}):
        own = [one for one in talks if one.talk.system == system]
        validated = [pair for talk in own for pair in talk.pairs if pair.validated]
        kept = [pair for pair in validated if pair.is_kept]
        right = [(pair, pair.said.correct) for pair in kept if pair.said.correct is not None]
        rows.append(
            (
                system,
                len(own),
                sum(talk.is_validated for talk in own),
                len(validated),
                len(validated) - len(kept),
                len(kept) - len(right),
                share_number([(pair.topic, not pair.said.answerable) for pair in kept], NOTHING_YET),
                share_number([(pair.topic, correct) for pair, correct in right], NOTHING_YET),
                share_number(
                    [(pair.topic, correct) for pair, correct in right if pair.said.answerable], NOTHING_YET
                ),
            )
        )
    return HumanTable(
        title="Answers by majority",
        columns=(
            *("system", "conversations", "validated", "questions", "dropped", "undecided"),
            *("unanswerable", "accuracy", "accuracy on answerable questions"),
        ),
        rows=rows,
        caption="Of the validated conversations. Dropped: all validators call the question invalid. "
        "Undecided: as many call the answer correct as don't; such a question has no accuracy.",
    )


def _agreement(pairs: Sequence[JudgedPair]) -> HumanTable:
    """Among validators, as published; and of correctness, with the asker."""
    judged = [pair for pair in pairs if pair.validated]

    def row(
        what: str, ratings: Sequence[Mapping[str, str | float | None]]
    ) -> tuple[str | int | HumanNumber, ...]:
        items = [
            RatedItem(conversation=pair.topic, depth=None, ratings=given)
            for pair, given in zip(judged, ratings, strict=True)
        ]
        total = rater_agreement_of(items, same_raters=False).total
        return (what, total.complete, number_text(total.agreement, SHARE), number_text(total.fleiss))

    by_rater = [pair.said.validations for pair in judged]
    correct = [
        {
            pair.asker: pair.said.asker,
            **{rater: one.correctness(pair.said.declined) for rater, one in pair.said.validations.items()},
        }
        for pair in judged
    ]
    return HumanTable(
        title="Agreement of validators",
        columns=("on", "questions", "equal", "Fleiss' kappa"),
        rows=[
            row("everything", [{rater: one.verdict for rater, one in by.items()} for by in by_rater]),
            row("answerability", [{rater: one.question for rater, one in by.items()} for by in by_rater]),
            row("correctness, with the asker", correct),
        ],
        caption="Everything: invalid, unanswerable, correct or incorrect. Published (Li et al., 2022): 0.598 "
        "overall, 0.679 for answerability.",
    )


def _with_gold(judged: ConvQAJudgedTalk, validators: int) -> Conversation:
    """Return the talk as a conversation of a data set; its dropped questions are left out."""
    passages = judged.talk.about.passages
    turns = [
        Turn(
            id=f"{judged.talk.id}#{pair.turn.depth}",
            question=pair.question,
            gold_answers=(gold := pair.said.gold_answers),
            gold_passages=tuple(
                passage.id for passage in passages if any(one in passage.text for one in gold)
            ),
        )
        for pair in judged.pairs
        if pair.is_kept
    ]
    return judged.talk.with_gold("convqa", turns, passages, validators=validators)
