"""What comes of a ``convqa`` study: accuracy by majority, agreement, conversations that can be replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from replay.core.conversation import Conversation, Turn
from replay.core.decoding import convert_to
from replay.scorers.answer_text import declines
from replay.scorers.scorer import SHARE
from replay.statistics.people import number_text
from replay.statistics.rater_agreement import RatedItem
from replay.statistics.rater_table import rater_agreement_of
from replay.study.preset import TaskContent
from replay.study.presets.answers import POLICY, LiveTalk, answers_of, live_talks, share_number
from replay.study.presets.validation import PairVerdict, ValidationContent, validation_of
from replay.study.results import HumanNumber, HumanScore, HumanTable, JudgedTurnKey, Results
from replay.study.tasks import Assignment, StudyState

MAJORITY = "majority"
"""In the place of a rater's name, of what the asker and all validators say together."""
NOTHING_YET = "nothing validated yet"


class ConvQATalk(TaskContent, frozen=True, kw_only=True):
    """What a task of talking holds."""

    kind: ClassVar[str] = "talk"
    about: Conversation
    """What it is about, without its turns."""
    first_question: str


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
    def kept(self) -> bool:
        """Validated, and not dropped."""
        return self.validated and not self.said.dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvQAJudgedTalk:
    """A talk that its asker has judged."""

    talk: LiveTalk
    pairs: Sequence[JudgedPair]

    @property
    def validated(self) -> bool:
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
        data_set=[_with_gold(talk, validators) for talk in talks if any(pair.kept for pair in talk.pairs)],
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
    if pair.validated and said.dropped:
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
        kept = [pair for pair in validated if pair.kept]
        right = [(pair, pair.said.correct) for pair in kept if pair.said.correct is not None]
        rows.append(
            (
                system,
                len(own),
                sum(talk.validated for talk in own),
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
        if pair.kept
    ]
    return judged.talk.with_gold("convqa", turns, passages, validators=validators)
