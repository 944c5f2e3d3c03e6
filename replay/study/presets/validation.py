"""
Validation: people with the passage before them judge a conversation's questions, and then its answers.

As in Li et al., *Ditch the Gold Standard* (ACL 2022), section 3, and in the guideline that its annotators
were given (``data/Annotation Guideline ...pdf`` of princeton-nlp/EvalConvQA): pair after pair, the question
alone is invalid, unanswerable or answerable, with the system's earlier answers as context, wrong ones too.
Only for an answerable one the answer is shown, which is correct or not; if not, the right one is copied from
the passage. Questions that all validators call invalid are dropped, and whether an answer is correct is what
most of three people say, the one who asked among them.

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

from replay.core.conversation import CANNOT_ANSWER, Passage
from replay.core.history import Exchange
from replay.statistics.rater_agreement import majority
from replay.study.preset import TaskContent
from replay.study.steps import SWAYED, Answer, Block, Field, Passages, StudyStep, Text, Transcript

Judged = Literal["answerable", "unanswerable", "invalid"]
QUESTION: Field = Field.choice(
    "question",
    "Can this question be answered from the passage?",
    {
        "answerable": "Answerable: one span of the passage answers it",
        "unanswerable": "Unanswerable: the passage doesn't say",
        "invalid": "Invalid: it is not a question",
    },
    help="Take the system's earlier answers as they are, also where they are wrong.",
)
CORRECT: Field = Field.choice(
    "correct",
    "Is the answer correct?",
    {1: "Correct", 0: "Incorrect"},
    help="It is if it holds what answers the question, and not much else.",
)


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


def pair_blocks(
    passages: tuple[Passage, ...], pairs: Sequence[Pair], place: int, *, with_answer: bool
) -> tuple[Block, ...]:
    """
    Return the passage, what was said before the pair at *place*, from 0, its question, and its answer or not.
    """
    pair = pairs[place]
    blocks: list[Block] = [Passages(heading="Passage", passages=passages)]
    if place:
        before = tuple(Exchange(question=one.question, answer=one.answer) for one in pairs[:place])
        blocks.append(Transcript(heading="Conversation so far", exchanges=before))
    blocks.append(Text(heading="Question", text=pair.question))
    if with_answer:
        blocks.append(Text(heading="Answer", text=pair.answer))
    return tuple(blocks)


def validation_steps(content: ValidationContent, answers: Mapping[str, Answer]) -> list[StudyStep]:
    """
    Return the screens of a validation; that of an answer is there once its question was called answerable.
    """
    passage = "\n\n".join(one.text for one in content.passages)
    steps = []
    for place, pair in enumerate(content.pairs):
        heading = f"Question {place + 1} of {len(content.pairs)}"
        steps.append(
            StudyStep(
                id=f"question-{pair.depth}",
                heading=heading,
                blocks=pair_blocks(content.passages, content.pairs, place, with_answer=False),
                fields=(QUESTION,),
                final=SWAYED,
            )
        )
        if answers.get(f"question-{pair.depth}", {}).get("question") != "answerable":
            continue
        shown = pair_blocks(content.passages, content.pairs, place, with_answer=True)
        steps.append(
            StudyStep(
                id=f"answer-{pair.depth}", heading=f"{heading}: the answer", blocks=shown, fields=(CORRECT,)
            )
        )
        if answers.get(f"answer-{pair.depth}", {}).get("correct") == 0:
            span = Field(
                name="span",
                label="What is the right answer?",
                within=passage,
                help="Copy it from the passage, word for word and in one piece.",
            )
            steps.append(
                StudyStep(
                    id=f"span-{pair.depth}",
                    heading=f"{heading}: the right answer",
                    blocks=shown,
                    fields=(span,),
                )
            )
    return steps


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
    def dropped(self) -> bool:
        """All validators call the question invalid."""
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
